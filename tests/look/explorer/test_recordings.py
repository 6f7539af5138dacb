"""Sheets of recordings of every shape."""

import numpy as np
import pytest
import torch

from look.explorer.books import book, calls, encoded, numbers, opened, weighted
from saccade import AuxOutput, AuxRequest, look, masks, nn
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.look import Explorer, Record, Recording
from saccade.look._explorer import recordings
from saccade.look._explorer.sheets import MatrixIndex


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
        Explorer({"one": encoded(layers=1), "two": encoded(layers=2)}, **{name: ["x"] * tokens})


def test_tokens_of_one_of_several_recordings_are_taken():
    short, long = (calls(AuxOutput(weights=torch.rand(1, 1, size, size))) for size in (3, 5))
    sheets = Explorer({"short": short, "long": long}, rows=["a", "b", "c"]).book.sheets
    assert [list(sheet.rows) for sheet in sheets] == [["a", "b", "c"], ["0", "1", "2", "3", "4"]]


@pytest.mark.parametrize("tokens", [5, [b"x"] * 12, torch.arange(12)])
def test_tokens_that_are_no_texts_are_refused(tokens):
    with pytest.raises(ArgumentTypeError, match="rows: expected a sequence of texts"):
        Explorer(encoded(layers=1), rows=tokens)


def test_weights_of_zero_have_no_key_in_the_largest():
    x = torch.randn(2, 4, 8)
    model = nn.MultiheadAttention(8, 2).eval()
    with look.record(model, AuxRequest(top=2)) as few:
        model(x, x, x, mask=torch.ones(4, 4, dtype=torch.bool).tril())
    with look.record(model) as whole:
        model(x, x, x, mask=torch.ones(4, 4, dtype=torch.bool).tril())
    assert (few[0].top[1] == -1).any()
    [few_sheet], [whole_sheet] = book(few).sheets, book(whole).sheets
    for head in range(2):
        expected = whole_sheet.matrix(MatrixIndex(head=head))
        expected = expected * (expected >= expected.topk(2).values[:, -1:])
        torch.testing.assert_close(few_sheet.matrix(MatrixIndex(head=head)), expected)


def test_words_are_of_self_attention_and_have_no_numbers_of_tokens():
    alone = Record("self", AuxOutput(weights=torch.rand(1, 1, 4, 4)), 0, "self")
    other = Record("cross", AuxOutput(weights=torch.rand(1, 1, 4, 4)), 1, "cross")
    sheets = Explorer(Recording([alone, other]), rows=list("abcd"), words=[0, 0, 1, 1]).book.sheets
    assert [sheet.title for sheet in sheets[2:]] == ["self attention, 4 × 4, 2 words"]
    assert not sheets[2].measures and sheets[2].summary is None and list(sheets[2].columns) == ["ab", "cd"]


def test_keys_behind_an_offset_have_their_positions():
    weights = torch.rand(1, 1, 2, 4)
    sheets = book(Recording([Record("read", AuxOutput(weights=weights), n, "self", 6 + n) for n in range(2)])).sheets
    assert [(list(sheet.rows), list(sheet.columns)) for sheet in sheets] == [
        (["8", "9"], ["6", "7", "8", "9"]),
        (["9", "10"], ["7", "8", "9", "10"]),
    ]


def test_the_distance_needs_the_number_of_keys():
    top = torch.ones(1, 1, 1, 2) / 2, torch.tensor([[[[0, 1]]]])
    [sheet] = book(calls(AuxOutput(top=top))).sheets
    assert "distance" not in sheet.measures


def test_a_matrix_of_too_many_cells_has_its_lines_alone(monkeypatch):
    monkeypatch.setattr(recordings, "_CELLS", 8)
    [sheet] = book(calls(AuxOutput(weights=torch.rand(1, 1, 3, 3)))).sheets
    assert sheet.matrix is None and set(sheet.lines) == {"entropy", "received"}
    assert sheet.note.startswith("The matrix has more than 8 cells")


@pytest.mark.parametrize("shape", [(0, 2, 3, 3), (1, 2, 0, 3), (1, 0, 3, 3), (1, 1, 2, 0)])
def test_an_empty_call_is_left_out(shape):
    whole = weighted(1, 2, 5, 5)
    empty = AuxOutput(weights=torch.zeros(shape))
    assert len(book(calls(empty, whole)).sheets) == 1
    with pytest.raises(ArgumentError, match="got 1 without"):
        book(calls(empty))
