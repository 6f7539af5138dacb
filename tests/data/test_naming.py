"""Columns by options or by a guess: what people call their columns, and what cannot be known."""

import json
from types import SimpleNamespace
from weakref import WeakSet

import numpy as np
import pandas as pd
import pytest
import torch

from saccade import runs
from saccade.data import Column, Names, load
from saccade.data.columns import label
from saccade.data.naming import (
    are_few,
    are_files,
    are_long,
    are_questions,
    are_texts,
    data_options,
    input_columns,
    name_columns,
)
from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.errors import ArgumentError
from saccade.tasks import TASKS, load_task
from saccade.train.task import options_class
from tiers import every

COLUMNS = (
    Column("text", ("text", "sentence"), looks=are_long),
    Column("label", ("label",), label, what="a label", looks=are_few),
)
ROWS = [{"review": f"a film of {n} minutes", "stars": "5" if n % 2 else "1"} for n in range(60)]


def opened(data, columns=None, objects=None):
    rows = load(str(data), COLUMNS, Names(columns=columns or {}), objects, what="texts")
    return rows, {(row["text"], row["label"]) for part in rows.splits.values() for row in part}


def csv(path, rows, *, end="\n", mark=","):
    lines = [mark.join(rows[0]), *(mark.join(map(str, row.values())) for row in rows)]
    path.write_text("".join(f"{line}{end}" for line in lines), newline="")
    return path


WANTED = {(row["review"], row["stars"]) for row in ROWS}
WRITE = {
    "a.csv": csv,
    "b.tsv": lambda path, rows: csv(path, rows, mark="\t"),
    "c.csv": lambda path, rows: csv(path, rows, end="\r\n"),
    "d.csv": lambda path, rows: csv(path, rows, mark=";"),
    "e.jsonl": lambda path, rows: path.write_text("".join(f"{json.dumps(row)}\n" for row in rows)),
    "f.parquet": lambda path, rows: pd.DataFrame(rows).to_parquet(path),
}


@every("name", list(WRITE))
def test_unknown_names_are_guessed_and_said_in_one_line(tmp_path, name):
    WRITE[name](tmp_path / name, ROWS)
    rows, pairs = opened(tmp_path / name)
    assert pairs == WANTED and rows.guessed == {"text": "review", "label": "stars"}
    said = "reading text from column review, label from column stars; --text-column and --label-column choose others"
    assert rows.note.startswith(said) and "\n" not in rows.note


@every("name", list(WRITE))
def test_options_name_columns_in_every_format(tmp_path, name):
    more = [{"text": "x", "label": "y", **row} for row in ROWS]
    WRITE[name](tmp_path / name, more)
    assert opened(tmp_path / name, {"text": "review", "label": "Stars"})[1] == WANTED
    WRITE[name](tmp_path / name, [{"text": row["stars"], "label": row["review"]} for row in ROWS])
    rows, swapped = opened(tmp_path / name, {"text": "label", "label": "text"})
    assert swapped == WANTED and rows.guessed == {}


REFUSED = {
    "two of few values": (
        [{**row, "shop": row["stars"] * 2} for row in ROWS],
        "row 1 of .*: expected a header that names text and label, .*; --label-column chooses one of stars, ",
    ),
    "two long texts": (
        [{**row, "title": row["review"] + "!"} for row in ROWS],
        "--text-column chooses one of review, ",
    ),
    "no labels": ([{"review": row["review"]} | {"n": n} for n, row in enumerate(ROWS)], "--label-column name"),
    "a header alone": ([], "row 1 of .*: expected a header that names text and label, got 'review,stars'"),
    "a single column": ([{"review": row["review"]} for row in ROWS], "expected a header that names text and label"),
    "a column twice": (None, "expected columns of different names, got review twice"),
    "no header": (
        [dict(zip(("a fine film of 1 minute", "5"), row.values(), strict=True)) for row in ROWS],
        "got 'a fine film of",
    ),
}


@every("kind", list(REFUSED))
def test_what_cannot_be_guessed_is_refused_with_the_option(tmp_path, kind):
    rows, message = REFUSED[kind]
    path = tmp_path / "a.csv"
    if rows:
        csv(path, rows)
    else:
        path.write_text("review,review,stars\n" + "a b c,d e f,1\n" * 9 if rows is None else "review,stars\n")
    with pytest.raises(ArgumentError, match=message) as error:
        opened(path)
    assert "\n" not in str(error.value)


def test_a_file_sorted_by_label_is_read_as_a_whole(tmp_path):
    rows = [{"review": f"a film of {n} minutes", "stars": "5" if n < 1500 else "1"} for n in range(2000)]
    assert opened(csv(tmp_path / "a.csv", rows))[0].guessed == {"text": "review", "label": "stars"}


