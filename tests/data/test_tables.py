import csv
import gzip
import io
import json
import random

import pytest

from saccade.data import Column
from saccade.data.arrow import read_arrow
from saccade.data.columns import label
from saccade.data.objects import table_rows
from saccade.data.splits import SplitNames
from saccade.data.tables import INDEX, number_of, read_table
from saccade.data.texts import reading_as
from saccade.errors import ArgumentError
from tiers import every

COLUMNS = [Column("text", ("text", "sentence")), Column("label", ("label",), label)]
PAIR = [Column("source", ("source",)), Column("target", ("target",))]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def cells(table):
    return [list(row.values()) if isinstance(row, dict) else list(row) for row in table.rows]


def named(table):
    """The columns of the first row."""
    return list(next(iter(table.rows)))


@pytest.mark.parametrize("mark", ",;")
def test_cells_are_those_that_were_written(tmp_path, mark):
    draw = random.Random(0)
    for number in range(100):
        letters = ["a", '"', ",", ";", "\n", "\t", " ", "\u00e9"]
        rows = [["".join(draw.choices(letters, k=draw.randrange(6))) for _ in range(3)] for _ in range(4)]
        written = io.StringIO()
        csv.writer(written, delimiter=mark, quoting=number % 2, lineterminator=["\n", "\r\n"][number // 50]).writerows(
            [["x", "y", "z"], *rows]
        )
        table = read_table(write(tmp_path / "a.csv", written.getvalue()))
        assert cells(table) == [row for row in rows if any(cell.strip() for cell in row)]


FORMS = [
    ("a.tsv", "a good film\tyes\nbad\tvery  bad\n"),
    ("a.txt", "a good film\tyes\nbad\tvery bad\n"),
    ("a.tsv", "\n \ntext\tlabel\na good film\tyes\nbad\tvery bad\n"),
    ("a.txt", "\nlabel\ttext\nyes\ta good film\nvery bad\tbad\n"),
    ("a.tsv", "id\tLabel\tsentence\n1\tyes\ta good film\n2\tvery bad\tbad\n"),
    ("a.csv", "label,text\nyes,a good film\nvery bad,bad\n"),
    ("a.csv", '"text","label"\r\n"a good film","yes"\r\n"bad","very bad"\r\n'),
    ("a.csv", "sep=;\ntext;label\na good film;yes\nbad;very bad\n"),
    ("a.csv.gz", gzip.compress(b"text,label\na good film,yes\nbad,very bad")),
    ("A.CSV", "\ufeffText,Label\na good film,yes\nbad,very bad\n"),
    ("a.csv", "text,label\na good film,yes\nbad,very bad\n".encode("utf-16")),
    ("a.jsonl", '{"text": "a good film", "label": "yes"}\n\n{"label": "very bad", "text": "bad", "id": 7}'),
    ("a.ndjson", '["a good film", "yes"]\n["bad", "very bad"]'),
    ("a.json", '[{"text": "a good film", "label": "yes"},\n {"text": "bad", "label": "very bad"}]'),
]


@every(("name", "content"), FORMS)
def test_forms_of_the_same_two_rows(tmp_path, name, content):
    from saccade.data.columns import read_columns

    table = read_table(write(tmp_path / name, content), COLUMNS)
    rows = [tuple(read_columns(COLUMNS, row, table.labels).values()) for row in table.rows]
    assert rows == [("a good film", "yes"), ("bad", "very bad")] and table.size == 2


def test_pandas_writes_tables_that_are_read(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ['one\n"two", 3', "caf\u00e9", "a,b;c"], "label": ["x", "y", "x"]})
    for index in (False, True):
        frame.to_csv(tmp_path / "a.csv", index=index)
        table = read_table(tmp_path / "a.csv", COLUMNS)
        assert [(row["text"], row["label"]) for row in table.rows] == list(frame.itertuples(index=False, name=None))
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    assert [row["text"] for row in read_table(tmp_path / "a.jsonl", COLUMNS).rows] == list(frame["text"])


