"""Sheets of recordings of every shape."""

import numpy as np
import pytest
import torch

from look.explorer.books import book, calls, encoded, numbers, opened, weighted
from saccade import AuxOutput, AuxRequest, look, masks, nn
from saccade.errors import ArgumentError, ShapeError
from saccade.look import Record, Recording


def entropy(weights):
    """The plain formula, in float64, 0 · log 0 = 0."""
    weights = weights.double().numpy()
    return -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1)


@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (2, 5, 3)])
def test_leading_dimensions_are_batch_and_heads(leading):
    aux = weighted(*leading, 5, 7)
    made = book(calls(aux, kind="cross"))
    [sheet] = made.sheets
    assert sheet.heads == (leading[-1] if len(leading) > 1 else 1)
    assert sheet.examples * sheet.heads == max(1, int(np.prod(leading)))
    flat = aux.weights.reshape(sheet.examples, sheet.heads, 5, 7)
    for example in range(sheet.examples):
        for head in range(sheet.heads):
            values = numbers(made, piece="tile", example=example, head=head)[1]
            assert np.array_equal(values, flat[example, head])


def test_layers_of_a_model_are_one_sheet_with_measures_of_each_head():
    recording = encoded()
    [sheet] = book(recording).sheets
    weights = torch.stack([record.weights for record in recording], 1)  # (examples, layers, heads, queries, keys)
    assert list(sheet.layers) == ["layers.0", "layers.1", "layers.2"] and sheet.heads == 4 and sheet.examples == 2
    assert np.allclose(sheet.measures["entropy"], entropy(weights).mean(-1), atol=1e-6)
    assert np.allclose(sheet.measures["most received"], weights.sum(-2).amax(-1), atol=1e-6)
    assert np.allclose(sheet.measures["first key's share"], weights[..., 0].mean(-1), atol=1e-6)
    positions = np.arange(12)
    distance = (weights.double().numpy() * np.abs(positions[:, None] - positions)).sum((-1, -2)) / 12
    assert np.allclose(sheet.measures["distance"], distance, atol=1e-5)


def test_lines_are_entropies_and_what_keys_receive():
    recording = encoded()
    made = book(recording)
    weights = recording[1].weights[1, 2]
    lines = {
        name: numbers(made, piece="line", name=name, layer=1, head=2, example=1)[1] for name in made.sheets[0].lines
    }
    assert list(lines) == ["entropy", "received"]
    assert np.allclose(lines["entropy"], entropy(weights), atol=1e-6)
    assert np.allclose(lines["received"], weights.sum(0), atol=1e-6)


def test_recorded_entropies_come_before_computed_ones():
    aux = AuxOutput(weights=torch.full((1, 1, 2, 4), 0.25), entropy=torch.tensor([[[1.0, 2.0]]]))
    made = book(calls(aux))
    assert numbers(made, piece="line", name="entropy")[1].tolist() == [1.0, 2.0]
    assert made.sheets[0].measures["entropy"].tolist() == [[[1.5]]]


def test_the_largest_weights_alone_make_a_matrix_with_a_note():
    recording = encoded(layers=1, aux=AuxRequest(top=3))
    whole = encoded(layers=1)[0].weights
    made = book(recording)
    assert made.sheets[0].note == "Only the 3 largest weights of each row are recorded. Other cells show 0."
    values = numbers(made, piece="tile", head=1)[1]
    expected = np.zeros((12, 12), np.float32)
    for row, cells in enumerate(whole[0, 1].numpy()):
        largest = np.argsort(-cells)[:3]
        expected[row, largest] = cells[largest]
    assert np.allclose(values, expected, atol=1e-6)


def test_the_largest_weights_of_keys_of_unknown_number_fit():
    weights, index = torch.tensor([[[[0.7], [0.6]]]]), torch.tensor([[[[8], [0]]]])
    made = book(calls(AuxOutput(top=(weights, index)), kind="cross"))
    values = numbers(made, piece="tile")[1]
    assert values.shape == (2, 9) and values[0, 8] == np.float32(0.7) and values[1, 0] == np.float32(0.6)
    assert np.count_nonzero(values) == 2


def test_entropies_alone_are_lines_without_a_matrix():
    made = book(encoded(aux=AuxRequest(entropy=True)))
    [sheet] = made.sheets
    assert sheet.matrix is None and list(sheet.lines) == ["entropy"] and list(sheet.measures) == ["entropy"]
    assert len(sheet.columns) == 0 and len(sheet.rows) == 12
    assert "error" in opened(made.message({"piece": "tile"}))[0]


