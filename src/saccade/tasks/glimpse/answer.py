"""Labels of an image, and the path of glimpses, as lines, JSON and pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade import look, reads
from saccade.errors import ArgumentError
from saccade.look._files import file_name
from saccade.look._glimpses import MOST_GLIMPSES
from saccade.models.policies import Grid
from saccade.models.ram import Path
from saccade.models.strings import symbol_logits
from saccade.tasks.glimpse.eyes import most_glimpses, numbers_of
from saccade.tasks.glimpse.spelling import Spelling, Strings
from saccade.tasks.image import maps
from saccade.tasks.image.dataset import pixels
from saccade.tasks.image.images import Pixels
from saccade.tasks.image.maps import LookRequest, Maps, draw_maps, maps_of
from saccade.tasks.labels.ranked import Ranked
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.train.task import Form, Unreadable

__all__ = ["EyeAnswer", "Seen", "answers", "methods_of", "sides_of"]


class Seen(NamedTuple):
    """A path over an image, with the probabilities of classes after each glimpse.

    Locations `(glimpses, 2)` are from −1 to 1.
    """

    location: Tensor
    probabilities: Tensor
    share: float
    """Share of the image's pixels in the sharp patches."""


@dataclass(frozen=True, repr=False)
class EyeAnswer(Ranked):
    """Labels of an image.

    Args:
        image: the image.
        ranking: its classes, or strings of symbols. None for an unreadable image.
        count: number of labels to list.
        seen: the first path, or None for a model without glimpses.
        sides: pixels of the side of each scale.
        maps: probabilities of cells, or gradients of a model without a path.
    """

    image: Pixels | Unreadable
    ranking: Ranking | Strings | None
    count: int
    seen: Seen | None = None
    sides: tuple[int, ...] = ()
    maps: Maps | None = None

    @property
    def said(self) -> dict[int, str]:
        """Symbols of the most probable string by the index of the glimpse before each.

        It is empty if labels are classes.
        """
        if self.seen is None or not isinstance(self.ranking, Strings):
            return {}
        symbols = self.ranking.said
        count = len(self.seen.location) // len(symbols)
        return {count * (number + 1) - 1: symbol for number, symbol in enumerate(symbols)}

    def to_json(self) -> dict[str, Any]:
        """Return the image's name and labels, the path with its symbols, and its share."""
        name = self.image.line if isinstance(self.image, Unreadable) else self.image.name
        content = self.ranked
        if self.seen is not None and isinstance(self.image, Pixels):
            content["path"] = [[round(number, 4) for number in point] for point in self.seen.location.tolist()]
            if self.said:
                content["said"] = [{"glimpse": index + 1, "symbol": symbol} for index, symbol in self.said.items()]
            content["seen"] = round(self.seen.share, 4)
        return {"file": name, **content}

    def draw(self, folder: FilePath, *, json: bool = False) -> Iterator[FilePath]:
        """Draw the path over the image, its glimpses and probabilities, and the maps."""
        if self.ranking is None or isinstance(self.image, Unreadable):
            return
        if self.seen is not None and len(self.seen.location) > MOST_GLIMPSES:
            got = f"{len(self.seen.location)}; `saccade predict --json` writes their places"
            raise ArgumentError(f"--glimpses: expected at most {MOST_GLIMPSES} to be drawn, got {got}")
        if self.maps is not None:
            yield from draw_maps(self.image, self.ranking.title, self.maps, folder, json=json)
        if self.seen is None:
            return
        name = "image" if self.image.name == "-" else FilePath(self.image.name).stem
        yield from look.glimpses(
            self.image.image,
            self.seen.location,
            self.sides,
            folder / f"{file_name(name)}-path",
            probabilities=self.seen.probabilities,
            labels=self.ranking.labels,
            title=f"{self.ranking.title}: where the eye went",
            said=self.said,
            json=json,
        )


def sides_of(model: Any) -> tuple[int, ...]:
    """Return the pixels of the side of each scale of a glimpse, () without glimpses."""
    retina = getattr(getattr(model, "glimpse", None), "retina", None)
    return () if retina is None else tuple(retina.size << scale for scale in range(retina.scales))


def methods_of(model: Any, labels: Spelling) -> list[str]:
    """Return the names of the methods of a model.

    Pictures of glimpses are those of attention.
    """
    if sides_of(model):
        return ["attention"]
    return [] if labels.strings else maps.methods_of(model)


def seen_share(location: Tensor, sides: Sequence[int], size: Sequence[int]) -> float:
    """Return the share of pixels in the sharp patches of a path `(glimpses, 2)`.

    Example:
        >>> seen_share(torch.zeros(3, 2), [10], [20, 20])
        0.25
    """
    covered, (height, width) = torch.zeros(tuple(size), dtype=torch.bool), size
    for x, y in location.tolist():
        left, top = ((centre + 1) / 2 * extent - sides[0] / 2 for centre, extent in ((x, width), (y, height)))
        rows = slice(max(0, round(top)), max(0, round(top) + sides[0]))
        covered[rows, max(0, round(left)) : max(0, round(left) + sides[0])] = True
    return float(covered.float().mean())


