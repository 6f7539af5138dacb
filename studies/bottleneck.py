"""Sequences through one vector, digits through short codes (Cho et al. 2014)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import look
from saccade._system.environment import choose_device
from saccade.errors import ArgumentError
from saccade.look import Curve
from saccade.models.positions import waves
from saccade.nn import Attention
from saccade.train.randomness import generator, seeded
from studies.frame.claims import Claim, Estimate, Verdict, conclude, decided, nothing, tabled
from studies.frame.digits import Digits, OnDigits, open_data
from studies.frame.direct import Budget, fit, job, size
from studies.frame.folder import select
from studies.frame.grid import grid
from studies.frame.page import costs, curve, picture
from studies.frame.seeds import Numbers, over_seeds, pack, unpack
from studies.frame.study import Step, Study, Work

ATTENTION, VECTOR = "attention", "one vector"
AUTOENCODER, PRINCIPAL, PIXELS = "autoencoder", "principal components", "pixels"
SYMBOLS = 10  # drawn evenly and independently: a sequence of n tokens carries n log2(10) bits
LEARNED = 0.3  # share of the shortest sequences that a model has to copy: three times a guess
_TOKENS, _SEQUENCES, _TESTED, _FEWEST = 8000, 32, 2000, 20  # tokens and sequences of a batch (most), of a test (least)
_HIDDEN, _BATCH, _CLASSIFIED, _GREYS = 256, 128, 5000, 15
_RATE = 3e-3
SIZES = {  # with --quick or without: lengths of sequences, sizes of codes, and budgets of both trainings
    False: ((10, 20, 50, 100, 200, 500, 1000), (2, 4, 8, 16, 32, 64), Budget(800, 30.0), Budget(800, 10.0)),
    True: ((10, 20, 50, 100, 200), (2, 8, 64), Budget(400, 0.5), Budget(400, 0.1)),
}


@dataclass(frozen=True, kw_only=True)
class Options(OnDigits):
    """Options of the study."""

    width: int = 64
    """Numbers of the vector that sequences go through, even."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < 2 or self.width % 2:
            raise ArgumentError(f"--width: expected an even number from 2 on, got {self.width}")


class Copier(nn.Module):
    r"""A GRU that reads, and one that begins with its last state and writes.

    .. math::
        h_s = \mathrm{GRU}(E x_s + p_s, h_{s-1}) \qquad
        g_t = \mathrm{GRU}(p_t, g_{t-1}), \; g_0 = h_n \qquad
        y_t = \mathrm{MLP}(p_t + g_t, c_t)

    Through one vector \(c_t = h_n\), which the writing GRU also reads at every step. With attention \(c_t\) is
    attention of \(p_t + g_t\) to all \((h_s, E x_s + p_s)\). Positions p are sinusoidal. Written tokens are not fed
    back: tokens are independent.

    Source:
        Cho et al. 2014 for one vector (https://arxiv.org/abs/1406.1078), Bahdanau, Cho, Bengio 2015 for attention.
    """

    def __init__(self, width: int, *, attends: bool) -> None:
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(SYMBOLS, width)
        self.reader = nn.GRU(width, width, batch_first=True)
        self.writer = nn.GRU(width if attends else 2 * width, width, batch_first=True)
        read = 2 * width if attends else width
        self.attention = Attention(width, read, hidden_dim=width, score="dot") if attends else None
        self.output = nn.Sequential(nn.Linear(width + read, width), nn.ReLU(), nn.Linear(width, SYMBOLS))

    def forward(self, tokens: Tensor) -> Tensor:
        positions = waves(torch.arange(tokens.shape[1], device=tokens.device), self.width).expand(len(tokens), -1, -1)
        embedded = self.embedding(tokens) + positions
        states, last = self.reader(embedded)
        context = last[0][:, None].expand_as(positions)
        inputs = positions if self.attention else torch.cat([positions, context], -1)
        written = positions + self.writer(inputs, last)[0]
        if self.attention:
            context = self.attention(written, torch.cat([states, embedded], -1))
        logits: Tensor = self.output(torch.cat([written, context], -1))
        return logits


