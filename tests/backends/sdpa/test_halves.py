import pytest
import torch

from near import assert_near
from saccade import attend, normalizers, scores
from saccade.backends.sdpa import halves

CASES = {
    "one query": {},
    "turned": {"score": scores.ScaledDot(scale=-0.3)},
    "cosine": {"score": scores.Cosine(3.0)},
    "warm": {"normalizer": normalizers.Softmax(temperature=2.0)},
}


def sides(dtype, queries=1, layout=None):
    generator = torch.Generator().manual_seed(4)
    shapes = (3, 2, queries, 16), (3, 2, 50, 16), (3, 2, 50, 24)
    found = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    return [part.transpose(1, 2).contiguous().transpose(1, 2) for part in found] if layout else found


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("numbers", [1, 50 * 24 * 2])
def test_a_few_entries_at_a_time_are_the_call(monkeypatch, case, dtype, numbers):
    monkeypatch.setattr(halves, "NUMBERS", numbers)
    asked = []
    monkeypatch.setattr("saccade.backends.sdpa.by_entries", lambda *given: asked.append(1) or halves.by_entries(*given))
    for queries, layout in ((1, None), (3, "turned")):
        tensors = sides(dtype, queries, layout)
        found = attend(*tensors, backend="sdpa", **CASES[case])
        assert found.dtype == dtype
        assert_near(found, lambda *sides: attend(*sides, backend="reference", **CASES[case]), *tensors)
    assert asked == [1, 1]


def test_what_learns_or_is_masked_goes_another_way(monkeypatch):
    monkeypatch.setattr(halves, "NUMBERS", 1)
    monkeypatch.setattr("saccade.backends.sdpa.by_entries", lambda *given: pytest.fail("a part of a call"))
    query, key, value = sides(torch.bfloat16)
    attend(query, key.requires_grad_(), value, backend="sdpa").float().sum().backward()
    assert key.grad is not None
    with torch.no_grad():
        attend(query, key, value, mask=torch.ones(1, 50, dtype=torch.bool), backend="sdpa")
        attend(query[:1], key, value, backend="sdpa")
        attend(query.float(), key.float(), value.float(), backend="sdpa")
