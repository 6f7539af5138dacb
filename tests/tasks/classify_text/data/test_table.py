import gzip

import pytest

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data.table import open_table, scan


def read(path):
    found = scan(open_table(path), SplitNames())
    return [found.table[int(row)] for row in found.kept], found.note


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


TWO = [("a good film", "yes"), ("bad", "very bad")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "a good film\tyes\nbad\tvery  bad\n"),
        ("a.txt", "a good film\tyes\nbad\tvery bad\n"),
        ("a.tsv", "text\tlabel\na good film\tyes\nbad\tvery bad\n"),
        ("a.tsv", "\n \ntext\tlabel\na good film\tyes\nbad\tvery bad\n"),
        ("a.txt", "\nlabel\ttext\nyes\ta good film\nvery bad\tbad\n"),
        ("a.tsv", "id\tLabel\tsentence\n1\tyes\ta good film\n2\tvery bad\tbad\n"),
        ("a.csv", "label,text\nyes,a good film\nvery bad,bad\n"),
        ("a.csv", '"text","label"\r\n"a good film","yes"\r\n"bad","very bad"\r\n'),
        ("a.csv", "text;label\na good film;yes\nbad;very bad\n"),
        ("a.csv.gz", gzip.compress(b"text,label\na good film,yes\nbad,very bad")),
        ("A.CSV", "\ufeffText,Label\na good film,yes\nbad,very bad\n"),
    ],
)
def test_forms_of_the_same_two_rows(tmp_path, name, content):
    assert read(write(tmp_path / name, content)) == (TWO, "")


@pytest.mark.parametrize("name", ["x.train", "x.all", "x.test.gz", "x"])
def test_a_label_and_a_text(tmp_path, name):
    content = b"1 a good film\n0 bad , very\n"
    path = write(tmp_path / name, gzip.compress(content) if name.endswith(".gz") else content)
    assert read(path)[0] == [("a good film", "1"), ("bad , very", "0")]


def test_line_breaks_commas_and_quotes_in_a_csv_file(tmp_path):
    content = 'text,label\n"one\ntwo, ""three""",a\nfour,b\n"",c\nfive\n'
    path = write(tmp_path / "a.csv", content)
    with pytest.raises(ArgumentError, match=r"a\.csv: line 6: expected 2 columns or more, as the header says, got 1"):
        read(path)
    found, note = read(write(path, content.replace("five\n", "five,a\n")))
    assert found == [('one\ntwo, "three"', "a"), ("four", "b"), ("five", "a")]
    assert note.endswith("left out 1 of 4 rows, which have a blank text; the first is line 5")


def test_a_quote_within_a_cell_opens_nothing(tmp_path):
    rows = [(f'film {n} is {n}" long', "a") if n % 3 else (f'he said "{n}"', "b") for n in range(20)]
    content = "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows)
    assert read(write(tmp_path / "a.csv", content))[0] == rows


def test_a_header_may_have_line_breaks_between_quotes(tmp_path):
    with pytest.raises(ArgumentError, match=r"a\.csv: line 1: expected a header"):
        read(write(tmp_path / "b.a.csv", "te\rxt,label\nx,1\n"))
    assert read(write(tmp_path / "c.csv", 'text,label,"more\nof it"\nx,1,2\n'))[0] == [("x", "1")]


def test_latin_1_is_read_and_said(tmp_path):
    found, note = read(write(tmp_path / "a.all", b"1 caf\xe9\n0 b\n"))
    assert found[0] == ("café", "1") and note.endswith("a.all: it is no UTF-8, and was read as Latin-1")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tsv", "", "expected a sentence a line, got an empty file"),
        ("a.tsv", "a\tb\nno tab\n", "line 2: expected a text, a tab and a label, or a header .*, got no tab"),
        ("a.tsv", "a\tb\tc\n", "line 1: expected a text, a tab and a label, .*, got 3 columns"),
        ("a.tsv", "a\tb\nc\t \n", "line 2: expected a label beside the text, got none"),
        ("a.tsv", "text\tlabel\n", "expected rows below the header, got none"),
        ("a.csv", "review,stars\nx,1\n", "line 1: expected a header that names text and label, got 'review,stars'"),
        ("a.csv", "text\nx\n", "line 1: expected a header that names text and label, got 'text'"),
        ("a.csv", 'text,label\nx,1\n"y,2\nz,3\n', "line 3: expected a quote that ends the cell"),
        ("a.tsv", "\n \n", "left out 2 of 2 rows, which have a blank text: an empty corpus"),
        ("a.all", b"\x00\x01\xff\xfe", "expected text in UTF-8 or Latin-1, got byte 0x00"),
        ("a.all", b"PK\x03\x04\x14\xff", "expected text in UTF-8 or Latin-1, got byte 0x03"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_file(tmp_path, name, content, words):
    with pytest.raises(ArgumentError, match=words) as error:
        read(write(tmp_path / name, content))
    assert str(tmp_path / name) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "text,label\ngood,yes\ngood, not bad,yes\n", "line 3: expected 2 columns, .* got 3; put a text"),
        ("a.tsv", "text\tlabel\ngood\tyes\ngood\tnot\tyes\n", "line 3: expected 2 columns, .* got 3; put a text"),
        ("a.csv", "text,label,label\na,b,c\n", "line 1: expected one column label, got label and label; rename"),
        ("a.tsv", "\n\ntext\tlabel\na\n", "line 4: expected 2 columns or more, as the header says, got 1"),
        ("a.tsv", "\nsentence\ttext\tlabel\na\tb\tc\n", "line 2: expected one column text or sentence, got sentence"),
        ("a.tsv", "sentence\ttext\tlabel\na\tb\tc\n", "line 1: expected one column text or sentence, got sentence"),
    ],
)
def test_missing_and_repeated_columns_are_refused(tmp_path, name, content, words):
    with pytest.raises(ArgumentError, match=words):
        read(write(tmp_path / name, content))
