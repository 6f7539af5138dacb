"""Words that take regions of an image (Karpathy, Fei-Fei 2015)."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from math import comb
from pathlib import Path
from statistics import fmean, median
from textwrap import wrap
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from saccade._system.environment import choose_device
from saccade.errors import ArgumentError
from saccade.look._figure import Page, draw_picture
from saccade.look._overlays import pixels_of, show_pixels
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.models.region_words import Options as Sizes
from saccade.models.region_words import RegionWords, ranking_loss, smoothed
from saccade.tasks.caption import CAPTION
from saccade.tasks.caption.data import BUILTIN
from saccade.tasks.caption.data.corpus import Captioned
from saccade.tasks.image.images import encode_png
from saccade.tasks.image.scenes.judging import Judged, judged
from saccade.tasks.image.sight import visual
from saccade.tasks.task import Job
from saccade.train.options import select
from saccade.train.randomness import generator, seeded
from saccade.train.task import options_class, recipe
from studies.frame.claims import Claim, Estimate, both_bars, conclude, nothing, rule, tabled
from studies.frame.direct import Budget, fit, job, size
from studies.frame.options import Direct, check_positive
from studies.frame.page import costs, picture
from studies.frame.seeds import between, pack, spread, unpack
from studies.frame.study import Study, Work, made_here

MODEL = "region-words"
BUDGET, QUICK = Budget(1000, 60.0), Budget(300, 0.7)
DEPTHS = (1, 5, 10)
IMAGES, SENTENCES = WAYS = "a sentence finds its image", "an image finds a sentence of its own"
_NONE = "neither recall at rank 1 is seen to be above chance; train longer"
STRENGTHS = (0.0, 1.0, 4.0)  # of smoothing; none is chosen
_LIKE = "show-and-tell"  # a captioner, whose images, vocabulary and encoder the model has
_FEWEST, _LARGEST = 2, 4  # default numbers of things of a scene
_SIZES, _SCENES = {"hidden_dim": 128, "embedding_dim": 64}, {"widths": "24,48", "blocks": 1}
_BATCH, _RATE = 16, 3e-3
_AT_ONCE = 50  # images, or sentences
_PICTURED = 3  # images of the picture
_LABEL = {"facecolor": "black", "alpha": 0.6, "edgecolor": "none", "pad": 1}


@dataclass(frozen=True, kw_only=True)
class Options(Direct):
    """Options of the study."""

    builtin: ClassVar[Mapping[str, str]] = BUILTIN

    data: str = "scenes"
    """Images with captions, as of `saccade train caption`."""

    least: int | None = None
    """Fewest things of a scene. Default: 2, since scenes of one thing look alike."""

    most: int | None = None
    """Most things of a scene, up to 8. Default: 4."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "least", "most")
        if self.quick and self.data not in BUILTIN:
            raise ArgumentError(f"--quick: expected no --data but scenes beside it, got {self.data}; leave one out")
        if self.data not in BUILTIN and (self.least or self.most):
            raise ArgumentError("--least, --most: expected none without --data scenes, got some; leave them out")


def prepared(options: Options) -> Job:
    """Open images with captions, and learn the vocabulary, as a captioner does."""
    values = {**recipe(CAPTION, _LIKE, options.data), **_SIZES, "model": _LIKE, "data": options.data}
    if options.data in BUILTIN:
        values |= {**_SCENES, "least": options.least or _FEWEST, "most": options.most or _LARGEST}
    task: Job = CAPTION.prepare(options_class(CAPTION, _LIKE)(**values))
    if not task.data.size("test"):
        raise ArgumentError(f"--data: expected examples in the test split of {options.data}, got none")
    return task


def token_ids(task: Job, texts: Sequence[str]) -> Padded:
    """Return the token ids of texts."""
    ids = [torch.tensor(row) for row in task.codec.target.encode_batch(texts)]
    return Padded(pad_sequence(ids, batch_first=True), torch.tensor([len(row) for row in ids]))


