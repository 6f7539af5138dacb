"""Formats of docs/data.md: every job opens them, and refuses an empty cell by its file, row and column."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

from image_files import plain
from saccade import runs
from saccade.cli import main
from saccade.errors import SaccadeError
from saccade.tasks import load_task
from saccade.tasks.answer.data import open_corpus as questions
from saccade.tasks.caption.data import open_corpus as captions
from saccade.tasks.classify_image import open_images
from saccade.tasks.classify_text.data import open_corpus as texts
from saccade.tasks.memorize.data import open_corpus as symbols
from saccade.tasks.regress.data import open_numbers
from saccade.tasks.tag_words import TAG_WORDS
from saccade.tasks.transcribe.data import open_corpus as recordings
from saccade.tasks.translate.data import open_corpus as pairs

COUNT = 30
PAGE = Path(__file__).resolve().parents[2] / "docs/data.md"


def row(job, n, folder):
    """Row n of a job."""
    return {
        "classify-text": lambda: {"text": f"film {n}", "label": "good" if n % 2 else "bad"},
        "translate": lambda: {"source": f"satz {n}", "target": f"sentence {n}"},
        "memorize": lambda: {"input": f"a {n}", "output": f"{n} a"},
        "regress": lambda: {"x": n, "y": n / 2},
        "transcribe": lambda: {"audio": sound(folder, n), "text": f"word {n}"},
        "caption": lambda: {"image": image(folder, n), "caption": f"a picture {n}"},
        "answer": lambda: {"image": image(folder, n), "question": "is it red?", "answer": "yes" if n % 2 else "no"},
        "classify-image": lambda: {"image": image(folder, n), "label": "cat" if n % 2 else "dog"},
        "tag-words": lambda: {"words": f"Ada met {n}", "tags": "NAME O O"},
    }[job]()


def sound(folder, n):
    soundfile.write(folder / f"{n}.wav", np.full(80 + n, 0.25), 8000)
    return str(folder / f"{n}.wav")


def image(folder, n):
    (folder / f"{n}.png").write_bytes(plain((n, 9, 9), (12, 12)))
    return str(folder / f"{n}.png")


OPEN = {
    "classify-text": texts,
    "translate": lambda data, objects=None: pairs(data, None, None, objects),
    "memorize": lambda data, objects=None: symbols(data, None, objects),
    "regress": open_numbers,
    "transcribe": lambda data, objects=None: recordings(data, 8000, objects),
    "caption": lambda data, objects=None: captions(data, 12, objects),
    "answer": lambda data, objects=None: questions(data, 12, objects),
    "classify-image": lambda data, objects=None: open_images(data, None, objects),
    "tag-words": lambda data, objects=None: TAG_WORDS.open(
        runs.options(TAG_WORDS, data, "self-attention", {}), objects
    ),
}


def delimited(path, rows, **form):
    with path.open("w", newline="") as file:
        csv.writer(file, **form).writerows([[*rows[0]], *(row.values() for row in rows)])


def arrow(path, rows):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pylist(rows)
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)


def saved(folder, rows):
    folder.mkdir()
    arrow(folder / "data-00000-of-00001.arrow", rows)
    (folder / "state.json").write_text('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}')


WRITE = {
    "CSV": ("a.csv", delimited),
    "TSV": ("a.tsv", lambda path, rows: delimited(path, rows, delimiter="\t")),
    "JSON lines": ("a.jsonl", lambda path, rows: path.write_text("\n".join(map(json.dumps, rows)))),
    "a JSON array": ("a.json", lambda path, rows: path.write_text(json.dumps(rows))),
    "parquet": ("a.parquet", arrow),
    "Arrow": ("a.arrow", arrow),
    "a folder of `datasets`": ("saved", saved),
}
OBJECTS = {
    "a list of mappings": list,
    "a list of tuples": lambda rows: [tuple(row.values()) for row in rows],
    "a mapping of columns": lambda rows: {name: [row[name] for row in rows] for name in rows[0]},
    "a pandas frame": lambda rows: pytest.importorskip("pandas").DataFrame(rows),
    "a polars frame": lambda rows: pytest.importorskip("polars").DataFrame(rows),
    "an Arrow table": lambda rows: pytest.importorskip("pyarrow").Table.from_pylist(rows),
    "a mapping of splits to frames": lambda rows: {
        split: pytest.importorskip("pandas").DataFrame(rows[n::3]) for n, split in enumerate(("train", "dev", "test"))
    },
}
OPTIONS = {
    "columns of other names, by options": ("a.csv", {}),
    "a file in cp1252, by `--encoding`": ("caf\u00e9.csv", {"encoding": "cp1252"}),
}
"""Formats that options describe: the name of the file, and further options."""


def documented():
    """The first cells of the table of forms, each of which every job reads."""
    table = PAGE.read_text(encoding="utf-8").partition("| form | example |\n|---|---|\n")[2].partition("\n\n")[0]
    return [line.strip("| ").partition(" | ")[0] for line in table.splitlines()]


def test_the_table_has_every_format_and_the_columns_every_job():
    assert documented() == [*WRITE, *OBJECTS, *OPTIONS]
    assert all(
        re.search(rf"^\| [\w, -]*\b{job}\b[\w, -]* \| ", PAGE.read_text(encoding="utf-8"), flags=re.M) for job in OPEN
    )


@pytest.mark.parametrize("job", OPEN)
@pytest.mark.parametrize("form", OPTIONS)
def test_options_describe_the_formats_of_the_table(form, job, tmp_path):
    name, given = OPTIONS[form]
    kind, rows = load_task(job), [row(job, n, tmp_path) for n in range(COUNT)]
    if not given:
        names = dict(zip(rows[0], (f"\u00e9 {place}" for place in range(9)), strict=False))
        given = {f"{column.name}_column": names[column.names[0]] for column in kind.columns}
        rows = [{names[name]: cell for name, cell in row.items()} for row in rows]
    delimited(tmp_path / name, [{**row, "caf\u00e9": "\u20ac"} if kind.columns else row for row in rows])
    text = (tmp_path / name).read_text()
    (tmp_path / name).write_bytes(text.encode(given.get("encoding", "utf-8")))
    corpus = kind.rows(next(iter(kind.models)), {"data": str(tmp_path / name), **given}, None).get()
    assert sum(corpus.size(split) for split in ("train", "validation", "test")) == COUNT
    if "encoding" in given and kind.columns:
        with pytest.raises(
            SaccadeError, match="expected UTF-8, got byte 0xe9; --encoding cp1252 reads text of Windows"
        ):
            kind.rows(next(iter(kind.models)), {"data": str(tmp_path / name)}, None).get()


@pytest.mark.parametrize(("form", "job"), [(form, job) for form in {**WRITE, **OBJECTS} for job in OPEN])
def test_a_job_opens_the_formats_of_the_table(form, job, tmp_path):
    rows = [row(job, n, tmp_path) for n in range(COUNT)]
    data, objects = "objects", None
    if form in WRITE:
        name, write = WRITE[form]
        write(tmp_path / name, rows)
        data = str(tmp_path / name)
    else:
        objects = OBJECTS[form](rows)
    corpus = OPEN[job](data, objects)
    assert sum(corpus.size(split) for split in ("train", "validation", "test")) == COUNT


REQUIRED = {
    "classify-text": ("label", "a label"),
    "translate": ("target", "a text"),
    "memorize": ("output", "a text"),
    "regress": ("y", "a number"),
    "transcribe": ("audio", "a recording"),
    "caption": ("caption", "a caption"),
    "answer": ("answer", "an answer"),
    "classify-image": ("label", "a label"),
}


@pytest.mark.parametrize("job", REQUIRED)
@pytest.mark.parametrize("form", [*WRITE, "a pandas frame"])
def test_an_empty_cell_is_refused_by_its_place(form, job, tmp_path, capsys):
    column, kind = REQUIRED[job]
    rows = [row(job, n, tmp_path) for n in range(12)]
    for empty in (None, float("nan")) if form in ("JSON lines", "a JSON array", "a pandas frame") else (None,):
        rows[6][column] = empty
        if form == "a pandas frame":
            with pytest.raises(SaccadeError) as error:
                runs.train(job, data=OBJECTS[form](rows), run=tmp_path / "run")
            said, place = str(error.value), "data: train, row 7"
        else:
            name, write = WRITE[form]
            write(tmp_path / name, rows)
            code, said = main(["data", job, "--data", str(tmp_path / name)]), capsys.readouterr().err.strip()
            [file] = (tmp_path / name).glob("*.arrow") if form == "a folder of `datasets`" else [tmp_path / name]
            said, place = said.removeprefix("error: "), f"row {8 if form in ('CSV', 'TSV') else 7} of {file}"
            if kind == "a text" and form in ("CSV", "TSV"):  # a blank side is left out
                assert code == 0 and f"left out 1 of 12 pairs, which have a blank side; the first is {place}" in said
                continue
            assert code == 2
        assert said.startswith(f'{place}, column "{column}": expected {kind}, got an empty cell'), said
        assert "; " in said and "\n" not in said


WRITERS = {
    "pandas, quotes": (
        "a.tsv",
        {"delimiter": "\t", "quoting": csv.QUOTE_ALL},
        "the quotes around its cells are left out",
    ),
    "Excel, tabs": ("a.txt", {"dialect": "excel-tab"}, ""),
    "Excel, semicolons": ("a.csv", {"delimiter": ";"}, "its columns have semicolons between them"),
    "an old Mac": ("a.csv", {"lineterminator": "\r"}, ""),
    "an old Mac, tabs": ("a.tsv", {"delimiter": "\t", "lineterminator": "\r"}, ""),
    "a database": ("a.csv", {"delimiter": "|"}, "its columns have bars between them"),
    "a database, text": ("a.txt", {"delimiter": "|"}, "its columns have bars between them"),
}


@pytest.mark.parametrize("job", ["classify-text", "translate", "regress"])
@pytest.mark.parametrize("program", WRITERS)
def test_tables_of_any_program_have_the_same_rows(program, job, tmp_path, capsys):
    rows = [row(job, n, tmp_path) for n in range(12)]
    if job != "regress":
        rows[3] |= {next(iter(rows[3])): 'he said "no", and; left'}
    name, form, note = WRITERS[program]
    shown = {}
    for path, written in ((tmp_path / "plain.csv", {}), (tmp_path / name, form)):
        delimited(path, rows, **written)
        code = main(["data", job, "--data", str(path), "--split", "train", "--count", "99"])
        shown[path], notes = capsys.readouterr()
        assert code == 0
    first, second = shown.values()
    assert first == second and first.count("\n") == 10
    assert note in notes