def answers(
    model: Any,
    images: Sequence[Pixels | Unreadable],
    labels: Spelling,
    count: int,
    rollouts: int | None,
    seed: int,
    form: Form,
    look: LookRequest,
) -> list[EyeAnswer]:
    """Return labels of each image, and its first path.

    Args:
        model: with a `look`.
        images: of any sizes.
        labels: of the run.
        count: number of labels to list.
        rollouts: number of paths of the mean probabilities. None for the likeliest path.
        seed: of the run.
        form: of the answers.
        look: options of pictures.
    """
    device, results = next(model.parameters()).device, []
    sides = sides_of(model)
    for image in images:
        if isinstance(image, Unreadable):
            results.append(EyeAnswer(image, None, count))
            continue
        batch = pixels(image.image)[None]
        numbers = None if rollouts is None else numbers_of([*batch], seed, rollouts, most_glimpses(model)).to(device)
        path = model.look(batch.to(device), rollouts or 1, draw=numbers is not None, numbers=numbers)
        ranking = labels.ranking(probabilities(symbol_logits(path.logits, labels.longest)[0]).mean(0))
        path, glimpsed, maps = _until_the_end(path, ranking), None, None
        if sides:
            location = path.location[0, 0].cpu()
            share = _tiles_share(model, path, image.image.shape[1:])
            share = seen_share(location, sides, image.image.shape[1:]) if share is None else share
            glimpsed = Seen(location, probabilities(path.logits[0, 0]), share)
        if form == "pictures":
            size = image.image.shape[1:]
            if sides:
                maps = _policy_maps(model, path, size)
            elif isinstance(ranking, Ranking):
                maps = maps_of(model, batch.to(device), ranking, look)
        results.append(EyeAnswer(image, ranking, count, glimpsed, sides, maps))
    return results


def _until_the_end(path: Path, ranking: Ranking | Strings) -> Path:
    """Glimpses of a path until the most probable string ends, or all for classes."""
    if not isinstance(ranking, Strings):
        return path
    per_symbol = path.location.shape[2] // len(ranking.shares)
    used, unchosen = per_symbol * len(ranking.said), path.location.shape[2] - path.log_prob.shape[2]
    kept, chosen = slice(used), slice(used - unchosen)
    weights = None if path.weights is None else path.weights[:, :, chosen]
    log_prob, entropy, hidden = (part[:, :, chosen] for part in (path.log_prob, path.entropy, path.hidden))
    return Path(path.location[:, :, kept], path.logits[:, :, kept], log_prob, entropy, hidden, weights)


def _tiles_share(model: Any, path: Path, size: Sequence[int]) -> float | None:
    """Share of pixels in the tiles of all glimpses, None if each reads one tile."""
    read = None if path.weights is None else model.policy.read.get()
    if path.weights is None or isinstance(read, reads.Sample):
        return None
    weights = path.weights[0, 0]
    if isinstance(read, reads.TopK):
        best = weights.flatten(1).topk(min(read.k, weights[0].numel()), -1).indices
        tiles = torch.zeros_like(weights).flatten(1).scatter(1, best, 1.0).unflatten(1, weights.shape[1:]).amax(0)
    else:
        tiles = torch.ones_like(weights[0])
    side = model.glimpse.retina.size
    pixels_of = tiles.repeat_interleave(side, 0).repeat_interleave(side, 1)[: size[0], : size[1]]
    return float(pixels_of.mean())


def _policy_maps(model: Any, path: Path, size: Sequence[int]) -> Maps | None:
    """Probabilities of cells or tiles before each chosen glimpse, None without them."""
    policy, title = getattr(model, "policy", None), "how probable each cell was, and which was chosen"
    if path.weights is not None:
        return _tile_maps(path.weights[0, 0].cpu(), path.location[0, 0], model.glimpse.retina.size, size, title)
    if not isinstance(policy, Grid) or not path.hidden.shape[2]:
        return None
    shares = policy.probabilities(path.hidden[0, 0]).cpu()
    middles = policy.centres.to(path.location)
    chosen = [int((middles - point).square().sum(-1).argmin()) for point in path.location[0, 0, 1:]]
    captions = [f"before glimpse {number}" for number in range(2, len(shares) + 2)]
    marks: list[tuple[int, int] | None] = [divmod(cell, policy.width) for cell in chosen]
    return Maps("policy", shares, captions, marks, title, even=1 / shares[0].numel())


def _tile_maps(weights: Tensor, location: Tensor, side: int, size: Sequence[int], title: str) -> Maps:
    """Probabilities of tiles of `side` pixels, by pixel if tiles overlap the edges."""
    even, captions = 1 / weights[0].numel(), [f"before glimpse {number + 1}" for number in range(len(weights))]
    whole = all(extent % side == 0 for extent in size)
    if not whole:
        weights = weights.repeat_interleave(side, -2).repeat_interleave(side, -1)[:, : size[0], : size[1]]
    marks = list[tuple[int, int] | None]()
    for x, y in location.tolist():
        # Round down to the pixel of the centre: that of a tile of one pixel is between two whole numbers.
        row, column = (min(int((at + 1) / 2 * extent), extent - 1) for at, extent in ((y, size[0]), (x, size[1])))
        marks.append((row // side, column // side) if whole else (row, column))
    return Maps("policy", weights, captions, marks, title, even=even)