def test_calls_with_growing_keys_are_sheets_of_their_own():
    steps = [weighted(2, 3, 1, keys) for keys in (4, 5, 6)]
    made = book(calls(*steps))
    assert [sheet.title for sheet in made.sheets] == [f"self attention, 1 × {keys}" for keys in (4, 5, 6)]
    for number, aux in enumerate(steps):
        assert np.array_equal(numbers(made, piece="tile", sheet=number, head=1)[1], aux.weights[0, 1])
    ahead = 3 - torch.arange(4.0)  # the one query reads from the last position
    assert np.allclose(
        made.sheets[0].measures["distance"][0, 0], (steps[0].weights[0] * ahead).sum((-1, -2)), atol=1e-6
    )


def test_calls_of_one_module_have_names_with_their_numbers():
    [sheet] = book(calls(weighted(1, 2, 3, 3), weighted(1, 2, 3, 3))).sheets
    assert list(sheet.layers) == ["read, call 0", "read, call 1"]


def test_kinds_are_sheets_of_their_own_with_their_tokens():
    records = [
        Record("self", weighted(1, 2, 5, 5), 0, "self"),
        Record("cross", weighted(1, 2, 5, 7), 1, "cross"),
        Record("self2", weighted(1, 2, 5, 5), 2, "self"),
    ]
    made = book(Recording(records), list("abcde"), list("tuvwxyz"))
    assert [sheet.title for sheet in made.sheets] == ["self attention, 5 × 5", "cross attention, 5 × 7"]
    assert list(made.sheets[0].layers) == ["self", "self2"]
    assert [list(sheet.columns) for sheet in made.sheets] == [list("abcde"), list("tuvwxyz")]
    assert "distance" not in made.sheets[1].measures


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_shown_as_they_are(dtype):
    aux = weighted(1, 2, 5, 7, dtype=dtype)
    made = book(calls(aux, kind="cross"))
    assert np.array_equal(numbers(made, piece="tile", head=1)[1], aux.weights[0, 1].float())
    assert np.allclose(numbers(made, piece="line", name="entropy")[1], entropy(aux.weights[0, 0].float()), atol=1e-6)
    top = AuxOutput(top=tuple(part[0, :, :, :2] for part in aux.weights[None].topk(2)))
    assert numbers(book(calls(top)), piece="tile")[1].dtype == np.float32


def test_a_sink_has_a_line_and_a_measure():
    sink = torch.rand(1, 2, 5)
    made = book(calls(weighted(1, 2, 5, 7), sink=sink))
    assert np.array_equal(numbers(made, piece="line", name="sink share", head=1)[1], sink[0, 1])
    assert np.allclose(made.sheets[0].measures["sink share"][0, 0], sink[0].mean(-1), atol=1e-6)


def test_keys_that_a_cache_dropped_shift_the_numbers():
    [sheet] = book(calls(weighted(1, 1, 1, 3), key_offset=40)).sheets
    assert list(sheet.columns) == ["40", "41", "42"]


def test_rows_that_are_masked_whole_are_zeros():
    layer = nn.MultiheadAttention(8, 2).eval()
    with torch.no_grad(), look.record(layer) as recording:
        layer(*[torch.randn(1, 5, 8)] * 3, mask=masks.Dense(torch.arange(5)[:, None].expand(5, 5) > 1))
    made = book(recording)
    assert not numbers(made, piece="row", at=0)[1].any() and numbers(made, piece="row", at=4)[1].any()
    assert np.isfinite(numbers(made, piece="line", name="entropy")[1]).all()


@pytest.mark.parametrize(
    ("recording", "got"), [(Recording(), "none"), (calls(AuxOutput(lse=torch.zeros(1, 1, 3))), "1 without")]
)
def test_a_recording_without_statistics_is_refused(recording, got):
    with pytest.raises(ArgumentError, match=f"recording: expected records with weights, top or entropy, got {got}"):
        book(recording)


@pytest.mark.parametrize(("name", "tokens"), [("rows", 11), ("columns", 13)])
def test_tokens_that_fit_no_record_are_refused(name, tokens):
    with pytest.raises(ShapeError, match=f"{name}: expected 12 tokens, got {tokens}"):
        book(encoded(layers=1), **{name: ["x"] * tokens})


@pytest.mark.parametrize("shape", [(0, 2, 3, 3), (1, 2, 0, 3), (1, 0, 3, 3), (1, 1, 2, 0)])
def test_an_empty_call_is_left_out(shape):
    whole = weighted(1, 2, 5, 5)
    empty = AuxOutput(weights=torch.zeros(shape))
    assert len(book(calls(empty, whole)).sheets) == 1
    with pytest.raises(ArgumentError, match="got 1 without"):
        book(calls(empty))
