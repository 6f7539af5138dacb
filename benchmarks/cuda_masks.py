"""From which size on a map of blocks pays on a GPU: what skips blocks, beside torch's kernel with the mask laid out.

    python benchmarks/cuda_masks.py [--output FILE] [--seconds 0.1] [--batch 1]

Eight heads of 64 features under windows, causality, documents and prefixes, forward and trained, by each backend that
serves the call, in turns in one process. What `auto` takes is named beside.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade import attend, errors, explain, masks
from saccade.bench.measure import medians, turns
from saccade.masks import Mask
from saccade.train.environment import hardware, versions

LENGTHS = (512, 1024, 2048, 4096, 8192)
BACKENDS = ("sdpa", "flex", "chunked", "triton")
MASKS: dict[str, Callable[[int], Mask]] = {
    "Window(128, 0)": lambda length: masks.Window(128, 0),
    "Causal": lambda length: masks.Causal(),
    "Window(half, 0)": lambda length: masks.Window(length // 2, 0),
    "8 documents": lambda length: masks.Documents(*2 * (torch.arange(length, device="cuda") // (length // 8),)),
    "Prefix(three quarters)": lambda length: masks.Prefix(3 * length // 4),
}


def calls(
    dtype: torch.dtype, batch: int, lengths: Sequence[int]
) -> Iterator[tuple[str, int, bool, tuple[Tensor, ...], Mask]]:
    """Everything that is timed: mask, length, whether trained, and the tensors."""
    for name, mask in MASKS.items():
        for length in lengths:
            for trained in (False, True):
                shape = (batch, 8, length, 64)
                tensors = tuple(torch.randn(shape, device="cuda", dtype=dtype, requires_grad=trained) for _ in range(3))
                yield name, length, trained, tensors, mask(length)


def prepared(tensors: tuple[Tensor, ...], mask: Mask, backend: str, *, trained: bool) -> Callable[[], object]:
    """The call, with its backward if trained."""
    upstream = torch.randn_like(tensors[0])

    def run() -> object:
        output = attend(*tensors, mask=mask, backend=backend)
        return torch.autograd.grad(output, tensors, upstream) if trained else output

    return run


def main() -> None:
    """Prints a line a call, and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", help="write what was measured as JSON to this new file")
    parser.add_argument("--seconds", type=float, default=0.1, help="of each call's turns")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float16", "float32"))
    parser.add_argument("--batch", type=int, default=1)
    given = parser.parse_args()
    found = []
    for name, length, trained, tensors, mask in calls(getattr(torch, given.dtype), given.batch, given.lengths):
        runs: dict[str, Callable[[], object]] = {}
        row: dict[str, Any] = {"mask": name, "length": length, "trained": trained}
        for backend in BACKENDS:
            run = prepared(tensors, mask, backend, trained=trained)
            try:
                run()
                runs[backend] = run
            except (errors.SaccadeError, RuntimeError) as error:
                row[f"{backend} failed"] = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"[:200]
        rounds = turns(list(runs.values()), seconds=given.seconds, wait=torch.cuda.synchronize)
        row |= dict(zip(runs, medians(rounds), strict=True))
        row["auto"] = explain(*tensors, mask=mask).backend
        print(row, flush=True)
        found.append(row)
    if given.output:
        lengths = " ".join(map(str, given.lengths))
        command = f"python benchmarks/cuda_masks.py --batch {given.batch} --dtype {given.dtype} --lengths {lengths}"
        record = {"command": command, "hardware": hardware(torch.device("cuda")), "versions": versions()}
        Path(given.output).write_text(json.dumps({**record, "rows": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
