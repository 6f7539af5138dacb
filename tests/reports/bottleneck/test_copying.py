import math

import pytest
import torch

from saccade.reports.bottleneck.copying import ATTENTION, LENGTHS, SYMBOLS, VECTOR, Copier, copied, drawn
from saccade.reports.direct import Budget, size

CPU = torch.device("cpu")


def test_both_models_have_same_parameters_within_a_tenth():
    attending, vector = (size(Copier(64, attends=attends)) for attends in (True, False))
    assert abs(attending / vector - 1) <= 0.1


def test_through_one_vector_nothing_else_passes():
    """Two sequences whose reading ends in the same state are written alike, whatever they are; with attention not."""
    torch.manual_seed(1)
    tokens = torch.randint(SYMBOLS, (1, 7))
    for attends in (True, False):
        model = Copier(8, attends=attends)
        known = model.reader.forward
        model.reader.forward = lambda embedded, known=known: (known(embedded)[0], torch.ones(1, len(embedded), 8))
        same = torch.equal(model(tokens), model((tokens + 1) % SYMBOLS))
        assert same is not attends


def test_the_writer_is_not_told_what_it_writes():
    """The tokens are read in one way only, so that all that is known of a token has come through the reader."""
    model = Copier(8, attends=False)
    model.reader.forward = lambda embedded: (None, torch.zeros(1, len(embedded), 8))
    tokens = torch.randint(SYMBOLS, (2, 5))
    assert torch.equal(model(tokens)[0], model(tokens)[1])


def test_every_length_is_trained_on_in_as_many_tokens():
    counts = dict.fromkeys(LENGTHS, 0)
    for step in range(3000):
        tokens = drawn(LENGTHS, step, 1)
        counts[tokens.shape[1]] += tokens.numel()
    shares = {length: count / sum(counts.values()) for length, count in counts.items()}
    assert all(share == pytest.approx(1 / len(LENGTHS), abs=0.05) for share in shares.values())
    assert torch.equal(drawn(LENGTHS, 5, 2), drawn(LENGTHS, 5, 2))


def test_a_guess_knows_no_bit_and_a_perfect_model_all(monkeypatch):
    class Perfect(Copier):
        def forward(self, tokens):
            return super().forward(tokens) * 0 + 1e4 * torch.nn.functional.one_hot(tokens, SYMBOLS)

    class Guessing(Copier):
        def forward(self, tokens):
            return super().forward(tokens) * 0

    for kind, right, bits in ((Perfect, 1.0, 20 * math.log2(SYMBOLS)), (Guessing, 1 / SYMBOLS, 0.0)):
        monkeypatch.setattr("saccade.reports.bottleneck.copying.Copier", kind)
        found = copied(VECTOR, 4, (20,), 1, Budget(1, 1.0), CPU)["lengths"]["20"]
        assert found["right"] == pytest.approx(right, abs=0.03) and found["bits"] == pytest.approx(bits, abs=1e-3)


@pytest.mark.slow
def test_a_model_learns_and_is_measured_at_every_length():
    untrained, trained = (copied(ATTENTION, 16, (4, 6), 1, Budget(steps, 5.0), CPU) for steps in (1, 150))
    assert list(trained["lengths"]) == ["4", "6"] and trained["steps"] == 150
    for length in ("4", "6"):
        assert trained["lengths"][length]["right"] > untrained["lengths"][length]["right"] + 0.3
        assert trained["lengths"][length]["bits"] > 3 + untrained["lengths"][length]["bits"]
