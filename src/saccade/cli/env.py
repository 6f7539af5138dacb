"""`saccade env`: versions and hardware, for the report of a bug."""

import json
from dataclasses import dataclass
from typing import Any

from saccade._system.notes import output
from saccade.cli.arguments import parse

_PACKAGES = ("lightning", "numpy", "numba", "triton", "tokenizers", "pyarrow", "scikit-learn", "matplotlib")
_GIB = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Print versions, processor, memory and GPUs, for the report of a bug."""

    json: bool = False
    """Write one JSON object instead."""


def run(arguments: list[str]) -> int:
    """Print a line for each version and part of the machine."""
    options = parse(Arguments, arguments, "saccade env", Arguments.__doc__ or "")
    facts = environment()
    if options.json:
        output(json.dumps(facts, ensure_ascii=False, indent=2))
        return 0
    for name, value in facts.items():
        output(f"{name}: {', '.join(value) or 'none' if isinstance(value, list) else value}")
    return 0


def environment() -> dict[str, Any]:
    """Return versions and hardware."""
    import platform

    import torch

    from saccade._system.environment import busy_cores, free_bytes, hardware, multiplies_bfloat16, versions

    cpu = torch.device("cpu")
    machine, free = hardware(cpu), free_bytes(cpu)
    return {
        **versions(_PACKAGES),
        "system": platform.platform(),
        "processor": machine["processor"],
        "cores": machine["cores"],
        "threads of torch": machine["threads"],
        "cores in use by others": round(busy_cores(), 1),
        "free memory": "unknown" if free is None else f"{free / _GIB:.1f} GiB",
        "bfloat16 units": "yes" if multiplies_bfloat16() else "no",
        "CUDA of torch": torch.version.cuda or "none",
        "GPUs": [_gpu(index) for index in range(torch.cuda.device_count())],
    }


def _gpu(index: int) -> str:
    import torch

    facts = torch.cuda.get_device_properties(index)
    return f"{facts.name} ({facts.total_memory / _GIB:.0f} GiB, compute capability {facts.major}.{facts.minor})"
