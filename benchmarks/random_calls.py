"""Random calls of `attend`, each compared with the definition: shapes 0 to 300, strides, broadcasts, masks, biases,
dtypes, backends; and one in eight with 300 to 2,000 queries and keys under masks composed of others, whose empty
blocks are left out. Every second one goes the way of large calls on a CPU, however small it is.

    python benchmarks/random_calls.py --calls 10000 --seed 0
    python benchmarks/random_calls.py --calls 1000 --seed 0 --device cuda --gradients

Every call is drawn from (seed, number), so that one mismatch is one command to repeat: `--only NUMBER`. The yardstick
is the reference backend in float64; float32 and half types may err as much as the reference itself does in their own
dtype, three times (float32) or twice over, plus rounding of the inputs' size. Exits with 1 when anything differs.
"""

import argparse
import math
import random
import sys
import time
from copy import copy
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from saccade import AuxRequest, attend, biases, errors, masks, normalizers, reads, remember, scores
from saccade._definitions.structure import Definition, Grid
from saccade.backends import cpu
from saccade.normalizers import Normalizer

DTYPES = (torch.float64, torch.float64, torch.float32, torch.float32, torch.bfloat16, torch.float16)
BACKENDS = ("auto", "auto", "chunked", "chunked", "reference", "sdpa", "cpu", "memory")
ON_CUDA = ("auto", "triton", "triton", "triton", "chunked", "sdpa", "flex", "reference", "memory")
BATCHES = ((), (1,), (2,), (3,), (2, 3), (1, 5), (2, 1, 3), (0,))
LIMIT = 3_000_000  # query-key-feature terms of one call: the reference lays them out
GRADIENT = "gradient of "
LONG = 1 / 8  # share of the calls with lengths of 300 to 2,000, before LIMIT