@every(
    ("columns", "message"),
    [
        (
            {"text": "reviw"},
            "^--text-column: expected a column of row 1 of .*a.csv, got reviw; did you mean review[?]$",
        ),
        ({"label": "x"}, "^--label-column: expected a column of row 1 of .*a.csv, got x; there is review, stars$"),
    ],
)
def test_a_name_that_is_no_column_is_refused(tmp_path, columns, message):
    with pytest.raises(ArgumentError, match=message):
        opened(csv(tmp_path / "a.csv", ROWS), columns)
    with pytest.raises(ArgumentError, match=message.replace("row 1 of .*a.csv", "data: train, row 1")):
        opened("objects", columns, ROWS)


def test_a_column_may_lack_in_a_single_split(tmp_path):
    csv(tmp_path / "train.csv", ROWS)
    csv(tmp_path / "test.csv", [{"review": row["review"], "rating": row["stars"]} for row in ROWS])
    with pytest.raises(ArgumentError, match=r"row 2 of .*test.csv: expected a column stars, got review, rating"):
        opened(tmp_path)
    with pytest.raises(
        ArgumentError, match=r"--label-column: expected a column of row 1 of .*test.csv, got stars; there is"
    ):
        opened(tmp_path, {"label": "stars"})


def test_rows_without_names_have_no_columns_to_choose():
    pairs = [(row["review"], row["stars"]) for row in ROWS]
    assert opened("objects", None, pairs)[1] == WANTED
    with pytest.raises(ArgumentError, match=r"^--text-column: expected rows with names of columns, got \('a film"):
        opened("objects", {"text": "review"}, pairs)


FRAME = pd.DataFrame(ROWS)
FRAMES = {
    "plain": FRAME,
    "an index": FRAME.set_index(pd.Index(range(100, 160), name="id")),
    "a categorical": FRAME.astype({"stars": "category"}),
    "nullable integers": FRAME.assign(stars=FRAME["stars"].astype("int64").astype("Int64")),
    "Arrow's strings": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "a date": FRAME.assign(day=pd.Timestamp("2020-01-01")),
    "missing cells elsewhere": FRAME.assign(note=[np.nan, None, pd.NA, pd.NaT] * 15),
    "splits": {"train": FRAME[:40], "dev": FRAME[40:50], "test": FRAME[50:]},
}


@every("kind", list(FRAMES))
def test_frames_of_every_kind_are_the_same_rows(kind):
    rows, pairs = opened("objects", None, FRAMES[kind])
    assert pairs == WANTED and rows.guessed == {"text": "review", "label": "stars"}
    assert kind != "splits" or (rows.size("validation"), rows.size("test")) == (10, 10)


def test_names_of_a_frame_may_be_numbers():
    frame = FRAME.set_axis([0, 1], axis=1)
    assert opened("objects", None, frame)[1] == opened("objects", {"text": "0", "label": "1"}, frame)[1] == WANTED


def test_a_frame_of_polars_is_read_as_one_of_pandas():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(ROWS)
    assert opened("objects", None, frame)[1] == opened("objects", None, {"train": frame})[1] == WANTED
    with pytest.raises(ArgumentError, match=r"data: expected rows, got LazyFrame; collect\(\) computes it"):
        opened("objects", None, frame.lazy())


@every("kind", ["empty", "NA", "NaT", "twice"])
def test_a_hostile_frame_is_one_line(kind):
    frame, message = {
        "empty": (FRAME[:0], "^data: expected rows of train, got none"),
        "NA": (FRAME.assign(stars=pd.NA), "--label-column"),
        "NaT": (FRAME.assign(review=pd.NaT), "--text-column"),
        "twice": (FRAME.set_axis(["a", "a"], axis=1), "data: expected columns of different names, got a twice"),
    }[kind]
    with pytest.raises(ArgumentError, match=message) as error:
        opened("objects", None, frame)
    assert "\n" not in str(error.value)


def test_a_guess_keeps_no_decoded_media_in_memory():
    alive, most = WeakSet(), []

    class Photos(list):
        def __iter__(self):
            for n in range(60):
                alive.add(photo := torch.zeros(1))
                yield {"photo": photo, "words": f"dog {n}"}
                most.append(len(alive))

    table = Table(Photos(), str)
    _, guessed, _ = name_columns([Column("caption", ("caption",), looks=are_texts)], {"": table}, SplitNames())
    assert guessed == {"caption": "words"} and len(most) >= 60 and max(most) <= 3


