"""Registers, spills and instructions of the GPU's kernels, compiled without a GPU.

    python tools/ptxas.py                  # results/benchmarks/triton-registers.json, and docs/gpu-kernels.md
    python tools/ptxas.py --to FILE        # the file alone

Calls run on a CPU up to the launch of a kernel, and the kernel is compiled for the arguments of that launch. The exit
status is 1 if a kernel spills more than a few registers to memory, or needs more shared memory than a program has.
"""

import argparse
import contextlib
import io
import itertools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch import Tensor

ROOT = Path(__file__).resolve().parents[1]
FILE, PAGE = ROOT / "results/benchmarks/triton-registers.json", ROOT / "docs/gpu-kernels.md"
START, END = "<!-- tools/ptxas.py writes what follows -->\n", "<!-- tools/ptxas.py: the end -->\n"
SHARED = {80: 163 << 10, 90: 227 << 10}
"""Bytes of shared memory of a program (CUDA C++ Programming Guide)."""
SPILLED = 32
"""Most bytes that a thread may spill.

ptxas trades up to eight registers for a further program at the same time.
"""
MEASURED = 2048
"""Most bytes that a thread may spill with a tile of 64 x 64 of float32.

On an H200 such a pass takes 0.6 of the time of 32 x 32, which spills nothing (results/benchmarks/gpu-tiles.json).
"""
LENGTH, HEADS = 64, 2
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}
TYPES = {
    torch.bfloat16: "bf16", torch.float32: "fp32", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8",
    torch.bool: "i1",
}  # fmt: skip
PRODUCTS = {"wgmma": r"wgmma\.mma_async\.sync", "mma": r"mma\.sync\.aligned"}
CALLS = {
    128: ("softmax", "looks, dropout", "sparsemax", "table of distances", "additive", "Gaussian"),
    256: ("softmax", "causal"),
}
"""Calls by features; all with fewer."""
WIDE = r"ld\.global\S*\.(?:v4\.[bfu]32|v2\.[bfu]64)|cp\.async\.cg\.shared\.global [^;]*, 0x10"
"""A load of 16 bytes."""


class Launch(NamedTuple):
    """A kernel with its arguments and constants."""

    kernel: Any
    arguments: tuple[Any, ...]
    constants: dict[str, Any]


def calls(dtype: torch.dtype, features: int) -> dict[str, Callable[[], Any]]:
    """Calls by name, each with its backward."""
    from saccade import AuxRequest, attend, biases, masks, normalizers, reads, scores
    from saccade.kernels import gpu_rows

    def call(look: Callable[[Any], Any] | None = None, **options: Any) -> Callable[[], None]:
        def run() -> None:
            sides = (torch.zeros(1, HEADS, LENGTH, features, dtype=dtype, requires_grad=True) for _ in range(3))
            results = attend(*sides, backend="triton", **options)
            output = results[0] if look is not None else results
            (output.float().sum() + (0.0 if look is None else look(results[1]).float().sum())).backward()

        return run

    def rows(alpha: float, keys: int, masked: bool) -> Callable[[], None]:
        mask = torch.ones(4, keys, dtype=torch.bool) if masked else None
        return lambda: gpu_rows.entmax(torch.zeros(4, keys, requires_grad=True), alpha, mask).sum().backward()

    ids, table = torch.zeros(LENGTH, dtype=torch.int64), torch.zeros(HEADS, 65, dtype=dtype, requires_grad=True)
    allowed = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    uniform, v = torch.rand(1, HEADS, LENGTH), torch.zeros(features, dtype=dtype, requires_grad=True)
    looks = AuxRequest(entropy=True, top=4, received=True)
    return {
        "softmax": call(),
        "causal": call(mask=masks.Causal()),
        "documents": call(mask=masks.Documents(ids, ids)),
        "mask of pairs": call(mask=allowed),
        "looks, dropout": call(
            lambda aux: aux.entropy.sum() + aux.top[0].sum() + aux.received.sum(), aux=looks, dropout_p=0.1
        ),
        "weights": call(lambda aux: aux.weights, aux=AuxRequest(weights=True)),
        "draw": call(read=reads.Sample("straight_through", uniform=uniform)),
        "sparsemax": call(normalizer=normalizers.Sparsemax()),
        "entmax 1.5": call(normalizer=normalizers.Entmax(1.5)),
        "entmax 1.3": call(normalizer=normalizers.Entmax(1.3)),
        "table of distances": call(bias=biases.RelativePosition(table)),
        "additive": call(score=scores.Additive(v)),
        "Gaussian": call(score=scores.Gaussian(1.0)),
        **(
            {}
            if dtype != torch.float32 or features > 64
            else {
                f"rows of {keys} keys, {alpha}": rows(alpha, keys, keys != 8192)
                for alpha, keys in itertools.product((1.3, 2.0, 1.5), (64, 4096, 8192))
            }
        ),
    }


