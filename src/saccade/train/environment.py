"""Where a run took place: the device, the machine and the versions, for results.json."""

import os
import platform
from importlib import metadata
from pathlib import Path

import torch

from saccade.errors import ArgumentError

__all__ = ["check_precision", "choose_device", "hardware", "versions"]

_PACKAGES = ("saccade", "torch", "lightning", "babel", "tokenizers", "safetensors", "numpy")


def choose_device(name: str, local: int = 0, here: int = 1) -> torch.device:
    """Return the device that --device names, or where several processes share the machine, one's own.

    Args:
        name: "cpu", "cuda", "cuda:1", or "auto" for a GPU if there is one.
        local: number of this process among those on this machine.
        here: how many there are.

    Raises:
        ArgumentError: if there is no such device, or fewer than processes.

    Example:
        >>> choose_device("cpu")
        device(type='cpu')
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    kind, colon, index = name.partition(":")
    count = {"cpu": 1, "cuda": torch.cuda.device_count()}.get(kind, 0)
    if not (index if colon else "0").isdecimal() or int(index or 0) >= count:
        there = ["auto", "cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
        raise ArgumentError(f"--device: expected one of {', '.join(there)}, got {name}")
    if kind == "cuda" and here > 1:
        if colon or here > count:
            got = name if colon else f"{here} for {count}"
            raise ArgumentError(f"--processes: expected, with --device cuda, a GPU for each, got {got}")
        return torch.device("cuda", local)
    return torch.device(name)


def check_precision(precision: str, device: torch.device) -> None:
    """Check that a device computes in a precision.

    Raises:
        ArgumentError: if it does not.

    Example:
        >>> check_precision("bf16", torch.device("cpu"))
    """
    if precision == "16" and device.type == "cpu":
        raise ArgumentError("--precision: expected 32 or bf16 on a CPU, got 16; only a GPU computes in it")
    if precision == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        raise ArgumentError("--precision: expected 32 or 16, got bf16, which this GPU computes only in emulation")


def hardware(device: torch.device) -> dict[str, object]:
    """Return what the machine is: processor, cores, threads used, and the GPU where the device is one."""
    found: dict[str, object] = {
        "device": str(device),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
    }
    if device.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
    return found


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on, those that are installed."""
    found = {"python": platform.python_version(), "torch": str(torch.__version__)}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """The processor's name: Linux keeps it in a file, other systems say it themselves."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
