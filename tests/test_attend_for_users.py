"""Calls of other libraries on a page equal ours beside them."""

import re
import sys
from functools import cache
from types import ModuleType

import pytest
import torch
from torch.nn.attention import flex_attention as flex

from commands import ROOT
from scripts import script

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
TEXT = (ROOT / "docs/attend-for-users.md").read_text(encoding="utf-8")
ROWS = [
    (section.partition("\n")[0], *row)
    for section in TEXT.split("\n## ")[1:]
    for row in re.findall(r"^\| `(.+?)` \| `(.+?)` \| .*\|$", section, flags=re.M)
]
COMPARED = [
    pytest.param(*row, marks=pytest.mark.slow if row[0] == "FlexAttention" else [])
    for row in ROWS
    if row[0] != "bertviz"
]


def names_of(library):
    if library == "FlexAttention":
        return {**vars(flex), "FlexAux": flex.AuxRequest}
    return vars(pytest.importorskip({"entmax": "entmax", "x-transformers": "x_transformers.attend"}[library]))


@cache
def variables():
    torch.manual_seed(0)
    return script("tools/run_blocks.py").run(TEXT, "page")[1]


def test_every_library_has_rows():
    assert [library for library, *_ in ROWS] == sorted((library for library, *_ in ROWS), key=TEXT.index)
    assert len(ROWS) == len(re.findall(r"^\| `", TEXT, flags=re.M)) == 25


@pytest.mark.parametrize(("library", "theirs", "ours"), COMPARED)
def test_both_calls_are_equal(library, theirs, ours, monkeypatch):
    here = variables()
    tensors = {name: here[name] for name in ("q", "k", "v", "s", "slopes", "alpha", "allowed")}
    there = ModuleType("there")  # FlexAttention's compiler looks functions up by their module
    vars(there).update({**names_of(library), **tensors, "torch": torch, "__name__": "there"})
    monkeypatch.setitem(sys.modules, "there", there)
    assert torch.allclose(eval(ours, here), eval(theirs, vars(there)), atol=1e-5)


@pytest.mark.parametrize("ours", [ours for library, _, ours in ROWS if library == "bertviz"])
def test_our_pictures_are_drawn(ours, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert all(path.exists() for path in eval(ours, variables()))
