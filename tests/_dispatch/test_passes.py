"""`explain` goes the way of `attend`, pass by pass, and stops before a backend."""

import pytest
import torch

from saccade import AuxRequest, attend, explain, masks, normalizers, reads, remember, scores
from saccade._dispatch import choose

LONG = torch.randn(2, 700, 8)
WINDOW = masks.Window(9, 0, align="end")
CALLS = {
    "all keys": {},
    "keys in reach": {"mask": WINDOW},
    "the reference takes all": {"mask": WINDOW, "backend": "reference"},
    "sparse": {"normalizer": normalizers.Sparsemax(), "mask": WINDOW},
}
READS = {"soft": reads.Soft(), "argmax": reads.Argmax(), "top": reads.TopK(2), "drawn": reads.Sample()}


@pytest.fixture
def offered(monkeypatch):
    """The calls that backends are asked to serve, each once."""
    calls = {}
    for module in choose.BACKENDS.values():
        offer = lambda call, rivals=None, real=module.offer: calls.update({id(call): call}) or real(call, rivals)
        monkeypatch.setattr(module, "offer", offer)
    return calls


def shapes(call):
    return [tuple(leaf.tensor.shape) for leaf in call.leaves()], call.aux, type(call.read)


@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("name", CALLS)
def test_explain_plans_the_call_that_attend_runs(name, read, lazily, offered):
    value = (lambda index: LONG[index]) if lazily else LONG
    for way in (attend, explain):
        way(LONG[:, :3], LONG, value, read=READS[read], **CALLS[name])
    ran, planned = offered.values()
    assert shapes(ran) == shapes(planned)
    assert len(ran.key[0]) == (700 if "mask" not in CALLS[name] or "backend" in CALLS[name] else 12)


def test_lazy_values_are_planned_without_values():
    long = torch.empty(1, 1100, 32)
    options = {"mask": masks.Window(8, 0), "read": reads.Sample()}
    lazily = explain(long, long, lambda index: long[index], **options)
    without = explain(long, long, long[..., :0], aux=AuxRequest(index=True), **options)
    assert (lazily.peak_bytes, lazily.pairs) == (without.peak_bytes, without.pairs)
    assert "at most 1,100 of 1,100" in lazily.values


def test_pairs_are_planned_as_they_run_under_autocast():
    long = torch.empty(1, 2, 1100, 32)
    with torch.autocast("cpu", torch.bfloat16):
        plan = explain(long, long, long, mask=masks.Window(8, 0))
    half = long.bfloat16()
    assert plan == explain(half, half, half, mask=masks.Window(8, 0))


def test_a_memory_and_its_keys_go_one_way(offered):
    allowed = torch.rand(2, 1, 700) < 0.5
    memory, query = remember(LONG, LONG, score=scores.Dot(), mask=allowed), LONG[:, :3]
    output = memory.read(query, mask=masks.Causal(5), dropout_p=0.0, aux=AuxRequest(lse=True))[0]
    expected = attend(query, LONG, LONG, score=scores.Dot(), mask=masks.Causal(5) & allowed, aux=AuxRequest(lse=True))[
        0
    ]
    assert torch.equal(output, expected)
    read, attended = offered.values()
    assert shapes(read) == shapes(attended)