def trained(task: Job, seed: int, budget: Budget, device: torch.device) -> tuple[RegionWords, dict[str, Any]]:
    """Train a model on batches of images, each with one of its sentences."""
    codec, data, options = task.codec, task.data, task.codec.options
    with seeded(seed, "regions"):
        sizes = select(options, Sizes)
        model = RegionWords(codec.sight.encoder(sizes), len(codec.target), sizes).to(device)
    count = data.images("train")

    def loss(step: int) -> Tensor:
        drawn = generator(seed, "sentences", step)
        images: Sequence[int] = range(step * _BATCH, (step + 1) * _BATCH)  # of an endless split
        if count is not None:
            images = torch.randperm(count, generator=drawn)[:_BATCH].tolist()
        indices = [data.about("train", image) for image in images]
        chosen = [texts[int(torch.randint(len(texts), (), generator=drawn))] for texts in indices]
        examples = [data.example("train", index) for index in chosen]
        pixels = _visual(examples, seed, step, mirrored=options.flip, shifted=options.shift)
        sentences = token_ids(task, [example.caption for example in examples])
        return ranking_loss(model(pixels.to(device), sentences.to(device)))

    with seeded(seed, "dropout"):
        spent = fit(model, loss, budget, _RATE)
    return model, {**spent, "parameters": size(model)}


@torch.no_grad()
def ranked(task: Job, model: RegionWords, examples: Sequence[Captioned], device: torch.device) -> dict[str, Any]:
    """Rank all images for each sentence, and all sentences for each image.

    Sentences are all captions of a photograph, but one of a scene. A sentence belongs to an image if it is one of its
    captions.
    """
    texts = [text for x in examples for text in (x.references if x.scene is None else [x.caption])]
    regions = [
        model.regions(_visual(examples[first : first + _AT_ONCE]).to(device))
        for first in range(0, len(examples), _AT_ONCE)
    ]
    columns = list[Tensor]()
    for first in range(0, len(texts), _AT_ONCE):
        sentences = token_ids(task, texts[first : first + _AT_ONCE]).to(device)
        words = model.words(sentences)
        columns.append(torch.cat([model.scores(part, words, sentences.within) for part in regions]).cpu())
    scores = torch.cat(columns, 1)
    right = torch.tensor([[text in x.references for text in texts] for x in examples])
    return {IMAGES: _recall(scores.mT, right.mT), SENTENCES: _recall(scores, right)}


def _recall(scores: Tensor, right: Tensor) -> dict[str, Any]:
    """Recall of the first right candidates, behind wrong ones of equal score."""
    best = scores.masked_fill(~right, -torch.inf).amax(1, keepdim=True)
    ranks = (1 + ((scores >= best) & ~right).sum(1)).tolist()
    candidates, counts = right.shape[1], right.sum(1).tolist()
    depths = [min(depth, candidates) for depth in DEPTHS]
    by_chance = [fmean(1 - comb(candidates - n, depth) / comb(candidates, depth) for n in counts) for depth in depths]
    hits = [pack([rank <= depth for rank in ranks], "bits") for depth in DEPTHS]
    return {"rows": len(ranks), "candidates": candidates, "median": median(ranks), "hits": hits, "chance": by_chance}


@torch.no_grad()
def aligned(
    task: Job, model: RegionWords, examples: Sequence[Captioned], device: torch.device
) -> Iterator[tuple[Captioned, Tensor, tuple[int, int]]]:
    """Return examples, products of their words and cells, and the shape of cells."""
    for first in range(0, len(examples), _AT_ONCE):
        part = examples[first : first + _AT_ONCE]
        sentences = token_ids(task, [example.caption for example in part])
        alignment = model.align(_visual(part).to(device), sentences.to(device))
        assert alignment.shape is not None, "images have cells in rows and columns"
        lengths = sentences.lengths.tolist()
        for example, products, length in zip(part, alignment.products.cpu(), lengths, strict=True):
            yield example, products[:length], alignment.shape


def pointed(task: Job, model: RegionWords, examples: Sequence[Captioned], device: torch.device) -> dict[str, Any]:
    """Return how often the colours and shapes of scenes take a cell of their thing.

    Packed are shares of each image: of "hits" by strength of smoothing, of all "cells", and of "any" thing.
    """
    hits, groups = [list[float]() for _ in STRENGTHS], dict[str, list[float]]()
    cells, things = list[float](), list[float]()
    for example, products, shape in aligned(task, model, examples, device):
        cells.append(_judged(example, torch.ones(len(products), *shape)).weight)
        things.append(1 / len(example.scene.things))
        for shares, strength in zip(hits, STRENGTHS, strict=True):
            taken = F.one_hot(smoothed(products, strength), products.shape[1]).unflatten(1, shape)
            score = _judged(example, taken)
            shares.append(score.hits / score.words)
            if not strength:
                for group, share in score.groups.items():
                    groups.setdefault(group, []).append(share)
    packed = {"cells": pack(cells, "shares"), "any": pack(things, "shares")}
    means = {group: fmean(shares) for group, shares in sorted(groups.items())}
    return {"hits": [pack(shares, "shares") for shares in hits], **packed, "groups": means}


