"""Decorators of kernels, tables with names, blocks of work, arrays at addresses."""

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

import numpy as np
from llvmlite import ir
from numba import cfunc, extending, njit, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, models, overload, register_model
from numba.np.arrayobj import make_array, populate_array

from saccade.kernels import cache, loading

Decorator = Callable[[Callable[..., Any]], Any]

FAST = {"contract", "reassoc", "nsz"}
"""Liberties with floats. "nnan" and "ninf" would remove checks for NaN and ∞."""

F: Any = np.float32
"""A literal without it is a float64, and so is each result of it."""

intrinsic: Decorator = extending.intrinsic
"""Decorator of functions that write LLVM code themselves."""

inline: Decorator = njit(inline="always", fastmath=FAST, error_model="numpy")
"""Decorator of elementary functions, inlined into loops that then vectorize."""

loops: Decorator = njit(fastmath=FAST, error_model="numpy")
"""Decorator of functions of arrays, compiled apart so that arrays cannot alias.

Within a kernel, LLVM cannot tell that arrays made of addresses do not overlap: the loops took four times as long.
"""

exact: Decorator = njit(fastmath=FAST - {"reassoc"}, error_model="numpy")
"""Decorator like `loops`, in the written order: (x - m) - t keeps more digits."""


def elementary(double: Any) -> Callable[[Callable[[Any], Any]], Any]:
    """Decorator of a function of a float32, or of a row. `double` serves float64."""

    def decorate(single: Callable[[Any], Any]) -> Any:
        def function(x: Any) -> Any:
            return single(x)

        # written out: Numba compiles a function of the type it is called with, not a choice within one
        def of_float64(x: Any) -> Any:
            return double(x)

        def chosen(x: Any) -> Any:
            return of_float64 if getattr(x, "dtype", x) == types.float64 else single

        for version in (single, of_float64, chosen):
            version.__annotations__ = {}  # Numba compares those of all three
        overload(function, jit_options={"fastmath": FAST, "error_model": "numpy"})(chosen)

        function.__name__, function.__doc__ = single.__name__, single.__doc__
        return function

    return decorate


class Table(types.Type):
    """Type of a kernel's table: an address of int64 numbers, a NamedTuple's entries.

    `t.left` is the entry `left`. If `left` is annotated as another NamedTuple, the entries of that lie in the place of
    it, and `t.left` is their table. Two counts lie before a kernel's table: blocks taken, and blocks in all.
    """

    def __init__(self, layout: type) -> None:
        self.size = 0
        self.fields: dict[str, tuple[int, Any]] = {"blocks": (-1, types.int64)}
        for name, hint in get_type_hints(layout).items():
            part = Table(hint) if hasattr(hint, "_fields") else None
            self.fields[name] = self.size, part or types.int64
            self.size += part.size if part else 1
        super().__init__(f"{layout.__module__}.{layout.__qualname__}")


@register_model(Table)
class _TableModel(models.PrimitiveModel):
    def __init__(self, manager: Any, table: Table) -> None:
        super().__init__(manager, table, ir.IntType(64).as_pointer())


@infer_getattr
class _TableFields(AttributeTemplate):
    key = Table

    def generic_resolve(self, value: Any, attr: str) -> Any:  # type: ignore[override]  # NotImplemented there
        return value.fields[attr][1] if attr in value.fields else None


_field_reader: Decorator = lower_getattr_generic(Table)


@_field_reader
def _read_field(context: Any, builder: Any, table: Table, address: Any, name: str) -> Any:
    offset, kind = table.fields[name]
    field = builder.gep(address, [ir.Constant(ir.IntType(64), offset)])
    return field if isinstance(kind, Table) else builder.load(field)


def kernel(function: Callable[..., None]) -> Callable[..., loading.Loaded]:
    """Decorator: a call loads a kernel from disk, or compiles and stores it.

    The annotation of the first argument, a NamedTuple, is the layout of the kernel's table. A second argument is 0 of
    the type that the call names: one source for "float32" and "float64".

    Nothing is compiled before: a module with all its kernels takes up to a minute. Numba's own cache is not used: it
    misses changes in other files, and a file cut short is an error for good.
    """

    @functools.wraps(function)
    def load(*kind: str) -> loading.Loaded:
        name = ".".join([function.__module__.rpartition(".")[2], function.__qualname__, *kind])
        with global_compiler_lock:
            if (loaded := loading.kept(name)) is not None:
                return loaded
            with cache.alone(name):
                return loading.kept(name) or _compiled(name, function, *kind)

    return load


