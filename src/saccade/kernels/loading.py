"""Machine code of kernels, brought into memory by LLVM alone.

Importing Numba and filling its registries takes three seconds, as long as importing torch. A kernel that is kept needs
neither: only the addresses of Numba's C functions, which lie in two of its extension modules.
"""

import builtins
import functools
import importlib.util
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from saccade.kernels import cache

_MATH = {f"{name}{kind}" for name in ("exp", "expm1", "log", "log10", "log1p", "pow", "tanh") for kind in ("", "f")}
"""Functions of the C library for LLVM's operations."""


class Loaded(NamedTuple):
    """A kernel's machine code in memory. Its engine frees it."""

    address: int
    anew: bool
    memory: Any


def kept(name: str) -> Loaded | None:
    """A kernel of the cache, or None if it is missing or needs Numba."""
    try:
        code = cache.read(cache.folder(), name)
    except OSError:
        return None  # its compilation will warn
    return None if code is None else load(code)


def load(code: cache.Code, *, anew: bool = False) -> Loaded | None:
    """A kernel's machine code in its own engine, or None if a symbol has no address.

    In one engine for all, a function that several pieces contain is that of the first piece. Two copies of it may round
    differently, so the process that compiles would compute other bits than those after it.
    """
    _define_symbols()
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)  # from here on LLVM knows Python's symbols
    if any(llvm.address_of_symbol(name) is None for name in code.symbols):
        return None  # LLVM would end the process
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.machine))
    engine.finalize_object()
    return Loaded(engine.get_function_address(code.entry), anew, engine)


@functools.cache
def _define_symbols() -> None:
    """Give LLVM addresses of Numba's C functions and exceptions, by Numba's names.

    They are those of `numba.core.base`, `numba.core.externals` and `numba.core.runtime.nrt`.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    spec = importlib.util.find_spec("numba")
    root = None if spec is None or spec.origin is None else Path(spec.origin).parent
    helpers = _extension("numba._helperlib", root)
    runtime = _extension("numba.core.runtime._nrt_python", root and root / "core" / "runtime")
    if helpers is None or runtime is None:
        return
    runtime.memsys_use_cpython_allocator()
    symbols = {f"numba_{name}": address for name, address in helpers.c_helpers.items()}
    symbols |= {name: helpers.c_helpers[name] for name in _MATH & helpers.c_helpers.keys()}
    symbols |= {name if name[0] == "_" else f"NRT_{name}": address for name, address in runtime.c_helpers.items()}
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, BaseException):
            symbols[f"PyExc_{name}"] = id(value)  # the object, where C has a pointer to it
    for name, address in symbols.items():
        llvm.add_symbol(name, address)


def _extension(name: str, folder: Path | None) -> ModuleType | None:
    """An extension module of Numba, without the packages that it lies in."""
    spec = None if folder is None else PathFinder.find_spec(name, [str(folder)])
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