@dataclass
class Draw:
    """One random call: its arguments in float64, the dtype and backend to try, and the random source."""

    rng: random.Random
    generator: torch.Generator
    dtype: torch.dtype
    backend: str
    device: str = "cpu"
    gradients: bool = False
    at_once: int = cpu.AT_ONCE
    query: Tensor = field(init=False)
    key: Tensor = field(init=False)
    value: Tensor = field(init=False)
    options: dict[str, Any] = field(default_factory=dict)

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers that the dtype can hold exactly, so that both sides start from the same inputs."""
        return torch.randn(shape, generator=self.generator, dtype=torch.float64).to(self.dtype).double()

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.generator, dtype=torch.float64).to(self.dtype).double()


def length(rng: random.Random) -> int:
    """0 to 300, the corners more often."""
    return rng.choice((0, 1, 2, 3, rng.randint(4, 40), rng.randint(4, 40), rng.randint(41, 300)))


def drawn(seed: int, number: int, device: str = "cpu", gradients: bool = False) -> Draw:
    """The call with this number."""
    rng = random.Random(f"{seed}:{number}")
    generator, dtype = torch.Generator().manual_seed(rng.getrandbits(48)), rng.choice(DTYPES)
    draw = Draw(rng, generator, dtype, rng.choice(BACKENDS if device == "cpu" else ON_CUDA), device, gradients)
    draw.at_once = rng.choice((0, cpu.AT_ONCE))
    long = rng.random() < LONG
    batch = rng.choice(((), (1,), (2,), (3,), (1, 2), (2, 1, 2)) if long else BATCHES)
    q_len, k_len = (rng.randint(300, 2000) if long else length(rng) for _ in range(2))
    dim = rng.choice((1, 2, 3, 16) if long else (1, 2, 8, 11, 16, 32))
    v_dim = rng.choice((1, 3, 16) if long else (1, 3, 11, 16, 32))
    while q_len * k_len * dim * max(1, torch.Size(batch).numel()) > LIMIT:
        q_len, k_len = (q_len + 1) // 2, (k_len + 1) // 2
    scale = rng.choice((0.01, 1.0, 1.0, 1.0, 5.0))
    draw.query = strided(draw, draw.normal(*narrowed(rng, batch), q_len, dim) * scale)
    draw.key = strided(draw, draw.normal(*narrowed(rng, batch), k_len, dim) * scale)
    draw.value = strided(draw, draw.normal(*batch, k_len, v_dim))
    draw.options = options(draw, batch, q_len, k_len, dim)
    if long:
        draw.options["mask"] = structured(draw, batch, q_len, k_len)
    return draw


def narrowed(rng: random.Random, batch: tuple[int, ...]) -> tuple[int, ...]:
    """The batch dimensions, some of them 1 or left out: what broadcasts."""
    if rng.random() < 0.6:
        return batch
    kept = tuple(size if rng.random() < 0.5 else 1 for size in batch)
    return kept[rng.randint(0, len(kept)) :] if rng.random() < 0.4 else kept


def strided(draw: Draw, tensor: Tensor) -> Tensor:
    """The same numbers under other strides."""
    kind = draw.rng.randrange(4)
    if kind == 1:
        return tensor.mT.contiguous().mT
    if kind == 2 and tensor.shape[-2]:
        return tensor.repeat_interleave(2, -2)[..., ::2, :]
    return tensor.flip(-1).contiguous().flip(-1) if kind == 3 else tensor


def options(draw: Draw, batch: tuple[int, ...], q_len: int, k_len: int, dim: int) -> dict[str, Any]:
    """Score, normalizer, mask, bias, gate, read and statistics."""
    rng = draw.rng
    found: dict[str, Any] = {"score": score(draw, k_len, dim), "normalizer": normalizer(draw)}
    if isinstance(found["score"], scores.Kernel) and rng.random() < 0.7:
        found["normalizer"] = normalizers.Sum()
    if rng.random() < 0.6:
        found["mask"] = mask(draw, batch, q_len, k_len)
    if rng.random() < 0.3:
        found["bias"] = bias(draw, batch, q_len, k_len)
    if rng.random() < 0.2:
        found["gate"] = draw.uniform(*narrowed(rng, batch), rng.choice((1, q_len)), k_len)
    if rng.random() < 0.25:
        uniform = draw.uniform(*batch, q_len).clamp(max=0.99)
        signed = isinstance(found["normalizer"], normalizers.Identity)  # their sum may vanish: no bound holds
        hard = (reads.Argmax(), reads.Sample(uniform=uniform), reads.TopK(3))
        found["read"] = rng.choice(hard[:1] if signed else hard)
    wanted = [
        name for name in ("lse", "entropy", "received", "weights") if rng.random() < 0.15 and defined(name, found)
    ]
    found["aux"] = AuxRequest(**dict.fromkeys(wanted, True), top=rng.choice((0, 0, 0, 2)))
    return found


def defined(name: str, found: dict[str, Any]) -> bool:
    """Whether the combination defines the statistic."""
    if name == "lse":
        return isinstance(found["normalizer"], normalizers.Softmax)
    if name == "entropy":
        return "gate" not in found and isinstance(found["normalizer"], Normalizer) and found["normalizer"].sums_to_one
    return True


def score(draw: Draw, k_len: int, dim: int) -> Any:
    """Any score, additive more often than others."""
    choices = (
        lambda: scores.Dot(),
        lambda: scores.ScaledDot(),
        lambda: scores.ScaledDot(scale=0.3, softcap=2.0),
        lambda: scores.Cosine(beta=2.0),
        lambda: scores.General(draw.normal(dim, dim)),
        lambda: scores.Additive(draw.normal(dim)),
        lambda: scores.Additive(draw.normal(dim)),
        lambda: scores.Location(draw.normal(k_len + 3, dim)),
        lambda: scores.Gaussian(1.5),
        lambda: scores.Kernel(draw.rng.choice(("epanechnikov", "triangular")), 6.0),
        lambda: lambda query, key: torch.sin(query) @ torch.cos(key).mT,
    )
    return draw.rng.choice(choices)()


def normalizer(draw: Draw) -> Normalizer:
    """Any normalizer, softmax more often than others."""
    soft = normalizers.Softmax()
    others = (
        normalizers.Softmax(temperature=0.7),
        normalizers.Softmax(sink=0.3),
        normalizers.Sparsemax(),
        normalizers.Entmax(1.5),
        normalizers.Entmax(1.2),
        normalizers.Sigmoid(-0.5),
        normalizers.Identity(),
    )
    return draw.rng.choice((soft, soft, soft, *others))


def mask(draw: Draw, batch: tuple[int, ...], q_len: int, k_len: int) -> Any:
    """A mask of any kind, or two of them combined."""
    rng, align = draw.rng, draw.rng.choice(("start", "end", 1))

    def one() -> Any:
        dense = draw.uniform(*narrowed(rng, batch), rng.choice((1, q_len)), k_len) > rng.choice((0.3, 0.7, 0.95))
        lengths = torch.randint(0, k_len + 1, batch if rng.random() < 0.7 else (), generator=draw.generator)
        ids = (torch.arange(q_len) // 3, torch.arange(k_len) // 3)
        return rng.choice(
            (
                masks.Dense(dense),
                masks.Lengths(lengths),
                masks.Causal(align=align),
                masks.Window(left=rng.choice((None, 2)), right=rng.choice((None, 1)), align=align),
                masks.Documents(*ids),
                masks.Prefix(rng.randint(0, 5)),
                masks.Where(lambda i, j: dense.to(i.device)[..., i % dense.shape[-2], j]),
                masks.Intervals(*ends(draw, batch, q_len, k_len, 5)),
                masks.Around((draw.uniform(*batch, q_len) * k_len).to(draw.dtype).double(), 2.0),
            )
        )

    kind = rng.randrange(5)
    if kind == 0:
        return one() & one()
    if kind == 1:
        return one() | one()
    return ~one() if kind == 2 else one()


def structured(draw: Draw, batch: tuple[int, ...], q_len: int, k_len: int, depth: int = 3) -> Any:
    """A mask of whole regions, composed of up to eight others."""
    rng = draw.rng
    if depth and rng.random() < 0.6:
        first, kind = structured(draw, batch, q_len, k_len, depth - 1), rng.randrange(3)
        if kind == 2:
            return ~first
        second = structured(draw, batch, q_len, k_len, depth - 1)
        return first & second if kind else first | second
    align = rng.choice(("start", "end", rng.randint(-300, 300)))
    whole = batch if rng.random() < 0.7 else ()
    document = rng.randint(20, 300)
    dense = draw.uniform(*narrowed(rng, batch), rng.choice((1, -(-q_len // 90))), -(-k_len // 90)) > 0.6
    dense = dense.repeat_interleave(90, -1)[..., :k_len]
    kinds = (
        masks.Causal(align),
        masks.Window(rng.choice((None, 0, 50, 200)), rng.choice((None, 0, 30)), align),
        masks.Prefix(rng.randint(0, k_len)),
        masks.Lengths(torch.randint(0, k_len + 1, whole, generator=draw.generator)),
        masks.Documents(torch.arange(q_len) // document, torch.arange(k_len) // document),
        masks.Intervals(*ends(draw, whole, q_len, k_len, rng.choice((0, 40, k_len)))),
        masks.Where(lambda i, j: dense.to(i.device)[..., i // 90 % dense.shape[-2], j]),
        masks.Where(lambda i, j: (i - j) // 7 % document == 0),
        masks.Around((draw.uniform(*batch, q_len) * k_len).sort(-1).values.to(draw.dtype).double(), rng.uniform(0, 90)),
        masks.Dense(dense if dense.shape[-2] == 1 else dense.repeat_interleave(90, -2)[..., :q_len, :]),
    )
    return rng.choice(kinds)


def ends(draw: Draw, batch: tuple[int, ...], q_len: int, k_len: int, most: int) -> tuple[Tensor, Tensor]:
    """The ends of an interval a query, of `most` keys or fewer, that move along with the queries."""
    first = torch.randint(-3, k_len + 3, (*batch, q_len), generator=draw.generator).sort(-1).values
    return first, first + torch.randint(0, most + 1, (*batch, q_len), generator=draw.generator)


def bias(draw: Draw, batch: tuple[int, ...], q_len: int, k_len: int) -> Any:
    """A bias of any kind; some forbid with −inf."""
    dense = draw.normal(*narrowed(draw.rng, batch), draw.rng.choice((1, q_len)), k_len)
    forbidding = dense.masked_fill(dense > 1.0, -torch.inf)
    window = biases.GaussianWindow(draw.uniform(*batch, q_len) * k_len, 3.0)
    near = biases.Position(lambda i, j, table: table[..., (i - j).clamp(-2, 2) + 2], draw.normal(*batch[-1:], 5))
    table = biases.RelativePosition(draw.normal(7), align="start")
    slopes = biases.Alibi(draw.uniform(*batch[-1:]), align="end")
    return draw.rng.choice((dense, forbidding, window, near, table, slopes, slopes + dense))


def cast(thing: Any, dtype: torch.dtype, device: str) -> Any:
    """Tensors of an argument on another device, floating ones in another dtype."""
    if isinstance(thing, Tensor):
        return thing.to(device, dtype if thing.is_floating_point() else None)
    if isinstance(thing, Definition):
        return thing.map(lambda tensor, axes: cast(tensor, dtype, device))
    return thing


def computed(draw: Draw, dtype: torch.dtype, backend: str, device: str = "cpu") -> list[tuple[str, Tensor]] | None:
    """Output, statistics and gradients, flat; None where the backend says that it does not serve the call."""
    tensors = [cast(tensor, dtype, device) for tensor in (draw.query, draw.key, draw.value)]
    if draw.gradients:
        tensors = [tensor.requires_grad_() for tensor in tensors]
    chosen = {name: cast(thing, dtype, device) for name, thing in draw.options.items()}
    try:
        if backend == "memory":
            kind = chosen.pop("score")
            output, aux = remember(*tensors[1:], score=kind).read(tensors[0], **chosen)
        else:
            with patch.object(cpu, "AT_ONCE", draw.at_once):
                output, aux = attend(*tensors, **chosen, backend=backend)
    except errors.UnsupportedBackend:
        return None
    statistics = (
        (name, tensor[0] if name == "top" else tensor) for name, tensor in vars(aux).items() if tensor is not None
    )
    found = [("output", output), *statistics]
    if draw.gradients:
        upstream = torch.randn(output.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        total = (output * upstream.to(draw.dtype).to(device, dtype)).sum() + 0.0 * sum(t.sum() for t in tensors)
        grads = torch.autograd.grad(total, tensors)
        found += [(f"{GRADIENT}{name}", grad) for name, grad in zip(("query", "key", "value"), grads, strict=True)]
    return [(name, tensor.detach().cpu()) for name, tensor in found]


def mismatches(draw: Draw) -> list[str] | None:
    """What differs from the definition by more than rounding; None where the backend does not serve the call."""
    ours = computed(draw, draw.dtype, draw.backend, draw.device)
    if ours is None:
        return None
    truth = computed(draw, torch.float64, "reference")
    plain = computed(draw, draw.dtype, "reference")
    assert truth is not None
    assert plain is not None
    hard = isinstance(draw.options.get("read"), reads.Read) or isinstance(draw.options["normalizer"], normalizers.Sum)
    if hard and (draw.dtype != torch.float64 or tied(draw)):
        return structural(ours, truth)  # rounding may decide another draw, another argmax or the edge of a support
    return [
        f"{name}: {problem}"
        for (name, a), (_, b), (_, c) in zip(ours, truth, plain, strict=True)
        if (problem := differs(a, b, c, draw, derived=name.startswith(GRADIENT)))
    ]


def tied(draw: Draw) -> bool:
    """Whether a query's last key that is taken weighs what the first does that is not, to rounding."""
    read = draw.options.get("read")
    if not isinstance(read, reads.Argmax | reads.TopK):
        return False
    soft = copy(draw)
    soft.options = {**draw.options, "read": reads.Soft(), "aux": AuxRequest(weights=True)}
    found = computed(soft, torch.float64, "reference")
    assert found is not None
    weights, count = dict(found)["weights"].abs(), read.k if isinstance(read, reads.TopK) else 1
    if weights.shape[-1] <= count:
        return False
    last, following = weights.topk(count + 1).values[..., -2:].unbind(-1)
    return bool(((last > 0) & (last - following < 1e-12 * last)).any())


