"""Sheets of pictures: the numbers behind what `saccade look` draws."""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import groupby, takewhile
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saccade.look._explorer.sheets import MatrixIndex, Sheet
from saccade.look._figure import Picture

_LOUD = (2, 98)  # percentiles of a spectrum that are black and white


def sheets_of_pictures(pictures: Iterable[Picture], name: str = "") -> list[Sheet]:
    """Return the sheets of pictures.

    Matrices of one kind over the same rows and columns are layers of one sheet.

    Args:
        pictures: collected ones, with their numbers.
        name: of the input, before the titles.
    """
    sheets = [sheet for picture in pictures for sheet in _KINDS[picture.kind](picture)]
    groups = (list(group) for _, group in groupby(sheets, lambda s: (s.kind, *s.rows, None, *s.columns)))
    merged = [sheet for group in groups for sheet in (_layers(group) if group[0].kind in _LAYERED else group)]
    return [replace(sheet, title=_titled(name, sheet.title)) for sheet in merged]


def _titled(name: str, title: str) -> str:
    return f"{name}: {title}" if name and not title.startswith(name) else title


def _layers(sheets: Sequence[Sheet]) -> list[Sheet]:
    """Return sheets as the layers of one, named by the ends of their titles."""
    if len(sheets) == 1:
        return list(sheets)
    names = [str(sheet.extra["name"]) for sheet in sheets]
    common = common_words(names)
    layers = [name.removeprefix(common) or str(number) for number, name in enumerate(names)]
    read = [sheet.matrix for sheet in sheets]
    assert all(read)
    title = common.rstrip(" ,:").removesuffix(" of") or sheets[0].title
    return [replace(sheets[0], title=title, layers=layers, matrix=lambda at: read[at.layer](at))]  # type: ignore[misc]


def common_words(texts: Sequence[str]) -> str:
    """Return the words that texts begin with, up to the last space.

    >>> common_words(["Source, experts of layer 1", "Source, experts of layer 2"])
    'Source, experts of layer '
    """
    equal = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    common = "".join(letters[0] for letters in equal)
    return common[: common.rfind(" ") + 1]


def _fixed(values: Any) -> Callable[[MatrixIndex], Tensor]:
    """Return the matrix of a sheet with one."""
    matrix = torch.as_tensor(values)
    return lambda at: matrix


def _alignment(picture: Picture) -> list[Sheet]:
    behind, more = picture.behind, picture.more
    kind = "experts" if more["verb"] == "goes to" else "attention"
    extra = {"name": more["name"], "axes": list(more["axes"]), "verb": more["verb"], "scale": more["scale"]}
    return [Sheet(kind, picture.title, behind["rows"], behind["columns"], _fixed(behind["values"]), extra=extra)]


def _words(picture: Picture) -> list[Sheet]:
    behind = picture.behind
    count = len(behind["values"])
    rows = behind["rows"] or ([""] if count == 1 else [str(number) for number in range(1, 1 + count)])
    extra = {"scale": picture.more["scale"], "even": behind["even_share"]}
    return [Sheet("words", picture.title, rows, behind["columns"], _fixed(behind["values"]), extra=extra)]


def _maps(picture: Picture) -> list[Sheet]:
    """A sheet with the cells of an image, and a head for each map, or of words alone."""
    behind, more = picture.behind, picture.more
    extra: dict[str, Any] = {
        "image": _png(more["image"]),
        "size": [more["image"].shape[1], more["image"].shape[0]],
        "scale": more["scale"],
        "question": behind.get("tokens", []),
        "words": more["words"],
        "answers": [{"answer": answer, "probability": share} for answer, share in more["answers"]],
    }
    maps = torch.as_tensor(behind["values"])
    if maps.ndim == 2:
        return [Sheet("words", picture.title, behind["rows"], behind["columns"], _fixed(maps), extra=extra)]
    extra |= {
        "captions": behind["rows"],
        "marks": behind["marks"],
        "boxes": more["frames"],
        "even": more["even"],
        "top": behind["darkest"],
    }
    rows, columns = ([str(number) for number in range(1, 1 + count)] for count in maps.shape[1:])
    return [Sheet("maps", picture.title, rows, columns, lambda at: maps[at.head], heads=len(maps), extra=extra)]


def _path(picture: Picture) -> list[Sheet]:
    behind, more = picture.behind, picture.more
    patches: Tensor = more["patches"]  # (glimpses, scales, channels, size, size)
    strip = patches.permute(0, 3, 1, 4, 2).flatten(2, 3).flatten(0, 1)
    extra = {
        "image": _png(more["image"]),
        "size": [more["image"].shape[1], more["image"].shape[0]],
        "patches": _png(strip.expand(-1, -1, 3)),
        "location": behind["location"],
        "boxes": more["boxes"],
        "said": {str(number): symbol for number, symbol in more["said"].items()},
    }
    return [Sheet("path", picture.title, behind["rows"], behind["columns"], _fixed(behind["values"]), extra=extra)]


