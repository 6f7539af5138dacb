import pytest
import torch

from saccade.bench.row import Absent
from saccade.reports.complexity.layers import LAYERS, PASSES, Point, bytes_of, prepared


def at(way, length=5, width=8, **changed):
    return Point(way, length, **{"width": width, "batch": 2, "heads": 2, "device": "cpu", "threads": 1, **changed})


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_keeps_the_shape_and_learns(name):
    forward, training = (prepared(name, at(way)) for way in PASSES)
    output = forward()
    assert output.shape == (2, 5, 8) and not output.requires_grad
    gradients = training()
    module = LAYERS[name].make(at("forward"))
    assert [g.shape for g in gradients] == [torch.Size((2, 5, 8)), *(p.shape for p in module.parameters())]
    assert all(bool(g.abs().sum() > 0) for g in gradients[:2])


def test_attention_and_recurrence_meet_at_the_width():
    ours, theirs = LAYERS["self-attention"].products, LAYERS["GRU"].products
    assert ours(64, 64) == theirs(64, 64) and ours(63, 64) < theirs(63, 64) and ours(65, 64) > theirs(65, 64)


@pytest.mark.slow
def test_memory_is_measured_in_a_process_of_its_own():
    grown = bytes_of("convolution", at("forward", length=1 << 14, width=64))
    assert 8 << 20 <= grown < 1 << 30  # its output alone is 8 MiB
    with pytest.raises(Absent, match="embed_dim = 9"):
        bytes_of("self-attention", at("forward", width=9))