def structural(ours: list[tuple[str, Tensor]], truth: list[tuple[str, Tensor]]) -> list[str]:
    """Shapes alone and finiteness, where rounding may change what is chosen."""
    return [
        f"{name}: shape {tuple(a.shape)} for {tuple(b.shape)}, or not finite"
        for (name, a), (_, b) in zip(ours, truth, strict=True)
        if a.shape != b.shape or bool(torch.isnan(a).any())
    ]


def differs(ours: Tensor, truth: Tensor, plain: Tensor, draw: Draw, *, derived: bool = False) -> str | None:
    """The difference, if it is more than the allowance of the dtype."""
    if ours.shape != truth.shape:
        return f"shape {tuple(ours.shape)} for {tuple(truth.shape)}"
    sparse = isinstance(draw.options["normalizer"], normalizers.Sparsemax | normalizers.Entmax)
    if not ours.numel() or (derived and sparse and draw.dtype != torch.float64):
        return None  # rounding decides the support, at whose edge the derivative jumps
    empty = torch.isinf(truth) | torch.isinf(plain)  # beyond what a half type holds
    if not torch.equal(empty, torch.isinf(ours.double())):
        return "infinite in other places"
    a, b, c = (tensor.double().masked_fill(empty, 0.0) for tensor in (ours, truth, plain))
    size = b.abs().max().clamp(min=1.0)
    if not isinstance(draw.options["normalizer"], normalizers.Softmax):
        size = size * max(1, draw.key.shape[-2]) ** 0.5  # a sum of so many terms, no mean, or a threshold of as many
    if derived:  # a sum over all queries or keys of terms with the other side's numbers in them
        size = size * max(draw.query.shape[-2], draw.key.shape[-2], 1) ** 0.5 * (1 + largest(draw.query, draw.key))
    eps = torch.finfo(draw.dtype).eps
    factor = 3 if draw.dtype in (torch.float32, torch.float64) else 2
    compute = torch.finfo(torch.float64 if draw.dtype == torch.float64 else torch.float32).eps
    allowance = factor * (c - b).abs().max() + 8 * eps * size + 4 * compute * magnitude(draw) * size
    worst = (a - b).abs().max()
    return None if bool(worst <= allowance) else f"off by {worst:.3g}, allowed {allowance:.3g}"


