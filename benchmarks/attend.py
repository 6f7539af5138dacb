"""What `attend` costs beside torch's kernels and the textbook formulas: one table, and JSON.

    python benchmarks/attend.py [--seconds 2] [--json FILE]

Every row runs ours and the peer in one process, in turns, and compares medians: `ratio` is peer / ours (above 1 we are
faster), `behind` is ours − peer in microseconds. The speed of a plain multiply stands above the table.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from saccade import AuxRequest, attend, masks, remember, scores

Run = Callable[[], object]


def medians(ours: Run, peer: Run, seconds: float) -> tuple[float, float, int]:
    """Median seconds of each, measured in turns for about `seconds` (at least 5 rounds), and the number of rounds."""
    ours(), peer()
    times: tuple[list[float], list[float]] = ([], [])
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(times[0]) < 5:
        for run, kept in zip((ours, peer), times, strict=True):
            begin = time.perf_counter()
            run()
            kept.append(time.perf_counter() - begin)
    return statistics.median(times[0]), statistics.median(times[1]), len(times[0])


def normal(*shape: int, grad: bool = False) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(*shape, requires_grad=grad)


def trained(function: Callable[..., Tensor], *tensors: Tensor) -> Run:
    """Forward and backward of function(*tensors)."""

    def run() -> None:
        torch.autograd.grad(function(*tensors).sum(), [tensor for tensor in tensors if tensor.requires_grad])

    return run


def dot_rows() -> list[tuple[str, str, Run, Run]]:
    """`attend` beside torch's kernel on the same call, from tiny to large."""
    rows: list[tuple[str, str, Run, Run]] = []
    for shape in ((1, 1, 4, 8), (2, 4, 16, 16), (16, 16), (2, 4, 128, 32), (4, 8, 512, 64), (1, 8, 2048, 64)):
        inputs = tuple(normal(*shape) for _ in range(3))
        name = "x".join(map(str, shape))
        rows.append((f"dot {name}", "torch", lambda x=inputs: attend(*x), lambda x=inputs: sdpa(*x)))
        if len(shape) == 4:
            causal = masks.Causal()
            allowed = torch.rand(shape[0], 1, shape[2], shape[2]) > 0.3
            rows.append(
                (
                    f"dot causal {name}",
                    "torch",
                    lambda x=inputs, m=causal: attend(*x, mask=m),
                    lambda x=inputs: sdpa(*x, is_causal=True),
                )
            )
            rows.append(
                (
                    f"dot mask {name}",
                    "torch",
                    lambda x=inputs, m=allowed: attend(*x, mask=m),
                    lambda x=inputs, m=allowed: sdpa(*x, m),
                )
            )
        learning = tuple(normal(*shape, grad=True) for _ in range(3))
        rows.append(
            (f"dot training forward {name}", "torch", lambda x=learning: attend(*x), lambda x=learning: sdpa(*x))
        )
        rows.append((f"dot forward+backward {name}", "torch", trained(attend, *learning), trained(sdpa, *learning)))
    return rows


def textbook(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
    """Additive attention as it is usually written."""
    scored = torch.tanh(query[..., :, None, :] + key[..., None, :, :]) @ v
    return torch.softmax(scored, -1) @ value


def ours_additive(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
    """The same by `attend`."""
    return attend(query, key, value, score=scores.Additive(v))


def additive_rows() -> list[tuple[str, str, Run, Run]]:
    """Additive attention beside the textbook formula: whole sequences, training, and one step of a decoder."""
    rows: list[tuple[str, str, Run, Run]] = []
    for batch, length, dim in ((8, 64, 256), (8, 256, 256)):
        inputs = (*(normal(batch, length, dim) for _ in range(3)), normal(dim))
        learning = (*(normal(batch, length, dim, grad=True) for _ in range(3)), normal(dim, grad=True))
        name = f"B{batch} L{length} D{dim}"
        rows.append((f"additive {name}", "eager", lambda x=inputs: ours_additive(*x), lambda x=inputs: textbook(*x)))
        rows.append(
            (
                f"additive forward+backward {name}",
                "eager",
                trained(ours_additive, *learning),
                trained(textbook, *learning),
            )
        )
    query, key, v = normal(64, 1, 512), normal(64, 32, 512), normal(512)
    memory = remember(key, key, score=scores.Additive(v))
    rows.append(
        (
            "additive decoder step B64 S32 D512",
            "eager",
            lambda: memory.read(query),
            lambda: textbook(query, key, key, v),
        )
    )
    return rows


def statistics_rows() -> list[tuple[str, str, Run, Run]]:
    """Statistics in linear memory beside the plain call of the same backend."""
    inputs = tuple(normal(1, 4, 1024, 64) for _ in range(3))
    plain: Run = lambda: attend(*inputs, backend="chunked")  # noqa: E731
    requests = {
        "lse": AuxRequest(lse=True),
        "entropy": AuxRequest(entropy=True),
        "top 4": AuxRequest(top=4),
        "received": AuxRequest(received=True),
    }
    return [
        (f"{name} 1x4x1024x64", "without", lambda r=request: attend(*inputs, aux=r, backend="chunked"), plain)
        for name, request in requests.items()
    ]


def multiply_rate() -> float:
    """GFLOP/s of a plain float32 matrix product here, the limit of everything that multiplies."""
    a = normal(1024, 1024)
    seconds, _, _ = medians(lambda: a @ a, lambda: None, 0.5)
    return 2 * 1024**3 / seconds / 1e9


def main() -> int:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to measure each row")
    parser.add_argument("--json", type=Path, help="also write the rows there")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    machine = {
        "processor": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "multiply_gflops": round(multiply_rate(), 1),
    }
    print(machine)
    print(f"{'row':44}{'peer':>9}{'ours us':>12}{'peer us':>12}{'ratio':>8}{'behind us':>11}")
    found: list[dict[str, Any]] = []
    for name, peer_name, ours, peer in (*dot_rows(), *additive_rows(), *statistics_rows()):
        mine, theirs, rounds = medians(ours, peer, arguments.seconds)
        behind = (mine - theirs) * 1e6
        print(
            f"{name:44}{peer_name:>9}{mine * 1e6:12.1f}{theirs * 1e6:12.1f}{theirs / mine:8.2f}{behind:11.1f}",
            flush=True,
        )
        found.append(
            {"row": name, "peer": peer_name, "ours_s": mine, "peer_s": theirs, "ratio": theirs / mine, "rounds": rounds}
        )
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine, "rows": found}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
