"""Functions of the front end agree with those of Python."""

import base64
import random

import numpy as np
import pytest
import torch

from look.explorer.books import HOSTILE, numbers, planes, unpacked
from saccade.look._explorer.pages import exported
from saccade.look._explorer.sheets import TILE, reduced
from saccade.look._figure import BOTH, COLOURS
from saccade.look._labels import shortened, visible


def test_labels_are_those_of_pictures(parts):
    tokens = [token for token in HOSTILE if token] + ["\t\u00a0\u3000\u2028\u200c", "x" * 41, "a" * 40, "\u061c\u2066"]
    tokens += [chr(code) for code in range(0x250)]
    assert parts("(p, tokens) => tokens.map((token) => p.data.visible(token))", tokens) == [
        shortened(visible(token[:160])) for token in tokens
    ]
    assert parts("(p) => p.data.visible('')") == "·"


def test_numbers_have_the_six_digits_of_python(parts):
    values = [0.0, 1.0, -0.25, 1e-30, 123456.7, 1234567.0, 1 / 3, 0.1, 100000.0, 9.9999999]
    values += [random.Random(0).uniform(-1, 1) * 10**power for power in range(-9, 9)]
    for text, value in zip(parts("(p, values) => values.map(p.data.formatted)", values), values, strict=True):
        assert float(text) == float(f"{value:.6g}")
        assert "e" in text or "." not in text or not text.endswith("0")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_are_those_of_pictures_and_ink_is_readable(parts, theme):
    shares = np.linspace(-1, 1, 201).tolist()
    colours = parts("(p, shares, theme) => shares.map((share) => p.colours.colourOf(share, theme))", shares, theme)
    ink = parts("(p, shares, theme) => shares.map((share) => p.colours.inkOn(share, theme))", shares, theme)
    for colour, text in zip(colours, ink, strict=True):
        assert contrast(colour, channels(text)) >= 4.5
    lightness = [luminance(colour) for colour in colours[100:]]
    steps = np.diff(lightness) * (1 if theme == "dark" else -1)
    assert (steps > -1e-6).all(), "each number is drawn stronger than a smaller one"
    if theme == "light":
        stops = np.array([channels(hex_) for hex_ in BOTH])
        at = (np.array(shares) + 1) / 2 * (len(BOTH) - 1)
        expected = np.stack([np.interp(at, range(len(BOTH)), stops[:, channel]) for channel in range(3)], 1)
        assert np.abs(np.array(colours) - expected).max() <= 2 and BOTH[-len(COLOURS) :] == COLOURS


def channels(hex_):
    return [int(hex_[at : at + 2], 16) for at in (1, 3, 5)]


def luminance(colour):
    """WCAG 2.2, relative luminance."""
    parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


BOOK = """(p, manifest, base64, requests, cells) => {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const book = new p.file.FileBook(manifest, new Float32Array(bytes.buffer));
  return requests.map((request) => {
    const { shape, top, low, values } = p.data.parsePiece(book.piece(request));
    const at = cells.map((share) => Math.floor(share * values.length));
    return { shape, top, low, at, values: at.map((index) => String(values[index])) };
  });
}"""


