import torch

from saccade.models.causal_transformer import CausalTransformer
from saccade.models.causal_transformer import Options as Sized
from saccade.models.memorizer import Sizes
from saccade.models.ntm import NTM, Options
from saccade.models.padded import Padded
from saccade.tasks.memorize.ensemble import Ensemble


def members(sizes):
    torch.manual_seed(1)
    return [
        NTM(sizes, Options(hidden_dim=4, cells=3, cell_dim=2, embedding_dim=4)).eval(),
        CausalTransformer(sizes, Sized(hidden_dim=8, heads=2, layers=1, feedforward_dim=8, embedding_dim=4)).eval(),
    ]


@torch.no_grad()
def test_probabilities_are_the_mean_of_the_members():
    for sizes, values in ((Sizes(3, 2), torch.rand(2, 5, 3)), (Sizes(7, 4, True), torch.randint(1, 7, (2, 5)))):
        own, source = members(sizes), Padded(values, torch.tensor([5, 5]))
        share = (lambda logits: logits.softmax(-1)) if sizes.symbols else torch.sigmoid
        expected = sum(share(member(source)) for member in own) / 2
        torch.testing.assert_close(share(Ensemble(own)(source)), expected, atol=1e-6, rtol=1e-5)


class Sure(torch.nn.Module):
    sizes = Sizes(1, 1)

    def forward(self, source):
        return torch.full((1, 1, 1), 60.0)


def test_members_that_are_sure_are_sure_together():
    assert float(Ensemble([Sure(), Sure()])(Padded(torch.zeros(1, 1, 1), torch.tensor([1])))) == 60.0
