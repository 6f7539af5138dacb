import csv
import io
import random

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.text.delimited import delimited, number_of
from saccade.tasks.text.lines import read_lines
from tiers import every


def table(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_text(text, newline="")
    return delimited(read_lines(path))


def cells(read):
    return [read[row] for row in range(len(read))]


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
        assert cells(table(tmp_path, written.getvalue())) == [["x", "y", "z"], *rows]


def test_a_quote_between_tabs_is_text(tmp_path):
    text = 'name\tx\n"open\t1\n6"\t2\n"both"\t3\n'
    assert cells(table(tmp_path, text, "a.tsv"))[1:] == [['"open', "1"], ['6"', "2"], ['"both"', "3"]]


def test_names_of_columns_lose_their_quotes(tmp_path):
    assert table(tmp_path, '"x"\t"y"\n1\t2\n', "a.tsv").names == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"a;b;c",d\n1,2\n', ["a;b;c", "d"]),
        ('"a,b,c";d\n1;2\n', ["a,b,c", "d"]),
        ('"a\n,,,b";d\n1;2\n', ["a\n,,,b", "d"]),
        ("sep=;\na,b,c;d\n", ["a,b,c", "d"]),
        ("a\tb\n1,5\t2,5\n", ["a", "b"]),
    ],
)
def test_quoted_marks_do_not_choose_the_delimiter(tmp_path, text, names):
    assert table(tmp_path, text).names == names


def test_an_open_quote_is_named_by_its_own_line(tmp_path):
    for text in ('a,b\n1,2\n3,"x\n', 'a,b\n1,2\n"x,3\n"y",4\n'):
        with pytest.raises(ArgumentError, match=r"a\.csv: line 3: expected a quote that ends the cell"):
            table(tmp_path, text + "y,4\n" * 3000)


def test_a_row_is_named_by_the_line_it_begins_in(tmp_path):
    read = table(tmp_path, 'a,b\n"1\n2\n3",4\n5,6\n')
    assert [read.place(row).rpartition(" ")[2] for row in range(3)] == ["1", "2", "5"]


@pytest.mark.parametrize("before", ["", "\n", " \n\n", "sep=,\n", "\nsep=,\n \n"])
def test_rows_begin_behind_blank_lines_and_the_header(tmp_path, before):
    read = table(tmp_path, f"{before}a,b\n\n1,2\n , \n3,4\n")
    assert [cut for _, cut in read.filled()] == [["1", "2"], ["3", "4"]]
    assert [cut for _, cut in read.filled(headed=False)] == [["a", "b"], ["1", "2"], ["3", "4"]]
    assert [row for row, _ in read.filled()] == [read.first + 2, read.first + 4]


def test_a_cell_may_be_longer_than_csv_allows(tmp_path):
    limit = csv.field_size_limit()
    long = "x" * (limit + 1)
    assert cells(table(tmp_path, f'a,b\n"{long}",1\n'))[1] == [long, "1"]
    assert csv.field_size_limit() == limit


@every("text", ["1_000", "2020_01", "\uff11", "1,5", "0x10", "", "one"])
def test_what_is_no_number(text):
    with pytest.raises(ValueError, match="could not convert"):
        number_of(text)
