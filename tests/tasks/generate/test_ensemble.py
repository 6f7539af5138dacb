import copy

import pytest
import torch

from saccade import look
from saccade.models import encoder_decoder, rnnsearch, transformer
from saccade.models.padded import Padded
from saccade.tasks.generate import Ensemble, sample, search
from tasks.generate.table import BEGIN, END, Table
from tiers import every

IDS, LENGTHS = torch.tensor([[5, 7, 9, 2], [8, 2, 0, 0], [6, 10, 2, 0]]), torch.tensor([4, 2, 3])
SOURCE = Padded(IDS, LENGTHS)
LIMITS = torch.tensor([6, 3, 5])
RECURRENT = rnnsearch.Options(hidden_dim=12, embedding_dim=8)
MODELS = {
    "rnnsearch": lambda: rnnsearch.RNNSearch(11, 7, RECURRENT),
    "encoder-decoder": lambda: encoder_decoder.EncoderDecoder(11, 7, RECURRENT),
    "transformer": lambda: transformer.Transformer(
        11, 7, transformer.Options(hidden_dim=8, heads=2, layers=2, feedforward_dim=16)
    ),
}


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


def model_of(name):
    model = MODELS[name]().eval()
    for parameter in model.parameters():
        parameter.mul_(3)  # models that have just been made are all but sure of nothing
    return model


def alone(row):
    """One of the sources."""
    return Padded(IDS[row : row + 1, : LENGTHS[row]], LENGTHS[row : row + 1])


def find(model, beam_size):
    state = model.encode(SOURCE)
    return search(model, state, LIMITS, begin=1, end=2, beam_size=beam_size)


@every("beam_size", [1, 4])
@every("name", MODELS)
def test_a_model_with_itself_is_the_model(name, beam_size):
    model = model_of(name)
    alone, twice = find(model, beam_size), find(Ensemble([model, copy.deepcopy(model)]), beam_size)
    assert twice.lists() == alone.lists()
    torch.testing.assert_close(twice.scores, alone.scores, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("beam_size", [1, 5])
def test_scores_are_the_mean_probabilities_of_members_of_all_kinds(beam_size):
    members = [model_of(name) for name in MODELS]
    ensemble = Ensemble(members)
    found = find(ensemble, beam_size)
    for row, outputs in enumerate(found.lists()):
        for output, score in zip(outputs, found.scores[row].tolist(), strict=False):
            source, target = alone(row), torch.tensor([[1, *output, 2]])
            shares = [model(source, target[:, :-1]).softmax(-1) for model in members]
            mean = sum(shares) / 3
            gains = mean.gather(-1, target[:, 1:, None]).log().sum()
            assert score == pytest.approx(float(gains) / ((6 + len(output)) / 6) ** 0.6, abs=1e-4)
            own = ensemble(source, target[:, :-1])
            torch.testing.assert_close(own, mean.log(), atol=1e-4, rtol=1e-4)


class Member(torch.nn.Module):
    def __init__(self, examples, seed):
        super().__init__()
        self.table = Table(examples, seed)

    def encode(self, source):
        return self.table.start(torch.arange(len(source)))

    def step(self, token, state):
        return self.table.step(token, state)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_it_is_searched_as_the_one_model_that_has_the_mean(beam_size):
    members, whole, limits = [Member(4, seed) for seed in (1, 2, 3)], Table(4, 0), torch.tensor([5, 2, 6, 0])
    whole.logits = torch.stack([member.table.logits.softmax(-1) for member in members]).mean(0).log()
    ensemble, rows, options = Ensemble(members), torch.arange(4), {"begin": BEGIN, "end": END, "beam_size": beam_size}
    found = search(ensemble, ensemble.encode(rows[:, None]), limits, **options)
    expected = search(whole, whole.start(rows), limits, **options)
    assert found.lists() == expected.lists()
    torch.testing.assert_close(found.scores, expected.scores, atol=1e-5, rtol=1e-5)


def test_what_it_looks_at_is_mean_over_members_that_look():
    members = [model_of(name) for name in MODELS]
    target = torch.tensor([[1, 4, 5], [1, 6, 0], [1, 5, 5]])

    def looked(model):
        with look.record(model, required=False) as records:
            model(SOURCE, target)
        return model.alignment(records)

    expected = (looked(members[0]) + looked(members[2])) / 2
    torch.testing.assert_close(looked(Ensemble(members)), expected)
    assert looked(Ensemble(members[1:2])) is None


@pytest.mark.parametrize("count", [1, 3])
def test_an_example_is_sampled_and_searched_alone_as_among_others(count):
    ensemble = Ensemble([model_of(name) for name in MODELS])
    uniforms = torch.rand(3, count, 7, dtype=torch.double)
    shared = {"begin": 1, "end": 2, "prefix": [4], "min_length": 2}
    drawn = sample(ensemble, ensemble.encode(SOURCE), LIMITS, uniforms, temperature=2.0, **shared)
    found = search(ensemble, ensemble.encode(SOURCE), LIMITS, beam_size=count, **shared)
    for row in range(len(LENGTHS)):
        limits, own = LIMITS[row : row + 1], uniforms[row : row + 1]
        state = ensemble.encode(alone(row))
        assert sample(ensemble, state, limits, own, temperature=2.0, **shared).lists()[0] == drawn.lists()[row]
        assert search(ensemble, state, limits, beam_size=count, **shared).lists()[0] == found.lists()[row]
        assert all(output[0] == 4 and len(output) >= 2 for output in drawn.lists()[row] + found.lists()[row])
