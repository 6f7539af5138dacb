"""The tables of options are those of the dataclasses."""

from typing import Literal, get_args, get_overloads

from saccade import runs
from saccade.cli.catalogue import FILE
from saccade.tasks import TASKS
from scripts import script

tool = script("tools/write_options.py")


def test_the_catalogue_is_current():
    assert FILE.read_text(encoding="utf-8") == tool.catalogue(), "run python tools/write_options.py"


def test_the_keywords_are_current():
    assert tool.KEYWORDS.read_text(encoding="utf-8") == tool.keywords(), "run python tools/write_options.py"


def test_a_union_has_each_part_once_and_none_last():
    options = [int | None, Literal["a", "b"], Literal["b", "c"] | None, int, bool]
    assert tool.annotation(options) == 'int | bool | Literal["a", "b", "c"] | None'


def test_an_editor_has_the_keywords_of_every_task():
    *tasks, others = get_overloads(runs.train)
    typed = {get_args(overload.__annotations__["task"])[0]: overload.__annotations__["more"] for overload in tasks}
    assert typed == {name: f"Unpack[keywords.{name.title().replace('-', '')}]" for name in TASKS}
    assert all(f"class {text.partition('.')[2][:-1]}(" in tool.keywords() for text in typed.values())
    assert others.__annotations__["task"] is str