def test_a_guess_decodes_no_media():
    decoded = []

    class Dataset:  # of `datasets`
        def __init__(self, names=("photo", "words")):
            kinds = {"photo": SimpleNamespace(decode_example=None), "words": SimpleNamespace(dtype="string")}
            self.features = {name: kinds[name] for name in names}

        def remove_columns(self, names):
            return Dataset(tuple(name for name in self.features if name not in names))

        def __iter__(self):
            for n in range(60):
                if "photo" in self.features:
                    decoded.append(n)
                yield {"photo": [n], "words": f"dog {n}"} if "photo" in self.features else {"words": f"dog {n}"}

    table = Table(Dataset(), str)
    _, guessed, _ = name_columns([Column("caption", ("caption",), looks=are_texts)], {"": table}, SplitNames())
    assert guessed == {"caption": "words"} and decoded == [0]  # the first row shows the names


@every(
    ("looks", "yes", "no"),
    [
        (are_long, ["一部非常好的电影", "一部很无聊的电影"], ["a b c"] * 9),
        (are_few, [True, False] * 2, [1.5, 2.5, 1.5, 2.5]),
        (are_few, ["a", "b"] * 9 + [None], []),
        (are_few, list(np.array([1, 2, 1, 2])), [[1], [2]] * 2),
        (are_texts, ["yes", None], [None, float("nan")]),
        (are_files, ["a.wav", "b/c.flac"], ["a", "b.c d e f g h"]),
        (are_questions, ["why?", "what is it?", "tell"], ["yes", "no?"]),
    ],
)
def test_kinds_of_cells(looks, yes, no):
    assert looks(yes) and not looks(no)


@pytest.mark.parametrize("task", [task for task, place in TASKS.items() if place.startswith("saccade.")])
def test_every_task_has_an_option_for_each_of_its_columns(task):
    kind = load_task(task)
    given = {f"{column.name}_column": f"c{n}" for n, column in enumerate(kind.columns)}
    options = runs.options(kind, "file", None, given)
    assert [column.names[0] for column in input_columns(options, kind.columns)] == [*given.values()][:-1]
    for data in kind.builtin if given else ():
        with pytest.raises(ArgumentError, match=f"^--.*-column: expected none for {data}, whose columns are fixed"):
            kind.open(options_class(kind, options.model)(**{"data": data, **given}), None)


@every(
    ("given", "message"),
    [
        (
            {"text_column": "a", "label_column": "a"},
            "^--label-column: expected another column than --text-column, got a",
        ),
        ({"text_column": " "}, "^--text-column: expected the name of a column, got an empty one"),
        ({"encoding": "cp12520"}, "^--encoding: expected an encoding"),
    ],
)
def test_options_without_a_meaning_are_refused(given, message):
    with pytest.raises(ArgumentError, match=message):
        runs.options(load_task("classify-text"), "file", None, given)


def test_objects_have_no_encoding():
    kind = load_task("classify-text")
    with pytest.raises(ArgumentError, match="^encoding: expected none for Python objects, got cp1252; leave it out$"):
        kind.prepare(runs.options(kind, "objects", None, {"encoding": "cp1252"}), FRAME)


def test_guessed_columns_are_options_of_the_job(capsys):
    kind = load_task("classify-text")
    job = kind.prepare(runs.options(kind, "objects", None, {}), FRAME)
    assert (job.settings.text_column, job.settings.label_column) == ("review", "stars")
    assert "reading text from column review, label from column stars; " in capsys.readouterr().err
    assert list(job.lines([{"review": "a film"}])) == list(job.lines([{"text": "a film", "x": 1}])) == ["a film"]


@pytest.mark.slow
def test_a_run_keeps_the_columns_that_were_guessed(tmp_path, capsys):
    path, more = csv(tmp_path / "a.csv", ROWS), {"model": "sum", "device": "cpu"}
    run = runs.train("classify-text", data=str(path), run=tmp_path / "run", max_steps=2, **more)
    options = json.loads((tmp_path / "run/config.json").read_text())["options"]
    assert (options["text_column"], options["label_column"]) == ("review", "stars")
    capsys.readouterr()
    assert len(run.predict(path)) == len(run.predict(FRAME)) == len(ROWS)
    assert run.evaluate("test").examples == run.task.data.size("test")
    assert runs.train("classify-text", data=str(path), run=tmp_path / "run", max_steps=3, **more).results["steps"] == 3
    assert "choose others" not in capsys.readouterr().err


def test_options_are_added_once():
    kind = load_task("classify-text")
    assert data_options(kind.Options, kind.columns) is kind.Options
