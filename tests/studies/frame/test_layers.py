import pytest
import torch

from saccade.bench.row import Absent
from studies.frame import layers
from studies.frame.layers import (
    ATTENTION,
    CONVOLUTION,
    GRU,
    LAYERS,
    PASSES,
    TEXTBOOK,
    Point,
    bytes_of,
    chain,
    compare_threads,
    memory,
    multiplications,
    prepared,
    reach,
    take_turns,
)
from tiers import every


def at(way, length=5, width=8, **changed):
    return Point(way, length, **{"width": width, "batch": 2, "heads": 2, "device": "cpu", **changed})


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_keeps_the_shape_and_learns(name):
    forward, training = (prepared(name, at(way)) for way in PASSES)
    output = forward()
    assert output.shape == (2, 5, 8) and not output.requires_grad
    gradients = training()
    module = LAYERS[name].make(8, 2)
    assert [g.shape for g in gradients] == [torch.Size((2, 5, 8)), *(p.shape for p in module.parameters())]
    assert all(bool(g.abs().sum() > 0) for g in gradients[:2])


def test_the_textbook_computes_the_numbers_of_attention():
    textbook, attention = (LAYERS[name].make(8, 2) for name in (TEXTBOOK, ATTENTION))
    with torch.no_grad():
        for kind in ("weight", "bias"):
            textbook.project.get_parameter(kind).copy_(attention.get_parameter(f"in_proj_{kind}"))
            textbook.output.get_parameter(kind).copy_(attention.out_proj.get_parameter(kind))
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(textbook(x), attention(x))


@every("name", LAYERS)
def test_counted_multiplications_are_those_of_the_formula(name):
    assert multiplications(name, 6, 8, 2) == LAYERS[name].products(6, 8) > 0


def test_attention_and_recurrence_multiply_alike_at_the_width():
    ours, theirs = LAYERS[ATTENTION].products, LAYERS[GRU].products
    assert ours(64, 64) == theirs(64, 64) and ours(63, 64) < theirs(63, 64) and ours(65, 64) > theirs(65, 64)


def test_a_recurrent_layer_alone_has_a_step_for_each_position():
    steps = {name: [chain(name, length, 4, 1) for length in (5, 6, 9)] for name in LAYERS}
    first, second, last = steps.pop(GRU)
    assert last - second == 3 * (second - first) > 0
    assert all(len({*chains}) == 1 for chains in steps.values())


def test_the_reach_of_stacks():
    assert [reach(CONVOLUTION, 9, layers) for layers in (1, 2, 4)] == [3, 5, 9]
    assert [reach(layers.DILATED, 27, count) for count in (1, 2, 3)] == [3, 9, 27]
    assert reach(GRU, 9, 1) == reach(ATTENTION, 9, 1) == 9


@pytest.mark.slow
def test_memory_is_measured_in_a_process_of_its_own():
    grown = bytes_of(CONVOLUTION, at("forward", length=1 << 14, width=64))
    assert 8 << 20 <= grown < 1 << 30  # its output alone is 8 MiB
    with pytest.raises(Absent, match="embed_dim = 9"):
        bytes_of(ATTENTION, at("forward", width=9))


def test_missing_memory_is_none(monkeypatch):
    def bytes_of(name, point):
        if name == GRU:
            raise Absent("no room")
        return point.length

    monkeypatch.setattr(layers, "bytes_of", bytes_of)
    assert memory(at("forward")) == {"layers": {name: None if name == GRU else 5 for name in LAYERS}}


def test_turns_have_each_layer_on_one_thread(monkeypatch):
    counts = []
    monkeypatch.setattr(layers, "prepared", lambda name, point: lambda: counts.append(torch.get_num_threads()))
    timed = take_turns(at("forward"), 1e-3)
    assert timed["rounds"] >= 3 and [*timed["layers"]] == [*LAYERS] and {*counts} == {1}


def test_threads_are_compared_on_a_quiet_machine_alone(monkeypatch):
    counts, before = [], torch.get_num_threads()
    monkeypatch.setattr(layers, "prepared", lambda name, point: lambda: counts.append(torch.get_num_threads()))
    monkeypatch.setattr(layers, "busy_cores", lambda: 1.26)
    assert compare_threads(at("forward"), 1e-3, 2) == {"busy": 1.3, "rounds": 0, "layers": {}} and not counts
    monkeypatch.setattr(layers, "busy_cores", lambda: 0.2)
    timed = compare_threads(at("forward"), 1e-3, 2)
    assert {*counts} == {1, 2} and torch.get_num_threads() == before
    assert all(len(both) == 2 and both[0]["seconds"] > 0 for both in timed["layers"].values())
