import pytest
import torch

from saccade import runs
from saccade.tasks.glimpse import GLIMPSE
from saccade.tasks.memorize import MEMORIZE, problem
from saccade.tasks.translate import TRANSLATE, codec
from studies.frame import reread
from studies.frame.options import Seeded
from studies.frame.reread import GATES, PIXELS, SIZES, WAYS, WRITTEN
from studies.frame.seeds import pack, unpack
from studies.memory_or_attention import (
    BLIND,
    LSTM,
    NTM,
    STUDY,
    TILES,
    TRANSLATOR,
    WIDE,
    Findings,
    Options,
    _variants,
)
from study_rows import complete, described, drawn
from tiers import every

EXAMPLES = 40
RIGHT = {
    NTM: {"all": 1.0, "1": 1.0, "next": 0.0, "even": 0.0},
    WIDE: {"all": 1.0, "1": 0.5, "next": 0.0, "even": 0.0},
    TRANSLATOR: {"all": 1.0, "1": 0.3, "next": 0.7, "even": 0.7},
}


def answers(share):
    count = round(share * EXAMPLES)
    bits = [True] * count + [False] * (EXAMPLES - count)
    return {"right": pack(bits, "bits"), "examples": EXAMPLES, "bit_error": 1 - share}


def shares(mean, numbers):
    return pack((mean + 0.01 * torch.randn(EXAMPLES, generator=numbers)).clamp(0, 1).tolist(), "shares")


def made_up(seeds=3, eye=0.9, blind=0.5, learned=1.0, neighbour=0.7):
    """A report of models with changed reads."""

    def columns(name, _, numbers):
        if name in RIGHT:
            right = {way: RIGHT[name].get(way, 1.0) for way in WAYS}
            right |= {"all": learned} | ({"next": neighbour} if name == TRANSLATOR else {})
            return {
                "cells": 20,
                "reads": {way: answers(share) for way, share in right.items()},
                "sizes": {str(count): answers(learned) for count in SIZES},
                "written": {way: answers(learned if "mark" in way or "all" in way else 0.0) for way in WRITTEN},
                "shares": {when: shares(0.9 if name == TRANSLATOR else 0.4, numbers) for when in ("before", "after")},
                "lengths": {str(count): answers(learned) for count in (10, 20, 40, 60)},
            }
        if name == LSTM:
            gates = dict(zip(GATES, (0.1, 0.15, 0.4, 0.4, 0.12, 0.4), strict=True))
            lengths = {str(count): answers(0.1) for count in (10, 20, 40, 60)}
            return {"lengths": lengths, "gates": {way: shares(share, numbers) for way, share in gates.items()}}
        return {"moved": {str(n): answers((eye if name == TILES else blind) - n / 20) for n in PIXELS}}

    models = (NTM, WIDE, LSTM, TRANSLATOR, TILES, BLIND)
    return drawn("copy, dates, digits", dict.fromkeys(models), columns, seeds)


