"""The blocks of a mask: drawn as they are, beside what is computed of them."""

import json
import re
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from look.drawn import texts
from saccade import explain, masks
from saccade._definitions.structure import Grid
from saccade.errors import ArgumentError, ShapeError
from saccade.look import blocks as draw
from saccade.look._blocks import BESIDE, FULL, PARTIAL, STATES, _batch, _states

IDS = torch.arange(2048) // 512
MASKS = {
    "causal": masks.Causal(),
    "window": masks.Window(128, 0),
    "prefix": masks.Prefix(200) | masks.Causal(),
    "documents": masks.Documents(IDS, IDS) & masks.Causal(),
    "packed": masks.Packed(torch.tensor([0, 600, 600, 1408, 2048])),
    "unsorted": masks.Documents(IDS, IDS.flip(0).roll(100)),
    "around": masks.Around(torch.linspace(0, 2047, 2048), 100),
    "not": ~masks.Window(300, 300),
    "tensor": masks.Dense(torch.arange(2048) % 256 < 60),
    "lengths": masks.Lengths(torch.tensor([2048, 300, 1000])),
    "two dimensions": masks.Lengths(torch.tensor([[2048], [300]])) & masks.Causal(torch.tensor([[0, 500]])),
}


class Even(masks.Mask):
    def dense(self, grid):
        return grid.keys() % 2 == 0


def found_of(mask, lengths, size=64, batch=None):
    states, entries, _, pairs = _states(mask, lengths, _batch(mask, batch), size)
    return SimpleNamespace(states=states, entries=entries, pairs=pairs)


def blocked(tensor, size):
    """A matrix of so many rows and columns more, the last of blocks that are whole: `(..., rows, columns, size²)`."""
    return tensor.unflatten(-2, (-1, size)).unflatten(-1, (-1, size)).transpose(-3, -2).flatten(-2)


@pytest.mark.parametrize("name", MASKS)
def test_states_are_those_of_the_mask(name):
    dense = MASKS[name].dense(Grid(2048, 2048, 0, 2048, torch.device("cpu")))
    dense = dense.broadcast_to(*dense.shape[:-2], 2048, 2048).reshape(-1, 2048, 2048)
    for size in (64, 32, 256):
        blocks, pairs = found_of(MASKS[name], (2048, 2048), size), blocked(dense, size)
        allowed, full = pairs.any(-1), pairs.all(-1)
        assert blocks.states.shape == allowed.shape and len(blocks.entries) == len(dense)
        assert (blocks.states[allowed] >= PARTIAL).all()
        assert full[blocks.states == FULL].all()
        exact = name != "unsorted"
        assert not exact or torch.equal(blocks.states == FULL, full)
        assert not exact or torch.equal(blocks.states >= PARTIAL, allowed)
        assert blocks.pairs.allowed == int(dense.sum())
        if size == 64:  # blocks that have a colour are those whose scores are computed
            assert blocks.pairs.computed == 64 * 64 * int((blocks.states > 0).sum())


def test_pairs_are_those_that_explain_tells():
    x = torch.zeros(1, 8, 2048, 4)
    for mask in (MASKS["causal"], MASKS["prefix"]):
        plans = [explain(x, x, x, mask=mask, backend=backend).pairs for backend in ("cpu", "chunked")]
        assert found_of(mask, (2048, 2048), batch=(1, 8)).pairs in plans


def test_blocks_that_are_computed_beside_others_are_told_apart():
    states = found_of(masks.Causal(), (2048, 2048)).states[0]
    assert (states == BESIDE).any() and not (states.triu(1) > BESIDE).any() and (states.tril() >= PARTIAL).sum() == 528
    few = found_of(masks.Causal(), (192, 192))
    assert few.pairs.computed == few.pairs.all and few.states.tolist() == [[[2, 1, 1], [3, 2, 1], [3, 3, 2]]]


def test_lengths_off_the_size_end_in_blocks_that_are_never_full():
    found = found_of(masks.Lengths(torch.tensor(2001)), (1500, 2001))
    assert found.states.shape == (1, 24, 32) and found.pairs.all == 1500 * 2001
    assert (found.states[0, :-1, :-1] == FULL).all()
    assert (found.states[0, -1] == PARTIAL).all() and (found.states[0, :, -1] == PARTIAL).all()


@pytest.mark.parametrize("lengths", [(1, 1), (1, 3000), (100, 7), (513, 1025)])
def test_any_lengths_are_drawn(lengths, tmp_path, figures):
    assert [path.name for path in draw(masks.Causal("end"), *lengths, tmp_path / "a")] == ["a.png", "a.svg"]


def test_svg_describes_blocks_and_pairs(tmp_path, figures, words):
    _, svg = draw(masks.Window(128, 0), 2048, 2048, tmp_path / "a", title="A < B")
    title, told = words(svg)
    assert title == "A < B: 9% of all pairs are computed" and told == (
        "2,048 queries and 2,048 keys in blocks of 64; of 1,024 blocks 931 empty: not computed, 62 partial, 31 full; "
        "pairs: 4,194,304, 255,936 allowed, 380,928 computed: 1.5 times as many"
    )
    title, told = words(draw(MASKS["lengths"], 2048, 2048, tmp_path / "b")[1])
    assert title == "55% of all pairs are computed" and "blocks of 64 in each of 3 entries; " in told


