"""The explorer's sheets of a run have the numbers of its pictures, and of all layers and heads."""

import json
from itertools import product

import pytest
import torch

from saccade import look
from saccade.errors import ArgumentError
from saccade.look._explorer.sheets import Book, MatrixIndex
from tasks.laws.table import LIGHT, light_tasks, quick

HEADS = ": every head, "
ROUNDED = 5.01e-7  # half of the last decimal of a JSON file


def flat(sheet):
    """All numbers of a sheet, layer after layer, 0 for none."""
    places = product(range(len(sheet.layers)), range(sheet.heads))
    return (
        torch.cat([torch.as_tensor(sheet.matrix(MatrixIndex(*place))).flatten() for place in places])
        .double()
        .nan_to_num()
    )


@pytest.mark.usefixtures("unsaved")
@light_tasks
def test_sheets_have_the_numbers_of_pictures(run, asked, tmp_path):
    sheets = run.sheets(asked)
    paths = run.draw(asked, tmp_path / "pictures", json=True)
    told = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.suffix == ".json"]
    drawn = [sheet for sheet in sheets if HEADS not in sheet.title and sheet.extra.get("name") != "links"]
    values = torch.cat([flat(sheet) for sheet in drawn])
    expected = [torch.tensor(part["values"], dtype=torch.float64).flatten() for part in told]
    torch.testing.assert_close(values, torch.cat(expected), rtol=0, atol=ROUNDED)


@pytest.mark.parametrize("run", quick(*LIGHT), indirect=True)
def test_sheets_of_examples_are_json(run):
    sheets = run.sheets()
    book = Book("A run", sheets)
    json.dumps(book.manifest(), allow_nan=False)
    for number in range(len(sheets)):
        about, _ = book.piece({"sheet": number, "piece": "tile"})
        json.dumps(about, allow_nan=False)


@pytest.mark.slow
def test_translators_have_every_layer_and_head(trained):
    run = trained("translate", "transformer", layers=2, heads=4)
    [example] = [run.task.example("test", 0)]
    drawn, *sheets = run.sheets([example.text])
    output = run.answers([example.text], run.request("look", {}), "pictures")
    [best] = next(output).outputs[:1]
    source, written = run.task.codec.inputs([example.input]), torch.tensor([[1, *best.ids]])
    with torch.no_grad(), look.record(run.model) as records:
        run.model(source, written)
    expected = {"encoder": [], "decoder": [], "source": []}
    for name, aux in records:
        expected["source" if "source" in name else name.partition(".")[0]].append(aux.weights[0])
    sides = {"encoder": (drawn.columns,) * 2, "decoder": (drawn.rows, ["⏵", *drawn.rows[:-1]])}
    sides["source"] = drawn.rows, drawn.columns
    for sheet, (part, layers) in zip(sheets, expected.items(), strict=True):
        assert HEADS in sheet.title and (sheet.rows, sheet.columns) == sides[part]
        assert (len(sheet.layers), sheet.heads) == (2, 4)
        for layer, head in product(range(2), range(4)):
            torch.testing.assert_close(sheet.matrix(MatrixIndex(layer, head)), layers[layer][head])


@pytest.mark.slow
def test_hard_attention_has_its_draws(trained):
    run = trained("translate", "rnnsearch", read="reinforce")
    drawn, chances = run.sheets([run.task.example("test", 0).text])
    weights = chances.matrix(MatrixIndex())
    [[[columns]]] = chances.extra["drawn"]
    assert (chances.rows, chances.columns) == (drawn.rows, drawn.columns)
    assert columns == weights.argmax(-1).tolist() == drawn.matrix(MatrixIndex()).argmax(-1).tolist()
    torch.testing.assert_close(weights.sum(-1), torch.ones(len(weights)))
    assert float(weights.max()) < 1 == float(drawn.matrix(MatrixIndex()).max())


def test_inputs_without_a_picture_are_rejected(trained):
    run = trained("translate", "rnnsearch")
    with pytest.raises(ArgumentError, match="inputs: expected an input with a picture, got none"):
        run.sheets([""])
    with pytest.raises(ArgumentError, match="--by: expected attention or rollout"):
        run.sheets(["a"], by="none")