def _bands(picture: Picture) -> list[Sheet]:
    """A sheet of all bands over the steps, and one of each band of cells by cells."""
    panels = [panel for panel in picture.more["panels"] if not panel[0].square]
    values, bands, first = torch.cat([part for *_, part in panels]), list[dict[str, Any]](), 0
    for band, rows, part in panels:
        low, top = band.ends(part)
        bands.append({"name": band.name, "from": first, "to": first + len(rows), "low": low, "top": top})
        first += len(rows)
    steps = picture.behind["columns"] or [str(number) for number in range(1, 1 + values.shape[1])]
    sheet = Sheet("bands", picture.title, picture.behind["rows"], steps, _fixed(values), extra={"bands": bands})
    return [sheet, *(_square(picture, *panel) for panel in picture.more["panels"] if panel[0].square)]


def _square(picture: Picture, band: Any, cells: Sequence[int], values: Tensor) -> Sheet:
    names = [f"cell {cell}" for cell in cells]
    extra = {"name": band.name, "axes": ["cell written right before →", "cell ↓"], "verb": "was written after"}
    return Sheet("attention", f"{picture.title}: {band.name}", names, names, _fixed(values), extra=extra)


def _sound(picture: Picture) -> list[Sheet]:
    behind, frames = picture.behind, picture.more["frames"].numpy()
    values, start, step = behind["values"], behind["start_seconds"], behind["step_seconds"]
    low, high = np.percentile(frames, _LOUD)
    grey = torch.from_numpy((frames.T[::-1] - low) / max(high - low, 1e-12)).clamp(0, 1)  # high frequencies above
    extra = {
        "image": _png(grey[..., None].expand(-1, -1, 3)),
        "start": start,
        "seconds": behind["seconds"],
        "step": step,
        "scale": picture.more["scale"],
    }
    columns = [f"{start + number * step:.2f} s" for number in range(values.shape[1])]
    return [Sheet("sound", picture.title, behind["rows"], columns, _fixed(values), extra=extra)]


def _bars(picture: Picture) -> list[Sheet]:
    """A sheet with a row for each name and a column for each series."""
    behind = picture.behind
    values = torch.tensor([[np.nan if value is None else value for value in row] for row in behind["values"]]).T
    extra = {"label": picture.more["label"], "errors": behind["errors"]}
    return [
        Sheet("bars", picture.title, behind["columns"], behind["rows"], _fixed(values), note=picture.note, extra=extra)
    ]


def _curves(picture: Picture) -> list[Sheet]:
    """A sheet with a row for each line and a column for each x of any line."""
    lines, labels = picture.more["lines"], picture.more["labels"]
    positions = sorted({float(x) for line in lines for x in line.x})
    values = torch.full((len(lines), len(positions)), torch.nan, dtype=torch.float64)
    for row, line in enumerate(lines):
        values[row, [positions.index(x) for x in line.x]] = torch.as_tensor(line.y, dtype=torch.float64)
    log = "x" in picture.more["log"]
    extra = {"x": positions, "labels": list(labels), "mark": picture.behind["mark"], "log": log}
    names = [f"{x:.6g}" for x in positions]
    return [
        Sheet("curve", picture.title, picture.behind["rows"], names, _fixed(values), note=picture.note, extra=extra)
    ]


def _fit(picture: Picture) -> list[Sheet]:
    more, predicted = picture.more, picture.more["prediction"]
    parts = {name: None if more[name] is None else more[name].tolist() for name in ("x", "points", "weights", "slope")}
    extra = {
        **parts,
        "labels": list(more["labels"]),
        "predicted": [predicted.x, predicted.mean, predicted.lower, predicted.upper],
    }
    names = [f"{x:.6g}" for x in more["x"].tolist()]
    return [Sheet("curve", picture.title, picture.behind["rows"], names, _fixed(more["values"]), extra=extra)]


def _png(pixels: Tensor) -> str:
    """Return pixels `(height, width, 3)` in [0, 1] as the data URL of a PNG."""
    from PIL import Image

    file = BytesIO()
    Image.fromarray((pixels * 255).round().to(torch.uint8).contiguous().numpy()).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


_LAYERED = ("attention", "experts")
_KINDS: Mapping[str, Callable[[Picture], list[Sheet]]] = {
    "Alignment": _alignment,
    "Words by their numbers": _words,
    "Maps over an image": _maps,
    "The path of an eye": _path,
    "A memory, step by step": _bands,
    "Attention to sound": _sound,
    "Dots": _bars,
    "Bars": _bars,
    "Curves": _curves,
    "A fitted curve": _fit,
}