def _visual(examples: Sequence[Captioned], *changes: int, **kinds: Any) -> Visual:
    return visual([example.image for example in examples if example.image is not None], *changes, **kinds)


def _judged(example: Captioned, maps: Tensor) -> Judged:
    return judged([example.caption], [example.scene], lambda _: maps)


def examples_of(
    task: Job, model: RegionWords, examples: Sequence[Captioned], device: torch.device
) -> list[dict[str, Any]]:
    """Return images as PNG with their words, and the cell of each word."""
    pictures = list[dict[str, Any]]()
    for example, products, shape in aligned(task, model, examples, device):
        assert example.image is not None
        cells = [list(divmod(index, shape[1])) for index in products.argmax(1).tolist()]
        image, words = base64.b64encode(encode_png(example.image)).decode(), task.codec.target.pieces(example.caption)
        pictures.append({"image": image, "words": words, "cells": cells, "shape": list(shape)})
    return pictures


def measured(task: Job, seed: int, budget: Budget, device: torch.device) -> dict[str, Any]:
    """Train a model and measure it on the test split."""
    model, spent = trained(task, seed, budget, device)
    examples = [task.data.example("test", index) for index in range(task.data.size("test") or 0)]
    row = {**spent, "images": len(examples), "recall": ranked(task, model, examples, device)}
    if all(example.scene is not None for example in examples):
        row["pointing"] = pointed(task, model, examples, device)
    return row | ({"shown": examples_of(task, model, examples[:_PICTURED], device)} if seed == 1 else {})


def _measure(options: Options) -> Work:
    device, budget = choose_device(options.device), (QUICK if options.quick else BUDGET).within(options)
    task = prepared(options)
    jobs = [
        job({"model": MODEL, "seed": seed}, partial(measured, task, seed, budget, device), budget)
        for seed in range(1, options.seeds + 1)
    ]
    about = {**made_here(options.device), "data": options.data}
    return Work(jobs, {"data": task.data.fingerprint}, "" if options.quick else options.data, about)


