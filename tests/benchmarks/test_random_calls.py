"""Random calls are what they say, and their numbers repeat them."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from saccade import masks
from saccade._definitions.structure import Grid

PATH = Path(__file__).resolve().parents[2] / "benchmarks/random_calls.py"


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("random_calls", PATH)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "random_calls", module)  # where its dataclass looks for its names
        spec.loader.exec_module(module)
        yield module


def long(draw):
    return draw.query.shape[-2] * draw.key.shape[-2] > 300 * 300


def test_a_number_is_one_call(program):
    number = next(number for number in range(99) if long(program.drawn(5, number)))
    first, second = program.drawn(5, number), program.drawn(5, number)
    assert program.described(first) == program.described(second)
    assert all(torch.equal(getattr(first, name), getattr(second, name)) for name in ("query", "key", "value"))
    grid = Grid(first.query.shape[-2], first.key.shape[-2], 0, first.query.shape[-2], torch.device("cpu"))
    allowed = [draw.options["mask"].dense(grid) for draw in (first, second)]
    assert torch.equal(*allowed)


def test_a_share_of_the_calls_is_long_under_masks_that_are_composed(program):
    drawn = [draw for draw in (program.drawn(6, number) for number in range(200)) if long(draw)]
    kinds = {type(draw.options["mask"]) for draw in drawn}
    assert 10 <= len(drawn) <= 50 and {masks.Both, masks.Either, masks.Not} <= kinds


def test_calls_are_compared_and_a_mismatch_is_told(program, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["random_calls.py", "--calls", "20", "--seed", "7"])
    assert program.main() == 0 and "20 calls" in capsys.readouterr().out
    monkeypatch.setattr(program, "differs", lambda *_: "off")
    monkeypatch.setattr(program, "DTYPES", (torch.float64,))
    assert program.main() == 1 and "call " in capsys.readouterr().out
