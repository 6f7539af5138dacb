"""All members: a new score, normalizer, mask, bias, gate or read is one entry here, and every law holds it.

A member is how it is built from its tensors, what the textbook says, and a `Spec` for each tensor.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from laws import oracle
from saccade import biases, masks, normalizers, reads, scores


class Sizes(NamedTuple):
    """Distinct primes: a swapped axis cannot pass."""

    batch: tuple[int, ...] = (2, 3)
    q: int = 5
    k: int = 7
    d: int = 11
    c: int = 17
    e: int = 13


PRIMES = Sizes()
SMALL = Sizes((2,), 3, 4, 2, 5, 1)
Draw = Callable[[torch.Generator, tuple[int, ...], Sizes], Tensor]


class Spec(NamedTuple):
    """A tensor: its distribution and axes ("*": all batch dimensions, "h": the last, then q, k, d, c, e, a number)."""

    draw: Draw
    axes: tuple["str | int", ...]

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        shape: list[int] = []
        for axis in self.axes:
            if axis == "*":
                shape.extend(sizes.batch)
            elif axis == "h":
                shape.extend(sizes.batch[-1:])
            else:
                shape.append(axis if isinstance(axis, int) else getattr(sizes, axis))
        return tuple(shape)

    def tensor(self, generator: torch.Generator, sizes: Sizes) -> Tensor:
        return self.draw(generator, self.shape(sizes), sizes)


def normal(*axes: "str | int") -> Spec:
    return Spec(lambda g, shape, n: torch.randn(shape, generator=g, dtype=torch.float64), axes)


def uniform(low: float, high: float, *axes: "str | int") -> Spec:
    return Spec(lambda g, shape, n: low + (high - low) * torch.rand(shape, generator=g, dtype=torch.float64), axes)


def integers(low: int, *axes: "str | int", high: int | None = None) -> Spec:
    """From low to high, which is Lk where it is not given."""
    return Spec(lambda g, shape, n: torch.randint(low, (n.k if high is None else high) + 1, shape, generator=g), axes)


def offsets(axis: str, count: int) -> Spec:
    """Offsets of packed sequences, from 0 to Lq or Lk."""

    def drawn(g: torch.Generator, shape: tuple[int, ...], n: Sizes) -> Tensor:
        length = getattr(n, axis)
        cuts = torch.randint(0, length + 1, shape, generator=g).sort().values
        cuts[..., 0], cuts[..., -1] = 0, length
        return cuts

    return Spec(drawn, ("*", count + 1))


def centers(*axes: "str | int") -> Spec:
    return Spec(lambda g, shape, n: n.k * torch.rand(shape, generator=g, dtype=torch.float64), axes)


def coins(*axes: "str | int") -> Spec:
    return Spec(lambda g, shape, n: torch.rand(shape, generator=g) > 0.4, axes)


def _holes(g: torch.Generator, shape: tuple[int, ...], n: Sizes) -> Tensor:
    values = torch.randn(shape, generator=g, dtype=torch.float64)
    return values.masked_fill(torch.rand(shape, generator=g) > 0.7, -torch.inf)


class Member:
    """One line of a table.

    Args:
        build: from the tensors, by name, what `attend` takes.
        truth: the textbook; scores `(query, key, **tensors)`, normalizers and reads `(x, allowed, **tensors)`, masks,
            biases and gates `((Lq, Lk), **tensors)`.
        traits: "positional" (keys are not interchangeable), "nonnegative" (weights or scores that are), "fixed" (no
            parameter moves the result smoothly), "dot" (torch's kernels serve it), "hard" (one key is read), "undrawn"
            (without chance), "by_batch" (a function of positions whose results have batch dimensions).
    """

    def __init__(self, build: Callable[..., Any], truth: Callable[..., Any], *traits: str, **specs: Spec) -> None:
        self.build, self.truth, self.traits, self.specs = build, truth, traits, specs


def callable_score(weight: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda query, key: (query.cos() @ weight) @ key.sin().mT


def relative(n: tuple[int, int], table: Tensor, align: int) -> Tensor:
    i, j = oracle.positions(n, align)
    reach = table.shape[-1] // 2
    return table[..., (j - i).clamp(-reach, reach) + reach]


def window(n: tuple[int, int], center: Tensor, width: "float | Tensor") -> Tensor:
    return -((torch.arange(n[1]) - center[..., None]) ** 2) / (
        2 * (width[..., None] if isinstance(width, Tensor) else width) ** 2
    )


def alibi(n: tuple[int, int], slopes: Tensor, align: int) -> Tensor:
    i, j = oracle.positions(n, align)
    return -slopes[..., None, None] * (i - j).abs()


def causal(n: tuple[int, int], align: "int | Tensor") -> Tensor:
    i, j = oracle.positions(n, align)
    return j <= i


def packed(n: tuple[int, int], cu_seqlens: Tensor, key_cu_seqlens: Tensor) -> Tensor:
    sequence, of_key = (
        (torch.arange(length)[:, None] >= cuts[..., None, 1:-1]).sum(-1)
        for length, cuts in zip(n, (cu_seqlens, key_cu_seqlens), strict=True)
    )
    return sequence[..., :, None] == of_key[..., None, :]


def dilated(n: tuple[int, int]) -> Tensor:
    return (torch.arange(n[1]) - torch.arange(n[0])[:, None]) % 3 != 1


def nothing(*_: Any) -> None:
    """No mask, no bias, no gate."""


SCORES = {
    "dot": Member(scores.Dot, lambda q, k: q @ k.mT, "dot"),
    "scaled_dot": Member(scores.ScaledDot, lambda q, k: q @ k.mT / max(q.shape[-1], 1) ** 0.5, "dot"),
    "scale": Member(lambda: scores.ScaledDot(scale=-0.3), lambda q, k: -0.3 * (q @ k.mT), "dot"),
    "softcap": Member(
        lambda: scores.ScaledDot(softcap=2.0), lambda q, k: 2 * (q @ k.mT / max(q.shape[-1], 1) ** 0.5 / 2).tanh()
    ),
    "scale_tensor": Member(
        scores.ScaledDot, lambda q, k, scale: scale * (q @ k.mT), "dot", scale=uniform(-0.5, 0.5, "h", 1, 1)
    ),
    "softcap_tensor": Member(
        scores.ScaledDot,
        lambda q, k, scale, softcap: softcap * (scale * (q @ k.mT) / softcap).tanh(),
        scale=uniform(0.1, 0.5, "*", "q", 1),
        softcap=uniform(1, 3, "h", 1, 1),
    ),
    "cosine": Member(
        lambda: scores.Cosine(2.5), lambda q, k: 2.5 * oracle.normalized(q) @ oracle.normalized(k).mT, "dot"
    ),
    "cosine_beta": Member(
        scores.Cosine,
        lambda q, k, beta: beta * (oracle.normalized(q) @ oracle.normalized(k).mT),
        "dot",
        beta=uniform(0.5, 2, "*", "q", 1),
    ),
    "general": Member(scores.General, lambda q, k, weight: q @ weight @ k.mT, "dot", weight=normal("d", "c")),
    "general_heads": Member(
        scores.General, lambda q, k, weight: q @ weight @ k.mT, "dot", weight=normal("h", "d", "c")
    ),
    "additive": Member(
        scores.Additive, lambda q, k, v: (q[..., None, :] + k[..., None, :, :]).tanh() @ v, v=normal("d")
    ),
    "additive_heads": Member(
        scores.Additive,
        lambda q, k, v: ((q[..., None, :] + k[..., None, :, :]).tanh() * v[..., None, None, :]).sum(-1),
        v=normal("h", "d"),
    ),
    "location": Member(
        scores.Location, lambda q, k, weight: (q @ weight.mT)[..., : k.shape[-2]], "positional", weight=normal(307, "d")
    ),
    "gaussian": Member(lambda: scores.Gaussian(1.7), lambda q, k: -(oracle.distance(q, k) ** 2) / (2 * 1.7**2)),
    "gaussian_tensor": Member(
        scores.Gaussian,
        lambda q, k, bandwidth: -(oracle.distance(q, k) ** 2) / (2 * bandwidth**2),
        bandwidth=uniform(1, 2, "*", "q", 1),
    ),
    "boxcar": Member(
        lambda: scores.Kernel("boxcar", 5.0),
        lambda q, k: 0.5 * (oracle.distance(q, k) <= 5).to(q.dtype),
        "nonnegative",
        "fixed",
    ),
    "epanechnikov": Member(
        lambda: scores.Kernel("epanechnikov", 6.0),
        lambda q, k: (0.75 * (1 - (oracle.distance(q, k) / 6) ** 2)).clamp(min=0),
        "nonnegative",
    ),
    "triangular": Member(
        lambda bandwidth: scores.Kernel("triangular", bandwidth),
        lambda q, k, bandwidth: (1 - oracle.distance(q, k) / bandwidth).clamp(min=0),
        "nonnegative",
        bandwidth=uniform(5, 6),
    ),
    "callable": Member(callable_score, lambda q, k, weight: q.cos() @ weight @ k.sin().mT, weight=normal("d", "c")),
}

NORMALIZERS = {
    "softmax": Member(normalizers.Softmax, oracle.softmax, "nonnegative", "one", "dot"),
    "temperature": Member(
        lambda: normalizers.Softmax(temperature=0.5),
        lambda s, a: oracle.softmax(s, a, 0.5),
        "nonnegative",
        "one",
        "dot",
    ),
    "temperature_tensor": Member(
        normalizers.Softmax, oracle.softmax, "nonnegative", "one", temperature=uniform(0.5, 2, "*", "q", 1)
    ),
    "sink": Member(
        lambda sink: normalizers.Softmax(sink=sink),
        lambda s, a, sink: oracle.softmax(s, a, sink=sink),
        "nonnegative",
        "dot",
        sink=normal("h", 1, 1),
    ),
    "sparsemax": Member(normalizers.Sparsemax, lambda s, a: oracle.entmax(s, a, 2.0), "nonnegative", "one"),
    "entmax": Member(lambda: normalizers.Entmax(1.5), lambda s, a: oracle.entmax(s, a, 1.5), "nonnegative", "one"),
    "entmax_tensor": Member(
        normalizers.Entmax, oracle.entmax, "nonnegative", "one", alpha=uniform(1.2, 1.9, "h", 1, 1)
    ),
    "sigmoid": Member(
        lambda bias: normalizers.Sigmoid(bias),
        lambda s, a, bias: torch.where(a, (s + bias).sigmoid(), 0),
        "nonnegative",
        bias=normal("q", 1),
    ),
    "sum": Member(normalizers.Sum, oracle.share, "one"),
    "sum_eps": Member(lambda: normalizers.Sum(eps=0.5), lambda s, a: oracle.share(s, a, 0.5)),
    "identity": Member(normalizers.Identity, lambda s, a: torch.where(a, s, 0)),
    "callable": Member(
        lambda: lambda s, mask: s.square() if mask is None else s.square().masked_fill(~mask, 0),
        lambda s, a: torch.where(a, s**2, 0),
        "nonnegative",
    ),
}

MASKS = {
    "none": Member(nothing, nothing),
    "tensor": Member(lambda allowed: allowed, lambda n, allowed: allowed, allowed=coins("*", "q", "k")),
    "shared": Member(lambda allowed: allowed[None], lambda n, allowed: allowed, allowed=coins("q", "k")),
    "causal_start": Member(lambda: masks.Causal("start"), lambda n: causal(n, 0), "positional"),
    "causal_end": Member(lambda: masks.Causal("end"), lambda n: causal(n, oracle.end(n)), "positional"),
    "causal_tensor": Member(masks.Causal, causal, "positional", align=integers(-2, "*")),
    "window": Member(lambda: masks.Window(1, 2, align=1), lambda n: causal(n, 3) & ~causal(n, -1), "positional"),
    "window_left": Member(
        lambda: masks.Window(2, None, align="end"), lambda n: ~causal(n, oracle.end(n) - 3), "positional"
    ),
    "around": Member(
        lambda center: masks.Around(center, 1.5),
        lambda n, center: window(n, center, 1.0) >= -(1.5**2) / 2,
        "positional",
        center=centers("*", "q"),
    ),
    "intervals": Member(
        masks.Intervals,
        lambda n, start, end: (torch.arange(n[1]) >= start[..., None]) & (torch.arange(n[1]) < end[..., None]),
        "positional",
        start=integers(-1, "*", "q", high=4),
        end=integers(0, "*", "q"),
    ),
    "where": Member(lambda: masks.Where(lambda i, j: (j - i) % 3 != 1), dilated, "positional"),
    "where_batch": Member(
        lambda allowed: masks.Where(lambda i, j: allowed[..., i, j]),
        lambda n, allowed: allowed,
        "by_batch",
        allowed=coins("*", "q", "k"),
    ),
    "lengths": Member(
        masks.Lengths,
        lambda n, key_lengths: torch.arange(n[1])[None] < key_lengths[..., None, None],
        "positional",
        key_lengths=integers(0, "*"),
    ),
    "documents": Member(
        masks.Documents,
        lambda n, query_ids, key_ids: query_ids[..., None] == key_ids[..., None, :],
        query_ids=integers(0, "*", "q", high=2),
        key_ids=integers(0, "*", "k", high=2),
    ),
    "packed": Member(masks.Packed, packed, "positional", cu_seqlens=offsets("q", 3), key_cu_seqlens=offsets("k", 3)),
    "prefix": Member(
        masks.Prefix,
        lambda n, length: torch.arange(n[1])[None] < length[..., None, None],
        "positional",
        length=integers(0, "*"),
    ),
    "prefix_or_causal": Member(
        lambda: masks.Prefix(2) | masks.Causal("start"), lambda n: (torch.arange(n[1]) < 2) | causal(n, 0), "positional"
    ),
    "composed": Member(
        lambda allowed: allowed[None] & masks.Not(masks.Window(0, 0, "end")),
        lambda n, allowed: allowed & ~(causal(n, oracle.end(n)) & ~causal(n, oracle.end(n) - 1)),
        "positional",
        allowed=coins("q", "k"),
    ),
}

BIASES = {
    "none": Member(nothing, nothing),
    "tensor": Member(lambda tensor: tensor, lambda n, tensor: tensor, tensor=normal("*", "q", "k")),
    "row": Member(lambda tensor: tensor, lambda n, tensor: tensor, tensor=normal("h", 1, "k")),
    "holes": Member(lambda tensor: tensor, lambda n, tensor: tensor, "holes", tensor=Spec(_holes, ("q", "k"))),
    "alibi": Member(
        lambda slopes: biases.Alibi(slopes, "end"),
        lambda n, slopes: alibi(n, slopes, oracle.end(n)),
        "positional",
        slopes=uniform(0, 1, "h"),
    ),
    "relative": Member(
        lambda table: biases.RelativePosition(table, 1),
        lambda n, table: relative(n, table, 1),
        "positional",
        table=normal("h", 7),
    ),
    "window": Member(
        biases.GaussianWindow, window, "positional", center=centers("*", "q"), width=uniform(1, 2, "*", "q")
    ),
    "position": Member(
        lambda table: biases.Position(lambda i, j, table: table[..., (j - i - 1).clamp(-3, 3) + 3], table),
        lambda n, table: relative(n, table, 1),
        "positional",
        table=normal(7),
    ),
    "position_batch": Member(
        lambda tensor: biases.Position(lambda i, j, tensor: tensor[..., i, j], tensor),
        lambda n, tensor: tensor,
        "by_batch",
        tensor=normal("*", "q", "k"),
    ),
    "position_closed": Member(
        lambda tensor: biases.Position(lambda i, j: tensor[..., i, j]),
        lambda n, tensor: tensor,
        "by_batch",
        tensor=normal("*", "q", "k"),
    ),
    "total": Member(
        lambda slopes, tensor: tensor + biases.Alibi(slopes, 2),
        lambda n, slopes, tensor: tensor + alibi(n, slopes, 2),
        "positional",
        slopes=uniform(0, 1, "*"),
        tensor=normal("q", "k"),
    ),
}

GATES = {
    "none": Member(nothing, nothing),
    "tensor": Member(lambda tensor: tensor, lambda n, tensor: tensor, tensor=uniform(0, 2, "*", "q", "k")),
    "window": Member(
        lambda center: biases.GaussianWindow(center, 1.5),
        lambda n, center: window(n, center, 1.5).exp(),
        "positional",
        center=centers("*", "q"),
    ),
    "product": Member(
        lambda tensor, slopes: tensor * biases.Alibi(slopes, "end"),
        lambda n, tensor, slopes: tensor * alibi(n, slopes, oracle.end(n)).exp(),
        "positional",
        tensor=uniform(0, 2, "q", "k"),
        slopes=uniform(0, 1, "h"),
    ),
}

READS = {
    "soft": Member(reads.Soft, oracle.soft, "dot"),
    "sample": Member(
        lambda uniform: reads.Sample(uniform=uniform), oracle.sample, "hard", "weights", uniform=uniform(0, 1, "*", "q")
    ),
    "straight_through": Member(
        lambda uniform: reads.Sample("straight_through", uniform=uniform),
        oracle.sample,
        "hard",
        "weights",
        uniform=uniform(0, 1, "*", "q"),
    ),
    "argmax": Member(reads.Argmax, oracle.argmax, "hard", "undrawn"),
    "argmax_through": Member(lambda: reads.Argmax("straight_through"), oracle.argmax, "hard", "undrawn"),
    "top_k": Member(lambda: reads.TopK(3), lambda w, a: oracle.top_k(w, a, 3), "weights"),
}

BACKENDS = ("reference", "chunked", "cpu", "auto")
"""What serves everything; torch's kernels are asked about what they serve."""

PAIR_MASKS, PAIR_BIASES = (
    [name for name, member in table.items() if "by_batch" not in member.traits] for table in (MASKS, BIASES)
)
"""Those that say what one query and one key are to each other wherever they stand, which torch's flex needs."""

TABLES = {"score": SCORES, "normalizer": NORMALIZERS, "mask": MASKS, "bias": BIASES, "gate": GATES, "read": READS}
