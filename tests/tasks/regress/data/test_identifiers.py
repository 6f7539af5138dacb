"""Columns that name or number rows: left out with a note, unless an option names them."""

import pytest

from saccade.data.objects import OBJECTS
from saccade.tasks.regress.data import open_numbers
from saccade.tasks.regress.data.identifiers import find_identifiers
from saccade.tasks.regress.data.rows import Choice
from tiers import every

SHUFFLED = [(7 * n) % 31 for n in range(30)]


@every(
    ("name", "cells", "kind"),
    [
        ("id", SHUFFLED, "left out"),
        ("customerID", [str(n) for n in SHUFFLED], "left out"),
        ("Loan_ID", [f"LP{n:04}" for n in range(30)], "left out"),
        ("rownames", SHUFFLED, "left out"),
        ("Serial No.", range(1, 31), "left out"),
        ("#", range(30), "left out"),
        ("store_id", [n % 4 for n in range(30)], "kept"),
        ("id", [*SHUFFLED[:29], None], "kept"),
        ("price index", [n / 7 for n in SHUFFLED], "kept"),
        ("No", SHUFFLED, "kept"),
        ("humidity", SHUFFLED, "kept"),
        ("month", range(1, 31), "noted"),
        ("month", range(1, 9), "kept"),
    ],
)
def test_names_and_cells_decide(name, cells, kind):
    expected = {"left out": ([name], []), "kept": ([], []), "noted": ([], [name])}
    assert find_identifiers({name: list(cells)}) == expected[kind]


def rows(count=30):
    return [{"Id": 100 - n, "t": n, "rooms": n % 5, "price": 3 * n} for n in range(count)]


@pytest.mark.parametrize("sets", [False, True])
def test_an_identifier_is_left_out_with_a_note(sets):
    data = open_numbers(OBJECTS, rows(), choice=Choice(sets=sets))
    assert all(len(data.example("train", n).numbers) == 2 for n in range(data.size("train")))
    assert (
        'data: left out the column Id, which only names the rows; --features "Id,t,rooms" uses it; '
        'column t counts the rows; --features="-t" leaves it out' in data.note
    )


def test_an_option_decides_on_identifiers():
    named = open_numbers(OBJECTS, rows(), choice=Choice(features="Id,rooms"))
    assert named.features == ("Id", "rooms") and "Id" not in named.note
    less = open_numbers(OBJECTS, rows(), choice=Choice(features="-t"))
    assert less.features == ("rooms",) and "left out the column Id" in less.note


def test_the_only_feature_is_kept():
    data = open_numbers(OBJECTS, [{"id": n, "y": 2 * n} for n in range(30)])
    assert data.features == ("id",) and data.note.startswith("held out")