def largest(*tensors: Tensor) -> float:
    """The largest size of a number."""
    return max(tensor.abs().max().item() if tensor.numel() else 0.0 for tensor in tensors)


def magnitude(draw: Draw) -> float:
    """The largest score with its bias: what every sum rounds in proportion to (Σ|v| if additive, law 3)."""
    kind, added = draw.options["score"], 0.0
    if "bias" in draw.options:
        grid = Grid(draw.query.shape[-2], draw.key.shape[-2], 0, draw.query.shape[-2], draw.query.device)
        values = biases.as_bias(draw.options["bias"]).values(grid, torch.float64)
        added = largest(values.masked_fill(values == -torch.inf, 0.0))
    if isinstance(kind, scores.Additive):
        return added + 4 * kind.v.abs().sum().item()
    return added + largest(kind(draw.query, draw.key))


def described(draw: Draw) -> str:
    """The call in one line."""
    shapes = " ".join(str(tuple(tensor.shape)) for tensor in (draw.query, draw.key, draw.value))
    names = {name: type(thing).__name__ for name, thing in draw.options.items() if name != "aux"}
    return f"{draw.backend} {draw.dtype} {shapes} {names} {draw.options['aux'].names()}"


def main() -> int:
    """Runs the calls and prints a summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="repeat one call by its number")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no call after so many")
    parser.add_argument("--device", default="cpu", help="where the calls are computed; the definition is on the CPU")
    parser.add_argument("--gradients", action="store_true", help="compare the gradients of the tensors, too")
    arguments = parser.parse_args()
    numbers = range(arguments.calls) if arguments.only is None else [arguments.only]
    begin, made, wrong, skipped = time.perf_counter(), 0, 0, 0
    for number in numbers:
        if time.perf_counter() - begin > arguments.seconds:
            break
        draw, made = drawn(arguments.seed, number, arguments.device, arguments.gradients), made + 1
        problems = told(draw)
        skipped += problems is None
        if problems:
            wrong += 1
            print(f"call {number}: {described(draw)}: {'; '.join(problems)}", flush=True)
    told_of = f"{made} calls, {skipped} of them refused by the backend named, {wrong} mismatches"
    print(f"{told_of}, seed {arguments.seed}, {time.perf_counter() - begin:.0f} s")
    return 1 if wrong else 0


def told(draw: Draw) -> list[str] | None:
    """The mismatches of a call, or the error in which it ends: the calls after it are made all the same."""
    try:
        return mismatches(draw)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a mismatch, and told
        return [f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"]


if __name__ == "__main__":
    sys.exit(main())
