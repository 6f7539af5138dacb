"""The widget of a notebook answers as a server does."""

import json
import struct

import pytest
import torch

from saccade import AuxOutput
from saccade.errors import ArgumentTypeError
from saccade.look import Explorer, Record, Recording
from saccade.look._explorer.sheets import Sheet

anywidget = pytest.importorskip("anywidget")


class Reader:
    """A run of one sheet, whose rows are the letters of its input."""

    def __init__(self, reads_texts=True):
        self.reads_texts = reads_texts

    def sheets(self, inputs=None):
        [text] = inputs or ["ab"]
        matrix = torch.eye(len(text))
        return [Sheet("attention", text, list(text), list(text), lambda index: matrix)]


def ask(widget, **request):
    """Send a message of the page, and return the JSON and the bytes of the answer."""
    sent = []
    widget.send = lambda content, buffers: sent.append((content, buffers))
    widget._handle_custom_msg({"id": 7, **request}, [])
    [(content, [buffer])] = sent
    assert content == {"id": 7}
    [length] = struct.unpack("<I", buffer[:4])
    return json.loads(buffer[4 : 4 + length]), buffer[4 + length :]


def test_a_widget_answers_pieces_and_saves_its_page():
    weights = torch.rand(1, 2, 3, 3)
    explorer = Explorer(Recording([Record("read", AuxOutput(weights=weights), 0, "self")]), rows=["le", "chat", "dort"])
    about, content = ask(explorer.widget, piece="row", sheet=0, layer=0, head=1, example=0, at=2)
    assert about["shape"] == [3] and content == weights[0, 1, 2].numpy().tobytes()
    about, content = ask(explorer.widget, piece="page")
    assert about["name"] == "Attention.html" and content.startswith(b"<!doctype html>")


def test_a_run_in_a_widget_reads_texts():
    widget = Explorer({"one": Reader(), "files": Reader(reads_texts=False)}).widget
    assert widget.manifest["live"] and len(widget.manifest["sheets"]) == 2
    about, _ = ask(widget, piece="live", text="word")
    assert [sheet["title"] for sheet in about["manifest"]["sheets"]] == ["one: ab", "files: ab", "one: word"]
    about, _ = ask(widget, piece="live", text=" ")
    assert about["error"] == "text: expected a text, got none. Type one"


def test_a_widget_without_texts_says_so():
    widget = Explorer(Reader(reads_texts=False)).widget
    assert not widget.manifest["live"]
    about, _ = ask(widget, piece="live", text="word")
    assert about["error"].startswith("live: expected a run that reads texts")


def test_a_source_without_sheets_is_an_error():
    with pytest.raises(ArgumentTypeError, match="source: expected a recording"):
        Explorer([1])


def test_a_file_is_never_overwritten(tmp_path):
    explorer = Explorer(Reader())
    path = explorer.save(tmp_path / "page.html")
    with pytest.raises(FileExistsError):
        explorer.save(path)