@pytest.mark.parametrize(
    ("cells", "name"),
    [("012", INDEX), ("312", INDEX), ("11", "column 1"), (["1", "b"], "column 1"), ([".5"], "column 1")],
)
def test_a_first_column_without_header_may_be_an_index(tmp_path, cells, name):
    for text, end in (("{},x\n", "csv"), ('"{}","x"\n', "csv"), ("{}\tx\n", "tsv")):
        path = write(tmp_path / f"a.{end}", "".join(text.format(cell) for cell in ["", *cells]))
        assert [row[name] for row in read_table(path).rows] == list(cells)


def test_an_unusual_delimiter_and_encoding_are_noted(tmp_path):
    path = write(tmp_path / "a.csv", "text;label\ncaf\u00e9 \u20ac;b\n".encode("cp1252"))
    with pytest.raises(ArgumentError, match="line 2: expected UTF-8, got byte 0xe9; --encoding cp1252 reads text of"):
        read_table(path, COLUMNS)
    with reading_as("cp1252"):
        table = read_table(path, COLUMNS)
    assert table.note == f"{path}: its columns have semicolons between them"
    assert cells(table) == [["caf\u00e9 \u20ac", "b"]]
    assert read_table(write(tmp_path / "b.csv", "text,label\na,b\n"), COLUMNS).note == ""
    utf16 = read_table(write(tmp_path / "b.csv", "text,label\na,b\n".encode("utf-16")), COLUMNS)
    assert utf16.note == f"{tmp_path}/b.csv: it was read as UTF-16"


@every(
    ("text", "rows", "noted"),
    [
        ('"name"\tx\n"open\t1\n6"\t2\n"both"\t3\n', [['"open', "1"], ['6"', "2"], ['"both"', "3"]], False),
        ('name\tx\n"he said ""no"""\t1\nyes\t"2"\n', [['he said "no"', "1"], ["yes", "2"]], True),
        ('name\tx\n"two\nlines"\t1\n"a\ttab"\t2\n', [["two\nlines", "1"], ["a\ttab", "2"]], True),
        ('name\tx\r"two"\t1\r"b"\t2\r', [["two", "1"], ["b", "2"]], True),
        ('name\tx\n"two" \t1\n"b"\t2\n', [['"two" ', "1"], ['"b"', "2"]], False),
    ],
)
def test_quotes_between_tabs_are_text_unless_all_are_around_cells(tmp_path, text, rows, noted):
    table = read_table(write(tmp_path / "a.tsv", text))
    assert cells(table) == rows and ("the quotes around its cells are left out" in table.note) == noted
    assert named(read_table(tmp_path / "a.tsv")) == ["name", "x"]


def test_a_quote_within_a_cell_opens_nothing(tmp_path):
    rows = [[f'film {n} is {n}" long', "a"] if n % 3 else [f'he said "{n}"', "b"] for n in range(20)]
    content = "text,label\n" + "".join(f"{text},{name}\n" for text, name in rows)
    assert cells(read_table(write(tmp_path / "a.csv", content), COLUMNS)) == rows


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"a;b;c",d\n1,2\n', ["a;b;c", "d"]),
        ('"a,b,c";d\n1;2\n', ["a,b,c", "d"]),
        ('"a\n,,,b";d\n1;2\n', ["a\n,,,b", "d"]),
        ("sep=;\na,b,c;d\n1;2\n", ["a,b,c", "d"]),
        ("a\tb\n1,5\t2,5\n", ["a", "b"]),
        ("a,,b\n1,2,3\n", ["a", "column 2", "b"]),
    ],
)
def test_quoted_marks_do_not_choose_the_delimiter(tmp_path, text, names):
    assert named(read_table(write(tmp_path / "a.csv", text))) == names


def test_rows_are_numbered_as_a_spreadsheet_does(tmp_path):
    table = read_table(write(tmp_path / "a.csv", 'a,b\n\n"1\n2\n3",4\n , \n5,6\n'))
    assert [table.where(row) for row in range(2)] == [f"row {n} of {tmp_path}/a.csv" for n in (3, 5)]
    table = read_table(write(tmp_path / "a.tsv", "\na\tb\n\nc\td\n"), PAIR)
    assert [table.where(row) for row in range(2)] == [f"row {n} of {tmp_path}/a.tsv" for n in (2, 4)]
    table = read_table(write(tmp_path / "a.csv", "sep=;\na;b\n1;2\n"))
    assert table.where(0) == f"row 3 of {tmp_path}/a.csv"