def _compiled(name: str, function: Callable[..., None], *kind: str) -> loading.Loaded:
    layout, *_ = get_type_hints(function).values()
    entry = _of_kind(function, *kind) if kind else function
    made: Any = cfunc(types.void(Table(layout)), fastmath=FAST, error_model="numpy")(entry)
    _, _, (machine, _) = made._library.serialize_using_object_code()
    module = made._library._final_module
    symbols = [value.name for value in (*module.functions, *module.global_variables) if value.is_declaration]
    code = cache.Code(made.native_name, tuple(name for name in symbols if not name.startswith("llvm.")), machine)
    try:
        cache.write(cache.folder(), name, code)
    except OSError as error:
        _warn_once(error)
    loaded = loading.load(code, anew=True)
    assert loaded is not None, f"{name}: Numba has given its symbols no addresses"
    return loaded


def _of_kind(function: Callable[..., None], kind: str) -> Callable[..., None]:
    body, zero = loops(function), getattr(np, kind)(0)
    return lambda t: body(t, zero)


_warned: list[str] = []


def _warn_once(error: OSError) -> None:
    if not _warned:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        _warned.append(reason)
        warnings.warn(
            f"saccade: kernels cannot be kept ({reason}), so each process compiles them anew, which takes up to half "
            "a minute; NUMBA_CACHE_DIR names another folder",
            RuntimeWarning,
            stacklevel=2,
        )


@intrinsic
def _take(context: Any, t: Any) -> Any:
    """Count one more block as taken, no two threads at once: how many were before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        taken = builder.gep(arguments[0], [ir.Constant(ir.IntType(64), -2)])
        return builder.atomic_rmw("add", taken, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(t), generate


@loops
def blocks(t: Any) -> Iterator[int]:
    """Blocks for a thread: each time the first that no other thread has taken."""
    block = _take(t)
    while block < t.blocks:
        yield block
        block = _take(t)


@inline
def rows_of(block: int, size: int, length: int) -> range:
    """Rows of a block of so many, of `length` in all."""
    return range(block * size, min(length, (block + 1) * size))


@intrinsic
def whole_vectors(context: Any) -> Any:
    """Prefer the processor's widest vectors for the loops of the calling function.

    Measured on a Xeon with AVX-512: the gradients of additive scores 1.15 to 1.27 times as fast, their sums slower.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')  # llvmlite knows attributes without values
        return context.get_dummy_value()

    return types.none(), generate


@intrinsic
def apart(context: Any) -> Any:
    """Promise LLVM that the arrays of the calling function do not overlap."""
    numbers = [kind.as_pointer() for kind in (ir.FloatType(), ir.DoubleType(), ir.IntType(32), ir.IntType(64))]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for argument in builder.function.args:
            if argument.type in numbers:
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    return types.none(), generate


def _array(context: Any, builder: Any, kind: Any, address: Any, start: Any, shape: list[Any]) -> Any:
    """Build a contiguous array at an address, from number `start` on, without a copy."""
    array = make_array(types.Array(kind, len(shape), "C"))(context, builder)
    size = ir.Constant(ir.IntType(64), kind.bitwidth // 8)
    data = builder.gep(builder.inttoptr(address, context.get_data_type(kind).as_pointer()), [start])
    strides = [size] if len(shape) == 1 else [builder.mul(size, shape[1]), size]
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
    return array._getvalue()


@intrinsic
def numbers(context: Any, address: Any, start: Any, size: Any, kind: Any) -> Any:
    """`size` numbers at an address from number `start` on, with the type of `kind`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, start, size, _ = arguments
        return _array(context, builder, kind, address, start, [size])

    return types.Array(kind, 1, "C")(*[types.int64] * 3, kind), generate


@intrinsic
def matrix(context: Any, address: Any, n: Any, rows: Any, columns: Any, kind: Any) -> Any:
    """Matrix n of those at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, n, rows, columns, _ = arguments
        start = builder.mul(builder.mul(n, rows), columns)
        return _array(context, builder, kind, address, start, [rows, columns])

    return types.Array(kind, 2, "C")(*[types.int64] * 4, kind), generate


def _numbers_of(kind: Any) -> Any:
    @intrinsic
    def of_kind(context: Any, address: Any, start: Any, size: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address, start, size = arguments
            return _array(context, builder, kind, address, start, [size])

        return types.Array(kind, 1, "C")(*[types.int64] * 3), generate

    return of_kind


# as `numbers`, without a kind; booleans are bytes
floats, integers, flags = (_numbers_of(kind) for kind in (types.float32, types.int64, types.uint8))
