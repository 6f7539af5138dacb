"""The device, the machine and the versions of a run."""

import ctypes
import math
import os
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import metadata
from pathlib import Path

import torch

from saccade import __version__
from saccade.errors import ArgumentError

_IDLE = 0.25  # share of the cores that others may use before this process takes fewer threads
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of mallopt, in <malloc.h>; 32 MiB is the most that the second takes
_SHAPES = 16  # a step of a Transformer has three times as many, and is some per cent slower than if all were kept
_SHAPE_CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")  # oneDNN's own, and PyTorch's before it
_PROCESS = 350 << 20  # bytes of a process before it has a model
_WIDTH, _TIMINGS = 512, 5  # of a product of typical size
_STARTED = 19  # place of the start, in ticks since boot, behind the name in /proc/self/stat
_MEMORY, _LIMIT = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")
_PACKAGES = ("lightning", "babel", "tokenizers", "safetensors", "numpy")


def choose_device(name: str, local: int = 0, here: int = 1) -> torch.device:
    """Return the device of `--device`, for process `local` of `here` on this machine.

    Raises ArgumentError if there is no such device, or fewer GPUs than processes.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    kind, colon, index = name.partition(":")
    count = {"cpu": 1, "cuda": torch.cuda.device_count()}.get(kind, 0)
    if not (index if colon else "0").isdecimal() or int(index or 0) >= count:
        there = ["auto", "cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
        raise ArgumentError(f"--device: expected one of {', '.join(there)}, got {name}")
    if kind == "cuda":  # cuBLAS reads it once, when it first multiplies, and without it refuses deterministic work
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if kind == "cuda" and here > 1:
        if colon or here > count:
            got = name if colon else f"{here} for {count}"
            raise ArgumentError(f"--processes: expected, with --device cuda, a GPU for each, got {got}")
        return torch.device("cuda", local)
    return torch.device(name)


def check_precision(precision: str, device: torch.device) -> None:
    """Check that a device computes in a precision. Raises ArgumentError."""
    if precision == "16" and device.type == "cpu":
        raise ArgumentError("--precision: expected 32 or bf16 on a CPU, got 16; only a GPU computes in it")
    if precision == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        raise ArgumentError("--precision: expected 32 or 16, got bf16, which this GPU computes only in emulation")


def multiplies_bfloat16(device: str = "auto") -> bool:
    """Whether a device has units for bfloat16.

    A CPU without them is many times slower in bfloat16.
    """
    if device != "cpu" and torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if platform.machine().lower() in ("arm64", "aarch64"):
        return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    checks = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(check is not None and check() for check in checks)


@cache
def bfloat16_speedup(device: str = "auto") -> float:
    """Speed of a product of bfloat16 in multiples of float32.

    It is measured once in a process. It is 0 for a CPU without units for bfloat16. A GPU with such units has no
    measurement, and infinity.
    """
    if not multiplies_bfloat16(device):
        return 0.0
    if device != "cpu" and torch.cuda.is_available():
        return math.inf
    return _product_seconds(torch.float32, "highest") / _product_seconds(torch.bfloat16, "highest")


@cache
def rounding_speedup(precision: str, device: str = "auto") -> float:
    """Speed of a product of float32 under a `matmul_precision`; exact products have 1.

    It is measured once in a process. It is 1 for a GPU, and for a CPU that does not round.
    """
    rounds = torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    if (device != "cpu" and torch.cuda.is_available()) or not rounds:
        return 1.0
    return _product_seconds(torch.float32, "highest") / _product_seconds(torch.float32, precision)


def _product_seconds(dtype: torch.dtype, precision: str) -> float:
    """Least seconds of a product of typical size, since other processes disturb some."""
    bound_shape_caches()  # before the first use of oneDNN
    matrix, seconds = torch.ones(_WIDTH, _WIDTH, dtype=dtype), list[float]()
    with torch.inference_mode(), matmul_precision(precision):
        for _ in range(_TIMINGS):
            began = time.perf_counter()
            matrix @ matrix
            seconds.append(time.perf_counter() - began)
    return max(min(seconds), 1e-9)


def process_seconds() -> float:
    """Return the seconds since the start of this process, 0 if they are unknown."""
    try:
        fields = Path("/proc/self/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        started = int(fields[_STARTED]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    except (OSError, AttributeError, IndexError):
        return 0.0


def check_processes(count: int) -> None:
    """Check that the memory suffices for the imports of `count` processes.

    Raises ArgumentError if it does not.
    """
    free = free_bytes(torch.device("cpu"))
    if count > 1 and free is not None and count * _PROCESS > free:
        why = f"each takes {_PROCESS >> 20} MiB and more, and {free >> 20} MiB are free"
        raise ArgumentError(f"--processes: expected at most {max(1, free // _PROCESS)}, got {count}: {why}")


def free_bytes(device: torch.device) -> int | None:
    """Return the free memory of a device, None if the system has no such figure."""
    if device.type == "cuda":
        torch.cuda.empty_cache()  # memory that torch keeps is free too
        return int(torch.cuda.mem_get_info(device)[0])
    lines = _MEMORY.read_text(encoding="utf-8").splitlines() if _MEMORY.exists() else []
    available = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    limit = _LIMIT.read_text(encoding="utf-8").strip() if _LIMIT.exists() else "max"  # of a container
    return min([*available, *([int(limit)] if limit.isdecimal() else [])], default=None)


@contextmanager
def matmul_precision(precision: str) -> Iterator[None]:
    """Set torch.set_float32_matmul_precision within the block."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def keep_freed_memory() -> None:
    """Let glibc keep the memory of freed tensors.

    Fresh pages would take a tenth of a training step of a small model.
    """
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        for parameter, value in ((_M_TRIM_THRESHOLD, 2**31 - 1), (_M_MMAP_THRESHOLD, 32 << 20)):
            library.mallopt(parameter, value)


