"""The tables of options are those of the dataclasses."""

import ast
from typing import Literal

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
    stub = ast.parse(tool.keywords())
    train = next(node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == "Train")
    typed = {ast.unparse(call.args.args[1].annotation): ast.unparse(call.args.kwarg.annotation) for call in train.body}
    names = {name: name.title().replace("-", "") for name in TASKS}
    assert typed == {f"Literal[{name!r}]": f"Unpack[{keys}]" for name, keys in names.items()} | {"str": "Any"}
    assert set(names.values()) <= {node.name for node in stub.body if isinstance(node, ast.ClassDef)}


def test_a_new_task_needs_no_other_edit_for_its_keywords():
    text = tool.overloads(["tag-words"])
    assert '    def __call__(self, task: Literal["tag-words"], **more: Unpack[TagWords]) -> Run: ...\n' in text
