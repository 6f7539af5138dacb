import pytest
import torch

from saccade.models import bytenet, luong, recurrent, rnnsearch, transformer
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.padded import Padded
from saccade.tasks.translate.gradients import influence, jacobian
from tiers import every

SIZES = recurrent.Options(hidden_dim=10, embedding_dim=6)
MODELS = {
    "encoder-decoder": lambda: EncoderDecoder(13, 11, SIZES),
    "rnnsearch": lambda: rnnsearch.RNNSearch(13, 11, rnnsearch.Options(hidden_dim=10, embedding_dim=6)),
    "luong": lambda: luong.Luong(13, 11, luong.Options(hidden_dim=10, embedding_dim=6, layers=1)),
    "transformer": lambda: transformer.Transformer(
        13, 11, transformer.Options(hidden_dim=8, heads=2, layers=1, feedforward_dim=12)
    ),
    "bytenet": lambda: bytenet.ByteNet(13, 11, bytenet.Options(hidden_dim=6, max_dilation=2, sets=1)),
}


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


@every(("source", "target"), [([], []), ([4], []), ([], [5, 6])])
@every("name", MODELS)
def test_each_token_and_its_end_has_a_row_whatever_is_empty(name, source, target):
    model, shape = MODELS[name]().eval(), (len(target) + 1, len(source) + 1)
    with torch.inference_mode():  # as in answers
        shares = influence(model, source, target)
        assert shares.shape == shape == jacobian(model, source, target).shape
    torch.testing.assert_close(shares.sum(-1), torch.ones(len(target) + 1), atol=1e-4, rtol=0)


def test_recurrent_layers_run_without_cudnn_in_evaluation():
    model, seen = EncoderDecoder(13, 13, SIZES).eval(), list[bool]()
    for part in model.modules():
        part.register_forward_hook(lambda *_: seen.append(torch.backends.cudnn.enabled))
    influence(model, [4, 7], [5])
    assert seen and not any(seen) and torch.backends.cudnn.enabled


def test_where_nothing_matters_rows_are_zero():
    model = EncoderDecoder(13, 13, SIZES).eval()
    with torch.no_grad():
        for part in model.output:
            part.zero_()
    found = influence(model, [4, 7], [5])
    assert bool((found == 0).all()) and found.shape == (2, 3)


@every("name", MODELS)
def test_the_jacobian_is_what_differences_of_logits_say(name):
    """By moving the vectors of words that stand once in the source, with nothing but the model itself."""
    torch.manual_seed(0)
    model = MODELS[name]().double().eval()
    source, target, step = [4, 7, 12, 5], [5, 6], 1e-6
    pair = Padded(torch.tensor([[*source, 2]]), torch.tensor([5])), torch.tensor([[1, *target]])
    words, squares = model.source_embedding.weight, torch.zeros(3, 5, dtype=torch.float64)
    with torch.no_grad():
        for place, word in enumerate([*source, 2]):
            for entry in range(words.shape[1]):
                ends, before = [], words[word, entry].item()
                for sign in (1, -1):
                    words[word, entry] = before + sign * step
                    ends.append(model(*pair)[0])
                words[word, entry] = before
                squares[:, place] += ((ends[0] - ends[1]) / (2 * step)).square().sum(-1)
    with torch.inference_mode():
        found = jacobian(model, source, target)
    torch.testing.assert_close(found, squares.sqrt(), rtol=1e-6, atol=1e-8)