@every(
    ("changed", "result"),
    [
        ({}, "reproduced"),
        ({"seeds": 1}, "not decided"),
        ({"blind": 0.9}, "not decided"),
        ({"blind": 1.0, "eye": 0.8}, "contradicted"),
        ({"neighbour": 0.0}, "not decided"),
        ({"learned": 0.4}, "not decided"),
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_losses_are_those_of_the_same_models():
    findings = Findings(made_up())
    numbers = findings.numbers()
    lost = {text[0]: round(number.value, 3) for text, number in numbers.items() if text.startswith(("5", "6"))}
    assert lost == {"5": 0.4, "6": 0.7}
    cell, position = (number.value for text, number in numbers.items() if text.startswith("4"))
    assert (cell, position) == (pytest.approx(1.0 - 0.05), pytest.approx(1.0 - 0.3))
    assert numbers["1. with one read head an NTM has at most 2 in 100 fewer right than with four"].value == 0.0
    assert findings.needed(NTM) == "5.0 ± 0.0" and findings.needed(TRANSLATOR) == "10.0 ± 0.0"


def test_models_that_learned_little_are_named():
    reason = Findings(made_up(learned=0.4)).verdict.reason
    assert reason.startswith("nothing can be concluded: ") and "ntm 40.0%, rnnsearch 40.0%; train" in reason


def test_the_page_is_complete(tmp_path):
    words = ["Solberg 2018", "**reproduced**", "| ntm | 20 |", "## Gates of an LSTM", "over seeds and examples"]
    words += [
        "| ntm, 4 read heads | 20 |",
        "with one read head an NTM has at most 2 in 100 fewer right than with four | +0.00 ± 0.00 |",
    ]
    words += ["| tiles | 90.00 ± 0.00 | 85.00 ± 0.00 |", "| never |", "7 pixels beside"]
    complete(STUDY, made_up(), tmp_path, words, "memory-or-attention")
    assert "rnnsearch: 30 at 1" in described(tmp_path / "memory-or-attention.svg")["desc"]


def test_models_have_their_recipes_with_steps_of_one_budget():
    for data, steps in (("copy", 1200), ("dates", 300), ("digits", 400)):
        for variant in _variants(Seeded(data=data)):
            assert variant.values["max_steps"] == variant.values["validation_steps"] == steps
        assert all(variant.values.get("max_steps", 5) == 5 for variant in _variants(Seeded(data=data, max_steps=5)))
        assert not any("max_steps" in variant.values for variant in _variants(Seeded(data=data, max_minutes=1.0)))
    assert Options(quick=True).seeds == 3  # of which one is trained


@pytest.fixture
def few(monkeypatch):
    """Ten questions of a split, and little to learn a vocabulary of."""
    monkeypatch.setattr(problem, "HELD_OUT", 10)
    monkeypatch.setattr("saccade.tasks.memorize.task._ENDLESS", 20)
    monkeypatch.setattr(codec, "_ENDLESS", 200)
    monkeypatch.setattr(reread, "SIZES", (30,))


def test_an_untrained_memory_has_a_row(few):
    small = {"longest": 10, "hidden_dim": 6, "cells": 12, "cell_dim": 4}
    task = MEMORIZE.prepare(runs.options(MEMORIZE, "copy", "ntm", small))
    row = reread.memorized(task, task.build(), 1)
    assert row["reads"]["all"] == row["written"]["at all steps"] and list(row["sizes"]) == ["30"]
    assert [*row["reads"]] == [*WAYS] and [*row["written"]] == [*WRITTEN] and row["reads"]["all"]["examples"] == 2
    assert all(1 / 12 <= share <= 1.001 for share in unpack(row["shares"]["before"], "shares"))


def test_an_untrained_lstm_has_a_row(few):
    task = MEMORIZE.prepare(runs.options(MEMORIZE, "copy", "lstm", {"longest": 10, "hidden_dim": 6}))
    row = reread.memorized(task, task.build(), 1)
    assert {*row} == {"lengths", "gates"}
    whole = unpack(row["gates"]["as it is"], "shares")
    assert sum(whole) / len(whole) == pytest.approx(row["lengths"]["10"]["bit_error"], abs=1e-3)


def test_an_untrained_translator_has_a_row(few, monkeypatch):
    monkeypatch.setattr(reread, "_SENTENCES", 5)
    small = {"hidden_dim": 8, "embedding_dim": 6}
    task = TRANSLATE.prepare(runs.options(TRANSLATE, "dates", "rnnsearch", small))
    row = reread.translated(task, task.build(), 1)
    assert row["reads"]["all"]["examples"] == 5 and list(row["sizes"]) == ["30"] and row["cells"] > 8


def test_an_untrained_eye_has_a_row(few_digits):
    small = {"hidden_dim": 8, "glimpse_dim": 8, "key_dim": 4, "glimpses": 2, "patch": 7}
    task = GLIMPSE.prepare(runs.options(GLIMPSE, "digits", "tiles", small))
    row = reread.looked(task, task.build(), 1, task.data)
    assert [*row["moved"]] == [str(count) for count in PIXELS] and row["moved"]["0"]["examples"] == 30
