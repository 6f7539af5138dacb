import pytest
import torch

from saccade.models import recurrent
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.padded import Padded
from saccade.tasks.translate.gradients import influence

SIZES = recurrent.Options(hidden_dim=10, embedding_dim=6)


@pytest.mark.parametrize("joint", [False, True])
def test_what_mattered_is_the_gradient_by_each_word(joint):
    torch.manual_seed(0)
    model = EncoderDecoder(13, 13, SIZES, joint=joint).double().eval()
    source, target = [4, 7, 12], [5, 6]
    found = influence(model, source, target)
    words = model.source_embedding.weight[torch.tensor([[*source, 2]])].detach()
    written = torch.tensor([[1, *target]])

    def gains(words):
        """With the words of the source as given, and those of the target as they are."""
        original, calls = model.source_embedding.forward, []
        with pytest.MonkeyPatch.context() as patch:

            def forward(tokens):
                calls.append(tokens)
                return words if len(calls) == 1 else original(tokens)

            patch.setattr(model.source_embedding, "forward", forward)
            logits = model(Padded(torch.tensor([[*source, 2]]), torch.tensor([4])), written)
        return logits[0].log_softmax(-1)[torch.arange(3), torch.tensor([*target, 2])]

    norms = torch.autograd.functional.jacobian(gains, words)[:, 0].norm(dim=-1)
    torch.testing.assert_close(found, norms / norms.sum(-1, keepdim=True))
    assert not model.source_embedding._forward_hooks


@pytest.mark.parametrize(("source", "target"), [([], []), ([4], []), ([], [5, 6])])
def test_rows_are_shares_whatever_is_empty(source, target):
    model = EncoderDecoder(13, 13, SIZES).eval()
    with torch.inference_mode(mode=False):
        found = influence(model, source, target)
    assert found.shape == (len(target) + 1, len(source) + 1)
    torch.testing.assert_close(found.sum(-1), torch.ones(len(target) + 1), atol=1e-4, rtol=0)


def test_where_nothing_matters_rows_are_zero():
    model = EncoderDecoder(13, 13, SIZES).eval()
    with torch.no_grad():
        model.source_embedding.weight.zero_()
        for name, parameter in model.named_parameters():
            if "output" in name or "readout" in name or "writer" in name:
                parameter.zero_()
    found = influence(model, [4, 7], [5])
    assert bool((found == 0).all()) and bool(found.isfinite().all())
