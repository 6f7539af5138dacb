"""The table of formats and jobs in docs/data.md holds: every format is written, and every job opens it."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from image_files import plain
from saccade.errors import SaccadeError
from saccade.tasks.answer.data import open_corpus as questions
from saccade.tasks.caption.data import open_corpus as captions
from saccade.tasks.classify_image import open_images
from saccade.tasks.classify_text.data import open_corpus as texts
from saccade.tasks.memorize.data import open_corpus as symbols
from saccade.tasks.regress.data import open_numbers
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
}


def delimited(path, rows, mark):
    path.write_text("\n".join(mark.join(map(str, cells)) for cells in ([*rows[0]], *(row.values() for row in rows))))


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
    "CSV": ("a.csv", lambda path, rows: delimited(path, rows, ",")),
    "TSV": ("a.tsv", lambda path, rows: delimited(path, rows, "\t")),
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
}


def cells():
    """The cells of the documented table by format and job."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    jobs, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line)
    return {
        (form, job): cell
        for form, *own in rows
        if form in {**WRITE, **OBJECTS}
        for job, cell in zip(jobs[1:], own, strict=True)
    }


def test_the_table_has_every_format_and_every_job():
    assert set(cells()) == {(form, job) for form in {**WRITE, **OBJECTS} for job in OPEN}


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
    if cells()[form, job] != "yes":
        with pytest.raises(SaccadeError) as error:
            OPEN[job](data, objects)
        assert "\n" not in str(error.value)
        return
    corpus = OPEN[job](data, objects)
    assert sum(corpus.size(split) for split in ("train", "validation", "test")) == COUNT
