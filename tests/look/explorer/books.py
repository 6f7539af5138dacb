"""Books of numbers for the tests of the explorer."""

import base64
import gzip
import json
import struct
from html.parser import HTMLParser
from urllib.parse import quote

import numpy as np
import torch

from saccade import AuxOutput, look, nn
from saccade.look import Record, Recording
from saccade.look._explorer.recordings import sheets_of
from saccade.look._explorer.sheets import Book, MatrixIndex, Sheet

HOSTILE = [
    "</script><script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "\u202eright to left",
    "long " * 2000,
    "nul\x00byte",
    "lone \ud800 surrogate",
    "&amp; 'quotes' \"double\"",
    "\n",
    "",
    "بيت",
    "e\u0301" * 30,
    "\U0001f469\u200d\U0001f4bb\ufeff\u200b",
    "]]>\u2028line",
]
"""Tokens that break pages which take text for markup."""


class Encoder(torch.nn.Module):
    """Self attention, layer after layer."""

    def __init__(self, layers=3, heads=4, dim=32):
        super().__init__()
        self.layers = torch.nn.ModuleList(nn.MultiheadAttention(dim, heads) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = x + 3 * layer(x, x, x)
        return x


def encoded(tokens=12, batch=2, layers=3, heads=4, **options):
    """A recording of an encoder with sharp weights."""
    torch.manual_seed(0)
    model = Encoder(layers, heads).eval()
    with torch.no_grad(), look.record(model, **options) as recording:
        model(3 * torch.randn(batch, tokens, 32))
    return recording


def book(recording, rows=None, columns=None, title="A model"):
    """A book of a recording."""
    return Book(title, sheets_of(recording, rows, columns))


def planes(*matrices, lines=(), **options):
    """A book of one sheet whose layers are the matrices."""
    rows, columns = matrices[0].shape
    numbered = [str(number) for number in range(max(rows, columns))]
    along = {name: lambda place, read=read: read(matrices[place.layer]) for name, read in dict(lines).items()}
    names = [f"layer {number}" for number in range(len(matrices))]
    sheet = Sheet(
        "attention", "planes", numbered[:rows], numbered[:columns], lambda place: matrices[place.layer], names,
        lines=along, **options,
    )  # fmt: skip
    return Book("Planes", [sheet])


def calls(*auxiliaries, kind="self", name="read", **options):
    """A recording of calls of one module."""
    return Recording([Record(name, aux, number, kind, **options) for number, aux in enumerate(auxiliaries)])


def weighted(*shape, dtype=torch.float32):
    """An `AuxOutput` of weights that sum to 1."""
    return AuxOutput(weights=torch.randn(shape).softmax(-1).to(dtype))


def numbers(book, **request):
    """What a book answers, by an independent reading of its bytes."""
    about, content = book.piece(request)
    values = np.frombuffer(content, "<f4").reshape(about["shape"])
    return about, values


def opened(message):
    """The JSON and the numbers of a message."""
    [length] = struct.unpack_from("<I", message)
    assert length % 4 == 0
    return json.loads(message[4 : 4 + length]), np.frombuffer(message[4 + length :], "<f4")


def plane(book, sheet=0, **place):
    """The numbers of a matrix, straight from the sheet."""
    return book.sheets[sheet].matrix(MatrixIndex(**place)).float().numpy()


class Tags(HTMLParser):
    """Tags with their attributes, and the texts of scripts and of the title."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.open = [], [], None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open = tag

    def handle_data(self, data):
        if self.open in ("script", "style", "title"):
            self.texts.append((self.open, self.tags[-1][1], data))

    def handle_endtag(self, tag):
        self.open = None


def texts(page, tag):
    return [(attributes, text) for name, attributes, text in Tags(page).texts if name == tag]


def unpacked(page):
    """The manifest and the numbers of an exported page."""
    blocks = {
        about["id"]: gzip.decompress(base64.b64decode(text)) for about, text in texts(page, "script") if "id" in about
    }
    return json.loads(blocks["manifest"]), np.frombuffer(blocks["numbers"], "<f4")


TOKENS = ["the", "cat", "sat", "on", "the", "mat", "and", "ate", "a", "red", "fish", "."]


def hashed(**state):
    """A state as the part of a URL after the address."""
    return "#" + quote(json.dumps(state))


def near(text, value):
    """Whether a page's six digits are those of Python."""
    return float(text) == float(f"{value:.6g}")