@contextlib.contextmanager
def recorded() -> Iterator[list[Launch]]:
    """Record launches instead of running them."""
    from saccade.backends import triton
    from saccade.backends.triton import blocks, fused
    from saccade.kernels import gpu_rows

    launches: list[Launch] = []

    def launch(kernel: Any, _: int, *arguments: Any, **constants: Any) -> None:
        for part in arguments:  # results that are keys
            if isinstance(part, Tensor) and part.dtype == torch.int64:
                part.zero_()
        launches.append(Launch(kernel, arguments, constants))

    with (
        mock.patch.object(blocks, "launch", launch),
        mock.patch.object(fused, "launch", launch),
        mock.patch.object(gpu_rows, "launch", launch),
        mock.patch.object(gpu_rows, "DEVICE", "cpu"),
        mock.patch.object(triton, "unsupported", triton.unserved),  # not on a CPU, else
    ):
        yield launches


def type_of(argument: Any) -> str:
    """Triton's name for the type of an argument."""
    if isinstance(argument, Tensor):
        return "*" + TYPES[argument.dtype]
    return "fp32" if isinstance(argument, float) else "i32"


def compiled(launch: Launch, capability: int) -> tuple[Any, str]:
    """The compiled kernel of a launch, and the report of ptxas."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from saccade.kernels.triton import ALIGNED

    names, constants = list(launch.kernel.arg_names), dict(launch.constants)
    options = {name: constants.pop(name) for name in ("num_warps", "num_stages") if name in constants}
    types = dict(zip(names, map(type_of, launch.arguments), strict=False)) | dict.fromkeys(constants, "constexpr")
    source = ASTSource(
        fn=launch.kernel,
        signature={name: types[name] for name in names},
        constexprs={(names.index(name),): value for name, value in constants.items()},
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in names if name in ALIGNED},
    )
    log = io.StringIO()
    with (
        mock.patch.dict(os.environ, TRITON_DUMP_PTXAS_LOG="1", TRITON_ALWAYS_COMPILE="1"),
        contextlib.redirect_stdout(log),
    ):
        target = GPUTarget("cuda", capability, 32)
        kernel = triton.compile(source, target=target, options={**options, "enable_fp_fusion": True})
    return kernel, log.getvalue()


def row_of(launch: Launch, capability: int) -> dict[str, Any]:
    """Numbers of a compiled kernel."""
    kernel, report = compiled(launch, capability)
    used, spilled = re.search(r"Used (\d+) registers", report), re.search(r"(\d+) bytes spill stores", report)
    if not used or not spilled:
        raise RuntimeError(f"ptxas: expected a report of registers, got {report!r}")
    ptx, constants = kernel.asm["ptx"], launch.constants
    counts = {name: len(re.findall(pattern, ptx)) for name, pattern in PRODUCTS.items()}
    return {
        "capability": capability,
        "tile": [constants[name] for name in ("ROWS", "KEYS", "PIECE") if name in constants],
        "warps": kernel.metadata.num_warps,
        "registers": int(used[1]),
        "spilled": int(spilled[1]),
        "shared": kernel.metadata.shared,
        **counts,
        "loads_of_16_bytes": len(re.findall(WIDE, ptx)),
    }


def rows() -> Iterator[dict[str, Any]]:
    """Yield a row for each kernel.

    There are all calls with 64 features, the heaviest with 128, and forwards with 256.
    """
    variants = set()
    for dtype, features in itertools.product(DTYPES, (64, 128, 256)):
        for name, call in calls(DTYPES[dtype], features).items():
            if name not in CALLS.get(features, [name]):
                continue
            with recorded() as launches:
                call()
            for launch, capability in itertools.product(launches, SHARED):
                kernel = launch.kernel.fn.__name__
                variant = kernel, *map(type_of, launch.arguments), *launch.constants.items(), capability
                if variant in variants or (features == 256 and kernel != "forward"):
                    continue
                variants.add(variant)
                of_call = {} if "PIECE" in launch.constants else {"dtype": dtype, "features": features}
                yield {"call": name, "kernel": kernel, **of_call, **row_of(launch, capability)}


def failures(stored: Mapping[str, Any]) -> list[str]:
    """Kernels that spill, or need too much shared memory."""
    return [
        f"{row['call']}, {row['kernel']}: {row}"
        for row in stored["rows"]
        if row["spilled"] > (MEASURED if large(row) else SPILLED) or row["shared"] > SHARED[row["capability"]]
    ]


def large(row: Mapping[str, Any]) -> bool:
    """Whether a tile was measured to be faster, although it spills."""
    return row.get("dtype") == "float32" and row["tile"] == [64, 64] and row["kernel"] in ("forward", "read")


def versions() -> dict[str, str]:
    """Versions of Triton and of its ptxas."""
    import triton
    from triton.backends.nvidia.compiler import get_ptxas

    return {"triton": triton.__version__, "ptxas": get_ptxas(90).version}


def table(stored: Mapping[str, Any]) -> str:
    """Registers of a thread, with a line for each kernel of a call."""
    sides = [(dtype, features) for dtype in DTYPES for features in (64, 128, 256)]
    lines: dict[tuple[str, str], dict[Any, str]] = {}
    for row in stored["rows"]:
        cells = lines.setdefault((row["call"], row["kernel"]), {})
        side = (row["dtype"], row["features"]) if "dtype" in row else sides[3]
        number = f"{row['registers']}" + (f" ({row['spilled']} bytes spilled)" if row["spilled"] else "")
        cells[side] = f"{cells[side]} / {number}" if side in cells else number
        used = [name for name in PRODUCTS if row[name]]
        if used:
            before = cells.get("products", "")
            cells["products"] = before if used[0] in before.split(", ") else ", ".join(filter(None, (before, used[0])))
    head = ["call", "kernel", *(f"{dtype}, {features}" for dtype, features in sides), "products"]
    body = [[*line, *(cells.get(side, "") for side in (*sides, "products"))] for line, cells in lines.items()]
    version = f"Triton {stored['versions']['triton']}, ptxas {stored['versions']['ptxas']}.\n\n"
    return version + "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *body))


def write(stored: Mapping[str, Any]) -> str:
    """The page with the table of stored rows."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    return f"{before}{START}\n{table(stored)}\n{END}{rest.split(END)[1]}"


def text(stored: Mapping[str, Any]) -> str:
    """The file, with a line for each row."""
    head = json.dumps({**stored, "rows": []}, indent=1).removesuffix("[]\n}")
    return head + "[\n" + ",\n".join(json.dumps(row) for row in stored["rows"]) + "\n]}\n"


def main() -> int:
    """Compile all kernels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, metavar="FILE")
    to = parser.parse_args().to
    os.environ["TRITON_INTERPRET"] = "0"
    stored = {"command": "python tools/ptxas.py", "versions": versions(), "rows": list(rows())}
    (to or FILE).write_text(text(stored), encoding="utf-8")
    if to is None:
        PAGE.write_text(write(stored), encoding="utf-8")
    print("\n".join(failures(stored)))
    return int(bool(failures(stored)))


if __name__ == "__main__":
    sys.exit(main())