class Findings:
    """Recall and pointing beside chance, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.rows = content, content["rows"]
        self.first, self.pointing = self.rows[0], [row["pointing"] for row in self.rows if "pointing" in row]
        numbers = {f"{way} at rank 1 more often than by chance": self.recall(way, 0) for way in WAYS}
        learned = any(number.measured.beyond() > 0 for number in numbers.values())
        if self.pointing:
            text = "colours and shapes take a cell of their thing more often than any cell lies there"
            numbers[text] = self.beyond("cells")
        self.claims = [Claim(text, number, number.long()) for text, number in numbers.items()]
        self.verdict = conclude(self.claims) if learned else nothing(_NONE)

    def hits(self, way: str, index: int) -> list[list[bool]]:
        """Whether a right candidate of each row is within a depth, by seed."""
        recalls = [row["recall"][way] for row in self.rows]
        return [unpack(recall["hits"][index], "bits", recall["rows"]) for recall in recalls]

    def recall(self, way: str, index: int) -> Estimate:
        """Return the recall at a depth beyond chance."""
        hits, recall = self.hits(way, index), self.first["recall"][way]
        return between(hits, [[recall["chance"][index]] * recall["rows"]] * len(hits), paired=True)

    def shares(self, key: str, index: int | None = None) -> list[list[float]]:
        parts = [row[key] if index is None else row[key][index] for row in self.pointing]
        return [unpack(part, "shares") for part in parts]

    def beyond(self, chance: str, index: int = 0) -> Estimate:
        """Return how much more often words take their thing than by chance."""
        return between(self.shares("hits", index), self.shares(chance), paired=True)

    def fields(self) -> dict[str, Any]:
        recalls = [["ranking", *(f"at {depth}, %" for depth in DEPTHS), "median rank", "candidates"]]
        for way in WAYS:
            recall = self.first["recall"][way]
            medians = spread([row["recall"][way]["median"] for row in self.rows], 1, 1)
            shares = [spread([fmean(seed) for seed in self.hits(way, index)]) for index in range(len(DEPTHS))]
            recalls.append([way, *shares, medians, f"{recall['candidates']:,}"])
            recalls.append([f"{way}, by chance", *(f"{100 * share:.2f}" for share in recall["chance"]), "", ""])
        return {
            "claims": tabled(self.claims),
            "bars": both_bars("images", len(self.rows)),
            "rule": rule(len(self.claims)),
            "recalls": recalls,
            "pointed": self._pointed() if self.pointing else "Only the things of built-in scenes are known.",
            "costs": costs(self.content, [MODEL]),
            "row": {**self.first, "data": self.content["data"]},
        }

    def _pointed(self) -> list[list[str]]:
        table = [["words", "on their thing, %", "beyond any cell", "beyond any thing"]]
        for index, strength in enumerate(STRENGTHS):
            share = spread([fmean(seed) for seed in self.shares("hits", index)])
            name = f"colours and shapes, smoothed by {strength:g}" if strength else "colours and shapes"
            table.append([name, share, self.beyond("cells", index).short(), self.beyond("any", index).short()])
        groups = self.pointing[0]["groups"]
        table += [[group, spread([row["groups"][group] for row in self.pointing]), "", ""] for group in groups]
        chances = [f"{100 * fmean(self.shares(key)[0]):.2f}" for key in ("cells", "any")]
        return [*table, ["by chance: any cell", chances[0], "", ""], ["by chance: any thing", chances[1], "", ""]]


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    images, title = result.first["shown"], "The cell that each word takes"
    stories = []
    for about in images:
        words = zip(about["words"], about["cells"], strict=True)
        stories.append(", ".join(f"{word} at row {row + 1}, column {column + 1}" for word, (row, column) in words))
    drawn = draw_picture(folder / "regions", partial(_draw, images), title, "Words on images", stories)
    return {"picture": picture(drawn, title)}


def _draw(images: Sequence[Mapping[str, Any]], page: Page) -> None:
    """Draw each image with the cells that words take, and the words beside them."""
    from matplotlib.patches import Rectangle
    from PIL import Image

    for panel, about in enumerate(images):
        pixels = pixels_of(_tensor(Image.open(BytesIO(base64.b64decode(about["image"])))))
        (height, width), (rows, columns) = pixels.shape[:2], about["shape"]
        axes = page.axes(3.8 * panel, 0, 3.6, 3.6 * height / width, ticks=False)
        show_pixels(axes, pixels)
        axes.set_title("\n".join(wrap(" ".join(about["words"]), 46)), fontsize=8, loc="left")
        by_cell = dict[tuple[int, int], list[str]]()
        for word, (row, column) in zip(about["words"], about["cells"], strict=True):
            by_cell.setdefault((row, column), []).append(word)
        for (row, column), words in by_cell.items():
            left, top, wide, high = column * width / columns, row * height / rows, width / columns, height / rows
            axes.add_patch(Rectangle((left, top), wide, high, fill=False, edgecolor="white", linewidth=1))
            side = "left" if column < columns / 3 else "right" if column >= 2 * columns / 3 else "center"
            x = left + {"left": 0, "center": wide / 2, "right": wide}[side]
            above = row == rows - 1 or (row > 0 and column % 2 == 1)  # neighbours in a row are apart
            y, over = (top, "bottom") if above else (top + high, "top")
            text = "\n".join(wrap(" ".join(words), 20))
            axes.text(x, y, text, color="white", fontsize=7.5, ha=side, va=over, bbox=_LABEL)


def _tensor(image: Any) -> Tensor:
    return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)


STUDY = Study(
    sentence="best regions of words rank images and find objects (Karpathy, Fei-Fei 2015, section 3.1)",
    title="Words that take regions",
    claim="Sentences and images can be ranked by the products of each word with its best region alone, and the regions "
    "that words take are those that they are about.",
    source="Karpathy, Fei-Fei 2015, section 3.1, https://arxiv.org/abs/1412.2306",
    options=Options,
    measure=_measure,
    compare=Findings,
    plot=_plot,
    body="""
{picture}

## What is claimed

{claims}

{bars} {rule} Both sides of a difference are of the same trained models.

## Recall

{recalls}

Candidates are ranked by their scores. A hit is a right candidate within the first 1, 5 or 10, where a wrong one of
equal score counts as better. A sentence belongs to an image if it is one of its captions. By chance the order is
random.

## Where words point

{pointed}

A word points at its thing if the middle of its cell lies in the box of the thing. Any cell: the share of cells whose
middles lie there. Any thing: a thing of the image at random, of which nothing is claimed. Smoothing rewards
neighbouring words that share a cell (equations 10 to 12). Its strength is not chosen: all that were tried are here.
Claims are about words without it.

## How it was measured

The model is `saccade.models.region_words`. Its cells are those of the encoder of captioners, trained with the rest; the
paper has 19 boxes of a detector and the whole image. The loss ranks 16 images, with one sentence each, against each
other (equation 9). Nothing but these pairs is learned from: no box and no word's thing. The weights are those of the
last step.

{costs}

Data: `{row[data]}`, test split, {row[images]} images. The picture shows its first images, after training with seed 1.

{where}
""",
)