@pytest.mark.parametrize("shape", [(3, 5), (300, 521)])
def test_pieces_of_a_file_are_those_of_python(parts, shape):
    """Random numbers of rows, columns, tiles of all levels, lines and differences."""
    matrices = [torch.rand(shape), torch.rand(shape) * 0.3, torch.randn(shape)]
    made = planes(*matrices, lines={"entropy": lambda m: m.sum(1), "received": lambda m: m.sum(0)})
    manifest, values = unpacked(exported(made))
    draw, requests = random.Random(0), []
    sizes = [tuple(level.shape) for level in reduced(matrices[0])]
    for _ in range(40):
        request = {"sheet": 0, "layer": draw.randrange(3), "head": 0, "example": 0}
        if draw.random() < 0.5:
            request["minus"] = [0, draw.randrange(3), 0]
        level = draw.randrange(len(sizes))
        tile = {
            "level": level,
            **{n: draw.randrange(-(-s // TILE)) for n, s in zip(("row", "column"), sizes[level], strict=True)},
        }
        request |= draw.choice(
            [
                {"piece": "tile", **tile},
                {"piece": "row", "at": draw.randrange(shape[0])},
                {"piece": "column", "at": draw.randrange(shape[1])},
                {"piece": "line", "name": draw.choice(["entropy", "received"])},
            ]
        )
        requests.append(request)
    content = base64.b64encode(values.tobytes()).decode()
    answers = parts(BOOK, manifest, content, requests, [draw.random() for _ in range(40)])
    for request, answer in zip(requests, answers, strict=True):
        about, expected = numbers(made, **request)
        assert answer["shape"] == about["shape"]
        assert np.array_equal(np.array(answer["values"], np.float32), expected.ravel()[answer["at"]])
        assert answer.get("low") == about.get("low")
        assert answer.get("top") == pytest.approx(about.get("top"))


def test_numbers_that_are_not_finite_pass_through_a_file(parts):
    matrix = torch.tensor([[0.25] * 20, [float("inf")] * 20, [0.125, -float("inf"), float("nan"), *[0.25] * 17]])
    made = planes(matrix)
    manifest, values = unpacked(exported(made))
    request = {"sheet": 0, "layer": 0, "head": 0, "example": 0, "piece": "tile", "level": 0, "row": 0, "column": 0}
    [answer] = parts(BOOK, manifest, base64.b64encode(values.tobytes()).decode(), [request], [0.0, 0.4, 0.7, 0.701])
    about, expected = numbers(made, **request)
    assert (answer["top"], answer["low"]) == (about["top"], about["low"]) == (0.25, 0.0)
    assert np.array_equal(np.array(answer["values"], np.float32), expected.ravel()[answer["at"]], equal_nan=True)


@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 1), (12, 12), (1024, 1024), (4096, 4096), (100_000, 3), (3, 100_000)]
)
@pytest.mark.parametrize("ratio", [1, 2])
def test_few_tiles_are_requested_and_no_number_is_between_pixels(parts, rows, columns, ratio):
    script = """(p, rows, columns, ratio, tile) => {
      const view = p.matrix.fitted(rows, columns, 700, 544);
      const sheet = { rows: { length: rows }, columns: { length: columns } };
      const tiles = p.matrix.tilesOf(view, 700, 544, sheet, tile, ratio);
      return { cell: view.cell, level: p.matrix.levelOf(view.cell, ratio, rows, columns, tile), tiles };
    }"""
    answer = parts(script, rows, columns, ratio, TILE)
    levels = reduced(torch.zeros(rows, columns))
    assert answer["level"] < len(levels)
    shape = levels[answer["level"]].shape
    assert answer["cell"] * ratio * 2 ** answer["level"] >= 0.99 or answer["level"] == len(levels) - 1
    assert {(t["row"], t["column"]) for t in answer["tiles"]} == {
        (r, c) for r in range(-(-shape[0] // TILE)) for c in range(-(-shape[1] // TILE))
    }
    assert len(answer["tiles"]) <= (2 * 700 * ratio // TILE + 1) * (2 * 544 * ratio // TILE + 1)


def test_the_cache_of_pieces_is_bounded_and_requests_each_piece_once(parts):
    script = """async (p, limit) => {
      let listener, sent = [];
      const message = (values) => {
        const head = new TextEncoder().encode('{"shape":[256]} ');
        const bytes = new Uint8Array(4 + head.length + values.byteLength);
        new DataView(bytes.buffer).setUint32(0, head.length, true);
        bytes.set(head, 4);
        bytes.set(new Uint8Array(values.buffer), 4 + head.length);
        return new DataView(bytes.buffer);
      };
      const model = {
        get: () => null,
        on: (name, each) => (listener = each),
        send: ({ id, at }) => {
          sent.push(at);
          queueMicrotask(() => listener({ id }, [message(new Float32Array(256).fill(at))]));
        },
      };
      const pieces = new p.data.Pieces(model, limit);
      const most = [];
      for (let at = 0; at < 100; at++) {
        const [one, two] = await Promise.all([pieces.get({ at }), pieces.get({ at })]);
        if (one !== two || one.values[7] !== at) throw new Error("another piece");
        await pieces.get({ at: 0 });
        most.push(pieces.bytes);
      }
      const held = [...pieces.cache.values()].reduce((sum, entry) => sum + entry.bytes, 0);
      return { most: Math.max(...most), bytes: pieces.bytes, held, sent, waiting: pieces.waiting.size,
        kept: Boolean(pieces.arrived({ at: 99 })), gone: pieces.arrived({ at: 1 }) };
    }"""
    answer = parts(script, 10 * 1024)
    assert answer["most"] <= 10 * 1024 and answer["bytes"] == answer["held"] == 10 * 1024
    assert answer["sent"] == list(range(100)), "each piece once, and the piece in use stays"
    assert answer["waiting"] == 0 and answer["kept"] and answer["gone"] is None


def test_a_piece_that_failed_is_requested_again(parts):
    script = """async (p) => {
      let listener, sent = 0;
      const head = new TextEncoder().encode('{"error":"row: expected less"}');
      const bytes = new Uint8Array(4 + head.length);
      new DataView(bytes.buffer).setUint32(0, head.length, true);
      bytes.set(head, 4);
      const send = ({ id }) => (sent++, queueMicrotask(() => listener({ id }, [new DataView(bytes.buffer)])));
      const model = { get: () => null, on: (name, each) => (listener = each), send };
      const pieces = new p.data.Pieces(model);
      const errors = [];
      for (let time = 0; time < 2; time++) await pieces.get({ at: 1 }).catch((error) => errors.push(error.message));
      return { errors, sent };
    }"""
    assert parts(script) == {"errors": ["row: expected less"] * 2, "sent": 2}


@pytest.mark.parametrize(
    "values", [[0.5, 0.25, 1.0], [float("nan"), 0.5, float("inf")], [], [0.0, 0.0], list(range(5000)), [7.0]], ids=len
)
def test_a_line_has_at_most_two_points_a_pixel_and_its_ends(parts, values):
    script = "(p, values) => p.lines.outline(values.map((v) => (v === null ? NaN : v)), 720, 96)"
    answer = parts(script, [value if np.isfinite(value) else None for value in values])
    points = [(x, y) for x, y in answer["points"] if x is not None and y is not None and np.isfinite([x, y]).all()]
    assert len(answer["points"]) <= 2 * 720
    assert all(0 <= x <= 720 and 0 <= y <= 96 for x, y in points)
    if finite := [value for value in values if np.isfinite(value) and value]:
        assert answer["top"] == max(finite) and min(y for _, y in points) == pytest.approx(4)


def test_heads_are_ordered_and_those_without_a_number_are_last(parts):
    order = parts(
        "(p, values) => p.grid.ordered(values).map((each) => [each.layer, each.head])", [[0.5, None], [2.0, -1.0]]
    )
    assert order == [[1, 0], [0, 0], [1, 1], [0, 1]]
    order = parts("(p, values) => p.grid.ordered(values, false).map((each) => each.value)", [[0.5, None], [2.0, -1.0]])
    assert order == [-1.0, 0.5, 2.0, None]
