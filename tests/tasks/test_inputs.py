from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from saccade.data import Column
from saccade.errors import ArgumentError
from saccade.tasks.inputs import input_lines
from saccade.tasks.stream import texts
from tiers import every

TEXTS = ["a good film", "a bad film"]
ROWS = [{"Sentence": text, "n": number} for number, text in enumerate(TEXTS)]
COLUMNS = (("text", "sentence"),)


def task(inputs="lines", columns=COLUMNS, suffixes=()):
    named = [Column(names[0], names) for names in columns]
    return SimpleNamespace(
        inputs=inputs, lines=lambda rows: texts(rows, columns), columns=named, suffixes=suffixes, codec=None
    )


def lines(given, **more):
    return list(input_lines(task(**more), given))


@every(
    "given",
    [
        TEXTS,
        iter(TEXTS),
        ROWS,
        (row for row in ROWS),
        {"text": TEXTS},
        np.array(TEXTS),
        pd.DataFrame(ROWS),
        pd.Series(TEXTS),
        SimpleNamespace(to_dicts=lambda: ROWS),  # as a data frame of polars has it
        pa.table({"text": TEXTS, "n": [0, 1]}),
        pa.chunked_array([TEXTS]),
    ],
)
def test_inputs_of_every_kind_are_the_same_lines(given):
    assert lines(given) == TEXTS


def test_one_input_is_one_line():
    assert lines("a good film") == lines(ROWS[0]) == lines({"any": "a good film"}, columns=()) == ["a good film"]


def test_a_path_is_a_file_of_inputs(tmp_path):
    pd.DataFrame(ROWS).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame(ROWS).to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    (tmp_path / "a.txt").write_text("a good film\na bad film\n")
    for name in ("a.csv", "a.jsonl", "a.parquet", "a.txt"):
        assert lines(tmp_path / name) == TEXTS
    with pytest.raises(FileNotFoundError):
        lines(tmp_path / "nowhere.csv")


def test_a_column_of_integers_is_text_as_in_training():
    assert lines([{"text": 7}]) == lines(pd.DataFrame({"text": [7]})) == ["7"]


def test_columns_that_are_not_read_are_said_once(tmp_path, capsys):
    pd.DataFrame(ROWS).to_csv(tmp_path / "a.csv", index=False)
    assert lines(tmp_path / "a.csv") == TEXTS
    assert capsys.readouterr().err == f"{tmp_path}/a.csv: reading Sentence; other columns are not read: n\n"


def numbers(names=()):
    rows = partial(map, lambda row: row if isinstance(row, str) else ",".join(row.values()))
    return SimpleNamespace(inputs="lines", lines=rows, columns=[], suffixes=(), codec=SimpleNamespace(names=names))


def test_a_codec_names_the_columns_of_numbers(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("id,x,y\n1,2,3\n")
    assert list(input_lines(numbers(("x", "y")), tmp_path / "a.csv")) == ["1,2,3"]
    assert capsys.readouterr().err == f"{tmp_path}/a.csv: reading x, y; other columns are not read: id\n"


@every(
    ("name", "text"),
    [
        ("a.csv", "text,n\n\na good film,1\n,\na bad film,2\n\n\n"),
        ("a.tsv", "text\tn\n\na good film\t1\n\t\na bad film\t2\n\n\n"),
        ("a.jsonl", '\n\n{"text": "a good film"}\n\n{"text": "a bad film"}\n\n'),
    ],
)
def test_rows_have_the_numbers_of_their_file_and_blank_ones_are_noted(name, text, tmp_path, capsys):
    (tmp_path / name).write_text(text)
    read = lines(tmp_path / name)
    assert read == TEXTS and [line.number for line in read] == [3, 5]
    assert f"{name}: left out {2 if name != 'a.jsonl' else 1} blank row" in capsys.readouterr().err


def test_a_row_that_is_no_input_is_an_error_of_its_own_line(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a good film"}\n\n{"text": 3.5}\n')
    good, bad = lines(tmp_path / "a.jsonl")
    assert good.error is None and bad == ""
    assert str(bad.error) == f"row 3 of {tmp_path}/a.jsonl: expected a text or a path in text, got float"


@every(
    ("text", "message"),
    [
        ("text,n\n", "{path}: expected rows below the header, got none"),
        ("text,n\n\n,\n", "{path}: expected rows below the header, got none"),
        ("text,n\n\na,1\nb,2,3\n", "row 4 of {path}: expected 2 columns, as the header says, got 3. Put a text"),
    ],
)
def test_tables_without_rows_and_with_more_cells_are_refused(text, message, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ArgumentError) as error:
        lines(tmp_path / "a.csv")
    assert str(error.value).startswith(message.format(path=tmp_path / "a.csv"))


def test_lines_of_numbers_need_no_header(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("x,y\n1,2\n")
    assert list(input_lines(numbers(), tmp_path / "a.csv")) == ["1,2", "3,4"]
    assert list(input_lines(numbers(), tmp_path / "b.csv")) == ["1,2"]


def test_a_task_that_reads_files_takes_folders_and_tables(tmp_path):
    (tmp_path / "photos").mkdir()
    files = [str(tmp_path / "photos" / name) for name in ("a.png", "b.png")]
    for file in [*files, str(tmp_path / "photos/notes.txt")]:
        Path(file).write_bytes(b"")
    (tmp_path / "table.csv").write_text("image,text\nphotos/a.png,x\nphotos/b.png,y\n")
    images = {"inputs": "files", "columns": (("image",),), "suffixes": (".png",)}
    assert lines(tmp_path / "photos", **images) == lines(str(tmp_path / "photos"), **images) == files
    assert (
        lines(tmp_path / "table.csv", **images) == lines([{"image": Path(file)} for file in files], **images) == files
    )
    assert lines(files[0], **images) == lines({"image": files[0]}, **images) == files[:1]


def test_several_columns_are_one_line_with_a_tab():
    both = {"columns": (("image",), ("question",))}
    assert lines([{"question": "how many?", "image": "a.png"}], **both) == ["a.png\thow many?"]


@every(
    ("given", "error"),
    [
        (3, "inputs: expected a text or a path, or several, got int"),
        ([["text"]], "inputs: expected a text or a path, or several, got list"),
        ([{"label": "good"}], "inputs: row 1: expected a column text or sentence, got label"),
        ([{"text": "a"}, {"text": 3.5}], "inputs: row 2: expected a text or a path in text, got float"),
        (
            [{"text": "a"}, {"text": None}],
            "inputs: row 2: expected a text or a path in text, got an empty cell. ",
        ),
        ({"text": ["a"], "n": [1, 2]}, "inputs: expected columns of as many cells each, got 1 of text, 2 of n"),
    ],
)
def test_inputs_of_another_kind_are_one_error(given, error):
    with pytest.raises(ArgumentError) as stop:
        lines(given)
    assert str(stop.value).startswith(error)