def test_panels_have_queries_downwards_and_keys_to_the_right(tmp_path, figures):
    draw(MASKS["lengths"], 1984, 2048, tmp_path / "a", title="Lengths")
    [figure] = figures
    assert [axes.get_title() for axes in figure.axes] == ["entry 0", "entry 1", "entry 2"]
    assert all(axes.get_xlim() == (0, 2048) and axes.get_ylim() == (1984, 0) for axes in figure.axes)
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("keys →", "← queries")
    assert figure.axes[1].collections[0].get_array().tolist() == [[3] * 4 + [2] + [0] * 27] * 31
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [STATES[0], *STATES[2:]]
    assert re.fullmatch(r"pairs: [\d, ]+ allowed,\n[\d,]+ computed: 1\.0 times as many", figure.texts[0].get_text())


def test_eight_entries_are_drawn_in_rows_of_four(tmp_path, figures):
    *_, path = draw(masks.Prefix(torch.arange(0, 1300, 100)), 1024, 1200, tmp_path / "a", json=True)
    [figure] = figures
    rows = [round(axes.get_position().y0, 3) for axes in figure.axes]
    assert len(rows) == 8 and len(set(rows[:4])) == 1 and len(set(rows)) == 2
    assert "8 of 13 entries are drawn" in texts(figure)
    assert len(json.loads(path.read_text())["rows"]) == 8


def test_numbers_are_written_beside(tmp_path, figures):
    *_, path = draw(MASKS["lengths"], 1024, 2048, tmp_path / "a", title="Lengths", json=True)
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["title"] == "Lengths: 55% of all pairs are computed"
    assert found["rows"] == ["entry 0", "entry 1", "entry 2"]
    assert found["states"] == list(STATES) and found["size"] == 64
    assert torch.tensor(found["values"]).shape == (3, 16, 32)
    assert found["pairs"]["all"] == 3 * 1024 * 2048 and found["pairs"]["allowed"] == 1024 * 3348


def test_the_batch_is_that_of_the_tensors_unless_it_is_given(tmp_path):
    assert found_of(MASKS["lengths"], (64, 2048)).pairs.all == 3 * 64 * 2048
    heads = masks.Lengths(torch.tensor([[300], [100]]))
    assert found_of(heads, (1024, 2048), batch=(2, 8)).pairs.all == 16 * 1024 * 2048
    assert len(found_of(heads, (1024, 2048), batch=(2, 8)).entries) == 2
    with pytest.raises(ShapeError, match="key_lengths of masks.Lengths"):
        draw(MASKS["lengths"], 64, 2048, tmp_path / "a", batch=(3, 8))
    assert not list(tmp_path.iterdir())


@given(
    st.tuples(st.integers(1, 300), st.integers(1, 300)),
    st.integers(5, 64),
    st.integers(-40, 300),
    st.tuples(st.integers(0, 90), st.integers(0, 90)),
    st.integers(0, 300),
)
def test_states_are_those_of_any_mask(lengths, size, align, sides, prefix):
    for mask in (masks.Window(*sides, align) | masks.Prefix(prefix), ~masks.Causal(align) & masks.Prefix(prefix)):
        (states,) = found_of(mask, lengths, size).states
        dense = mask.dense(Grid(*lengths, 0, lengths[0], torch.device("cpu"))).expand(lengths)
        rows, columns = torch.arange(lengths[0]) // size, torch.arange(lengths[1]) // size
        drawn = states[rows][:, columns]
        assert not dense[drawn < PARTIAL].any() and dense[drawn == FULL].all()


def test_queries_without_a_key_have_a_block_all_the_same():
    found = found_of(masks.Prefix(0), (2048, 2048))
    assert found.pairs[1:] == (0, 2048 * 64) and not found.states[..., 1:].any()
    assert (found.states[..., 0] == BESIDE).all()


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (3, r"batch: expected a sequence of ints, got int; write it as \(2, 8\)"),
        ((2, 0), "batch: expected an int of at least 1, got 0"),
        ((2.0,), "batch: expected an int of at least 1, got float"),
    ],
)
def test_a_batch_is_of_ints(batch, message, tmp_path):
    with pytest.raises(ArgumentError, match=message):
        draw(masks.Causal(), 4, 4, tmp_path / "a", batch=batch)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((masks.Causal(), 0, 4), "q_len: expected an int of at least 1, got 0"),
        ((masks.Causal(), 4, 2.5), "k_len: expected an int of at least 1, got float"),
        ((masks.Causal(), 4, 4, 0), "size: expected an int of at least 1, got 0"),
        ((masks.Causal(), 131_072, 131_072), "size: expected 128 or more, .* at most 1,024 blocks, got 64; more"),
        ((torch.ones(4, 4), 4, 4), "mask: expected a boolean tensor"),
        ((None, 4, 4), "mask: expected a boolean tensor or one of saccade.masks, got NoneType"),
        ((masks.Causal() & Even(), 4, 4), "mask: expected one of saccade.masks .* got Both, which is or holds a class"),
        ((masks.Causal(), 4, 6), "align of masks.Causal: expected 'start'"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(arguments, message, tmp_path):
    mask, q_len, k_len, *size = arguments
    with pytest.raises(ArgumentError, match=message):
        draw(mask, q_len, k_len, tmp_path / "a", **({"size": size[0]} if size else {}))
    assert not list(tmp_path.iterdir())


def test_tensors_that_do_not_fit_each_other_are_an_error(tmp_path):
    mask = masks.Lengths(torch.tensor([3, 4])) & masks.Prefix(torch.tensor([1, 2, 3]))
    with pytest.raises(ShapeError, match=r"mask: .* leading dimensions broadcast, got \(2,\), \(3,\)"):
        draw(mask, 4, 4, tmp_path / "a")
