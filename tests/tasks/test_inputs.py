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
    return SimpleNamespace(inputs=inputs, lines=lambda rows: texts(rows, columns), columns=named, suffixes=suffixes)


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


def test_lines_of_numbers_need_no_header(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("x,y\n1,2\n")
    numbers = SimpleNamespace(inputs="lines", lines=list, columns=[], suffixes=())
    assert input_lines(numbers, tmp_path / "a.csv") == ["1,2", "3,4"]
    assert input_lines(numbers, tmp_path / "b.csv") == [{"x": "1", "y": "2"}]


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
            "inputs: row 2: expected a text or a path in text, got an empty cell; ",
        ),
        ({"text": ["a"], "n": [1, 2]}, "inputs: expected columns of as many cells each, got 1 of text, 2 of n"),
    ],
)
def test_inputs_of_another_kind_are_one_error(given, error):
    with pytest.raises(ArgumentError) as stop:
        lines(given)
    assert str(stop.value).startswith(error)