def test_a_cell_may_be_longer_than_csv_allows(tmp_path):
    limit = csv.field_size_limit()
    long = "x" * (limit + 1)
    assert cells(read_table(write(tmp_path / "a.csv", f'a,b\n"{long}",1\n'))) == [[long, "1"]]
    assert csv.field_size_limit() == limit


def test_missing_cells_are_blank_and_more_are_an_error(tmp_path):
    table = read_table(write(tmp_path / "a.csv", "text,label,id\nfive,x\n"), COLUMNS)
    assert cells(table) == [["five", "x", ""]]
    with pytest.raises(ValueError, match="expected 2 columns, as the header says, got 3. Put a text with such a mark"):
        list(read_table(write(tmp_path / "a.csv", "text,label\na, b,c\n"), COLUMNS).rows)
    path = write(tmp_path / "a.tsv", "go\tva\tCC-BY\n")
    assert cells(read_table(path, PAIR, more=True)) == [["go", "va"]]
    assert cells(read_table(write(tmp_path / "b.tsv", "go\tva\t \n"), PAIR)) == [["go", "va"]]
    with pytest.raises(ArgumentError, match="got 3 columns; cut -f 1-2 keeps the first 2"):
        read_table(path, PAIR)


WRONG = {
    "header": ("a.csv", "te\rxt,label\nx,1\n", "row 1 of .*: expected a header that names text and label, got 'te'"),
    "no tab": ("a.tsv", "a\tb\nno tab\n", "row 2 of .*: expected text and label with a tab between, .* got no tab"),
    "twice": ("a.csv", "text,Text,label\na,b,c\n", "row 1 of .*: expected one column text, got several; rename"),
    "unclosed": (
        "a.csv",
        'text,label\n1,2\n3,"x\n' + "y,4\n" * 3000,
        "row 3 of .*: expected quotes around whole cells",
    ),
    "half": ("a.csv", 'text,label\n1,2\n"x"y,3\n"y",4\n', "row 3 of .*: expected quotes around whole cells"),
    "empty": ("a.csv", " \n", "expected a table with text and label, got an empty file"),
    "json": ("a.jsonl", '{"a": 1}\nno', "row 2 of .*a.jsonl: expected JSON, an object a line, got another text"),
    "no text": ("a.csv", b"\x89PNG\r\n\x1a\n\x00\x00", "line 1: .*; it is no text; put one in its place"),
    "excel": ("a.xlsx", b"PK", "got another kind of file; .*: libreoffice --headless --convert-to csv"),
    "zip": ("a.zip", b"PK", "got another kind of file; .*: unzip "),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_file_that_is_no_table_is_one_line(tmp_path, kind):
    name, content, words = WRONG[kind]
    with pytest.raises(ArgumentError, match=words) as error:
        read_table(write(tmp_path / name, content), COLUMNS)
    assert "\n" not in str(error.value)


def test_json_keeps_the_kinds_of_its_values(tmp_path):
    rows = [{"a": 1, "b": [1.5, None]}, {"a": True, "b": {"c": "d"}}]
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert list(read_table(path).rows) == rows


@every("text", ["1_000", "2020_01", "\uff11", "1,5", "0x10", "", "one"])
def test_what_is_no_number(text):
    with pytest.raises(ValueError, match="could not convert"):
        number_of(text)


def test_a_column_twice_is_rejected_in_every_format(tmp_path):
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    (tmp_path / "a.jsonl").write_text('{"text": "a", "text": "b", "label": "c"}\n')
    (tmp_path / "a.csv").write_text("text,text,label\na,b,c\n")
    for name in ("a.jsonl", "a.csv"):
        with pytest.raises(ArgumentError, match="row 1 of .*got text twice"):
            read_table(tmp_path / name)
    table = pyarrow.Table.from_arrays([pyarrow.array(["a"])] * 2, ["text", "text"])
    with pyarrow.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    with pytest.raises(ArgumentError, match="a.arrow: expected columns of different names, got text twice"):
        read_arrow(tmp_path / "a.arrow", SplitNames())
    with pytest.raises(ArgumentError, match="data: expected columns of different names, got text twice"):
        table_rows(pandas.DataFrame([["a", "b"]], columns=["text", "text"]), "data")