def busy_cores() -> float:
    """Return the number of cores in use by other processes.

    It is the mean of a minute, or the present number if that is smaller.
    """
    try:
        mean, state = os.getloadavg()[0], Path("/proc/loadavg")
        running = int(state.read_text("ascii").split()[3].partition("/")[0]) - 1 if state.exists() else mean
    except (AttributeError, OSError):  # on Windows, and in some containers
        return 0.0
    return max(0.0, min(mean, running))


def threads_for(busy: float, usual: int, cores: int) -> int:
    """Return how many of torch's usual threads are useful beside `busy` cores.

    Other processes use these cores.

    >>> [threads_for(busy, usual=8, cores=8) for busy in (0.0, 1.0, 2.6, 5.0, 30.0)]
    [8, 8, 5, 3, 1]
    """
    return usual if busy <= _IDLE * cores else min(usual, max(1, round(cores - busy)))


def bound_shape_caches() -> None:
    """Limit oneDNN's caches to the code of 16 shapes of products.

    The default is 2 x 1,024 shapes. Call this before the first use of the caches. An entry takes some 0.7 MB, and
    batches of texts hardly ever have a shape twice.
    """
    for name in _SHAPE_CACHES:
        os.environ.setdefault(name, str(_SHAPES))


def hardware(device: torch.device) -> dict[str, object]:
    """Return processor, cores, threads in use, and the GPU if the device is one."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "device": str(device),
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        **({"gpu": torch.cuda.get_device_name(device)} if device.type == "cuda" else {}),
    }


def versions(packages: Sequence[str] = _PACKAGES) -> dict[str, str]:
    """Return the versions of Python, Saccade, torch and installed packages."""
    numbers = {"python": platform.python_version(), "saccade": __version__, "torch": str(torch.__version__)}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            numbers[package] = metadata.version(package)
    return numbers