def drawn(lengths: tuple[int, ...], step: int, seed: int) -> Tensor:
    """Return a batch of one length; all lengths come to as many tokens.

    >>> drawn((10, 100), 0, 1).shape
    torch.Size([32, 10])
    """
    numbers = generator(seed, "copy", step)
    counts = [max(1, min(_SEQUENCES, _TOKENS // length)) for length in lengths]
    chances = torch.tensor([1 / (length * count) for length, count in zip(lengths, counts, strict=True)])
    index = int(torch.multinomial(chances, 1, generator=numbers))
    return torch.randint(SYMBOLS, (counts[index], lengths[index]), generator=numbers)


def copied(
    model: str, width: int, lengths: tuple[int, ...], seed: int, budget: Budget, device: torch.device
) -> dict[str, Any]:
    r"""Train a copier; return right tokens and the least bits that come through.

    .. math:: I(x; c) \ge \sum_t I(x_t; c) \ge n \log_2 10 + \mathbb E \sum_t \log_2 p(x_t \mid c)

    of independent tokens x and all c that the writer reads.
    """
    with seeded(seed, "copy"):
        copier = Copier(width, attends=model == ATTENTION).to(device)

    def loss(step: int) -> Tensor:
        tokens = drawn(lengths, step, seed).to(device)
        return F.cross_entropy(copier(tokens).flatten(0, 1), tokens.flatten())

    spent, tested = fit(copier, loss, budget, _RATE), {}
    for length in lengths:
        count = max(_FEWEST, _TESTED // length)
        tokens = torch.randint(SYMBOLS, (count, length), generator=generator(seed, "test", length)).to(device)
        with torch.no_grad():
            logits = copier(tokens)
        right = float((logits.argmax(-1) == tokens).double().mean())
        surprise = float(F.cross_entropy(logits.flatten(0, 1), tokens.flatten())) / math.log(2)
        bits = round(length * (math.log2(SYMBOLS) - surprise), 4)
        tested[str(length)] = {"sequences": count, "right": right, "bits": bits}
    return {"lengths": tested, "parameters": size(copier), **spent}


def coded(model: str, code: int, digits: Digits, seed: int, budget: Budget, device: torch.device) -> dict[str, Any]:
    """Return the squared "error" of digits from codes, and the share named "right".

    The autoencoder is trained, principal components are computed, and pixels are the images themselves. Of pixels and
    of the first seed an image of each class is "shown".
    """
    from sklearn.decomposition import PCA

    if model != AUTOENCODER:
        encode = restore = lambda images: images.double().numpy()
        if model == PRINCIPAL:  # of all linear codes those of the least squared error
            plane = PCA(min(code, *digits.train.shape), svd_solver="covariance_eigh").fit(digits.train.numpy())
            encode, restore = plane.transform, lambda images: plane.inverse_transform(plane.transform(images))
        return _kept(digits, encode, restore, images=model == PIXELS)
    with seeded(seed, "code", code):
        pixels = digits.train.shape[1]
        encoder, decoder = (
            nn.Sequential(nn.Linear(read, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, made))
            for read, made in ((pixels, code), (code, pixels))
        )
    network = nn.Sequential(encoder, decoder).to(device)

    def loss(step: int) -> Tensor:
        chosen = torch.randint(len(digits.train), (_BATCH,), generator=generator(seed, "images", step))
        images = digits.train[chosen].to(device)
        return F.mse_loss(network(images), images)

    def applied(module: nn.Module, images: Tensor) -> Any:
        with torch.no_grad():
            return module(images.to(device)).cpu().double().numpy()

    spent = fit(network, loss, budget, _RATE)
    kept = _kept(digits, partial(applied, encoder), partial(applied, network), images=seed == 1)
    return {**kept, "parameters": size(network), **spent}


def _kept(digits: Digits, encode: Any, restore: Any, *, images: bool) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier.fit(encode(digits.train[:_CLASSIFIED]), digits.classes[:_CLASSIFIED].numpy())
    kept: dict[str, Any] = {"error": float(((restore(digits.test) - digits.test.double().numpy()) ** 2).mean())}
    kept["right"] = float(classifier.score(encode(digits.test), digits.truth.numpy()))
    if images:
        firsts = [int((digits.truth == digit).nonzero()[0]) for digit in digits.truth.unique()[:10]]
        greys = (_GREYS * restore(digits.test[firsts]).clip(0, 1)).round()
        kept["shown"] = [pack(image, "counts") for image in greys]
    return kept


def _measure(options: Options) -> Work:
    digits, device, sizes = open_data(options.data), choose_device(options.device), SIZES[options.quick]
    lengths, codes, copying, coding = *sizes[:2], sizes[2].within(options), sizes[3].within(options)

    def code_of(model: str, code: int, seed: int) -> Step:
        about = {"part": "codes", "model": model, "code": code, "seed": seed}
        measured = partial(coded, model, code, digits, seed, coding, device)
        return job(about, measured, coding if model == AUTOENCODER else None)

    jobs = [code_of(PIXELS, 0, 0), *(code_of(PRINCIPAL, code, 0) for code in codes)]
    for seed in range(1, options.seeds + 1):
        for model in (ATTENTION, VECTOR):
            measured = partial(copied, model, options.width, lengths, seed, copying, device)
            jobs.append(job({"part": "copying", "model": model, "seed": seed}, measured, copying))
        jobs += [code_of(AUTOENCODER, code, seed) for code in codes]
    return Work(jobs, {"data": digits.fingerprint, "side": digits.side}, options.name)


class Findings:
    """Copies by length, digits by code, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.rows = content, content["rows"]
        self.lengths = [int(length) for length in select(self.rows, model=ATTENTION)[0]["lengths"]]
        self.codes = sorted({row["code"] for row in select(self.rows, model=AUTOENCODER)})
        short, long, small, large = self.lengths[0], self.lengths[-1], self.codes[0], self.codes[-1]
        first, last = ({name: self._copied(name, at) for name in (ATTENTION, VECTOR)} for at in (short, long))
        fall, falls = first[VECTOR] - last[VECTOR], first[ATTENTION] - last[ATTENTION]
        nearer, names = (
            self._coded(AUTOENCODER, large, column) - self._coded(AUTOENCODER, small, column)
            for column in ("error", "right")
        )
        share = last[ATTENTION] - last[VECTOR]
        texts = {  # the number that is claimed to be above 0, and the printed number
            f"of {long} tokens attention copies a larger share than one vector": (share, share),
            f"through one vector the share falls from {short} to {long} tokens": (fall, fall),
            "with attention it falls by less than half of that": (fall / 2 - falls, falls),
            f"digits come back nearer from {large} numbers than from {small}": (-nearer, -nearer),
            f"codes of {large} numbers are named right more often than those of {small}": (names, names),
        }
        self.claims = []
        for text, (number, printed) in texts.items():
            measured = over_seeds(printed)
            points = measured.text(4) if "nearer" in text else f"{measured.times(100).text(1)} points"
            self.claims.append(Claim(text, over_seeds(number), points))
        poor = [name for name in (ATTENTION, VECTOR) if first[name].mean() < LEARNED]
        few = f"{' and '.join(poor)}: fewer than {LEARNED:.0%} of {short} tokens are copied; train it longer"
        self.verdict: Verdict = nothing(few) if poor else conclude(self.claims)

    def copied(self, model: str, column: str = "right") -> list[Estimate]:
        """Return the share of right tokens, or the bits that come through, by length."""
        return [over_seeds(self._copied(model, length, column)) for length in self.lengths]

    def _copied(self, model: str, length: int, column: str = "right") -> Numbers:
        return np.array([row["lengths"][str(length)][column] for row in select(self.rows, model=model)])

    def _coded(self, model: str, code: int, column: str) -> Numbers:
        return np.array([row[column] for row in select(self.rows, model=model, code=code)])

    def fields(self) -> dict[str, Any]:
        models = (ATTENTION, VECTOR)
        shares = [[f"{name}, % right", *(x.times(100).text(1) for x in self.copied(name))] for name in models]
        bits = [[f"{name}, bits", *(x.text(0) for x in self.copied(name, "bits"))] for name in models]
        codes = [["code", "squared error", "the same, linear", "% named right", "the same, linear"]]
        for code in self.codes:
            cells = [str(code)]
            for column, decimals, scale in (("error", 4, 1.0), ("right", 1, 100.0)):
                cells.append(over_seeds(self._coded(AUTOENCODER, code, column)).times(scale).text(decimals))
                cells.append(f"{scale * self._coded(PRINCIPAL, code, column).mean():.{decimals}f}")
            codes.append(cells)
        pixels = f"{100 * select(self.rows, model=PIXELS)[0]['right']:.1f}"
        return {
            "claims": tabled(self.claims),
            "decided": decided(len(self.claims)),
            "copies": [["through", *map(str, self.lengths)], *shares, *bits],
            "codes": [*codes, ["all pixels", "0", "0", pixels, pixels]],
            "costs": costs(self.content, (*models, AUTOENCODER)),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    titles = {
        "shares": "Tokens copied right, by the length of the sequence",
        "bits": "Bits of a sequence that come through, by its length",
        "digits": "Digits that came back from codes of so many numbers",
    }
    lengths, models = result.lengths, (ATTENTION, VECTOR)
    positions = [math.log2(length) for length in lengths]
    shares = look.curves(
        [curve(name, positions, result.copied(name), 100) for name in models],
        folder / "bottleneck",
        ticks=[(x, str(length)) for x, length in zip(positions, lengths, strict=True)],
        labels=("tokens; bars: 95% over seeds", "% right"),
        title=titles["shares"],
        note=f"A guess is right in {100 / SYMBOLS:g} of 100",
        bounds=(0, 103),
    )
    curves = []
    for name in models:
        values = [bits.value for bits in result.copied(name, "bits")]
        hollow = [bits < 1 for bits in values]
        curves.append(Curve(name, lengths, [max(1.0, bits) for bits in values], hollow=hollow))
    whole = [length * math.log2(SYMBOLS) for length in lengths]
    bits = look.curves(
        [*curves, Curve("all there are", lengths, whole, hollow=[True] * len(lengths))],
        folder / "bottleneck-bits",
        ticks=[(length, str(length)) for length in lengths],
        labels=("tokens", "bits"),
        title=titles["bits"],
        note="Means over seeds; hollow at 1: one or fewer",
        log="xy",
    )
    rows = {"the digits": (PIXELS, 0), **{f"{code} numbers": (AUTOENCODER, code) for code in result.codes}}
    texts = [select(result.rows, model=model, code=code)[0]["shown"] for model, code in rows.values()]
    side = result.content["arguments"]["side"]
    images = [[torch.tensor(unpack(text, "counts")).view(-1, side) / _GREYS for text in row] for row in texts]
    note, path = "Of the test, by an autoencoder", folder / "bottleneck-digits"
    digits = grid(images, path, rows=list(rows), title=titles["digits"], note=note)
    return {name: picture(paths, titles[name]) for name, paths in zip(titles, (shares, bits, digits), strict=True)}


STUDY = Study(
    sentence="one vector keeps less of longer texts (Cho et al. 2014; Bahdanau et al. 2015, section 1)",
    title="What passes through one vector",
    claim="The more is read, the smaller the share of it that one vector of a fixed size keeps. Attention, which can "
    "look at all of it, keeps as much; and of pictures a code keeps the less the fewer numbers it has.",
    source="Cho et al. 2014, https://arxiv.org/abs/1409.1259, and Bahdanau, Cho, Bengio 2015, section 1, "
    "https://arxiv.org/abs/1409.0473, of sentences; Hinton, Salakhutdinov 2006 for codes of pictures",
    options=Options,
    measure=_measure,
    compare=Findings,
    plot=_plot,
    body="""
{shares}

## What is claimed

{claims}

{decided} Nothing is concluded if a model copies less than 30% of the shortest sequences.

## Copied by length

{copies}

{bits}

Bits are the sum of log2 p of the right tokens above a guess. As tokens are independent, at least so many come through.
They are below 0 if a model is too sure. All are learned in the steps below: a vector that is merely full would keep as
many bits of a long sequence as of a short one.

## Digits by the size of their code

{digits}

{codes}

## How it was measured

The vector has {arguments[width]} numbers. A sequence of n tokens from 10 symbols, drawn evenly and independently, has n
× 3.32 bits. A GRU reads it, another begins with its last state and writes: through one vector it reads that state at
every step, with attention all states and embeddings. Both have sinusoidal positions and equal batches. Training has as
many tokens of every length. Digits go through 2 to 64 numbers, by an autoencoder with a layer of 256 either way or by
principal components. Logistic regression on up to 5,000 codes names them.

{costs}

Parameters of the autoencoder are those of its smallest code. Digits: {arguments[data]}. `pixels` and `principal
components` are computed once.

{where}
""",
)
