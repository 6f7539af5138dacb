"""Rotary positions: one tensor of queries or keys turned by its positions."""

import torch
from torch import Tensor

from saccade._definitions.checks import broadcasts, positive_number, same_device, whole
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError

BASE = 10000.0
"""Base of the wavelengths (Vaswani et al. 2017, section 3.5; Su et al. 2021)."""


def rotate(
    x: Tensor,
    positions: Tensor | None = None,
    *,
    base: float | None = None,
    frequencies: Tensor | None = None,
    tables: tuple[Tensor, Tensor] | None = None,
    features: int | None = None,
    layout: str = "half",
) -> Tensor:
    """Rotary position embedding of one tensor (Su et al. 2021, equation 15).

    Pair d of x is turned by the angle positions · base^(−2d/D). Cached keys are rotated once. Dot products of rotated
    queries and keys depend on the difference of their positions alone.

    Args:
        x: `(..., L, D)`, D even.
        positions: `(..., L)`, int or float, in tokens; None with tables, which hold them.
        base: the wavelengths run from 2π to 2π · base^(1 − 2/D), in tokens; None is 10,000.
        frequencies: instead of a base the angle of each pair from one token to the next, in radians `(..., D/2)`:
            scaled as position interpolation (Chen et al. 2023) or YaRN (Peng et al. 2023) has them, or learned.
        tables: instead of positions and a base the cosines and sines `(..., L, D/2)` of the angles, computed once for
            many calls, or of angles of other kinds. A factor of the tables is a factor of the result.
        features: an even number of first features to turn, without the rest (Black et al. 2022, "GPT-NeoX-20B": a
            quarter of them). None turns all. D stands for them above.
        layout: which features are a pair: "half" (d, d + D/2) or "interleaved" (2d, 2d + 1).

    Returns:
        Tensor of the shape and dtype of x.

    Raises:
        ShapeError: D is odd, or positions, frequencies or tables do not fit.
        ArgumentError: an unknown layout, a base outside 1e-12 to 1e12, features that are odd or more than there are,
            more than one of base, frequencies and tables.

    >>> import torch
    >>> rotate(torch.tensor([[1.0, 0.0]]), torch.tensor([torch.pi / 2])).round(decimals=3).tolist()
    [[-0.0, 1.0]]
    >>> rotate(torch.tensor([[1.0, 0.0, 5.0]]), torch.tensor([2]), frequencies=torch.tensor([torch.pi / 4]), features=2)
    tensor([[-4.3711e-08,  1.0000e+00,  5.0000e+00]])
    """
    if layout not in ("half", "interleaved"):
        raise ArgumentError(f"layout: expected 'half' or 'interleaved', got {layout!r}")
    options = ("base", base), ("frequencies", frequencies), ("tables", tables)
    names = [name for name, option in options if option is not None]
    if len(names) > 1:
        raise ArgumentError(f"{names[1]}: expected either {names[0]}= or {names[1]}=, got both; leave one out")
    positive_number("base", base, none=True)
    numbers("x", x, "(..., L, D)", floating=True)
    whole("features", features, least=0, none=True)
    if x.ndim < 2 or (features is None and x.shape[-1] % 2):
        raise ShapeError(
            f"x: expected (..., L, D) with an even D, got shape {tuple(x.shape)}; features= turns some of them"
        )
    if features is not None and (features % 2 or features > x.shape[-1]):
        raise ArgumentError(
            f"features: expected an even number of at most {x.shape[-1]}, the last dimension of x, got {features}"
        )
    pairs = (x.shape[-1] if features is None else features) // 2
    compute = torch.float64 if x.dtype == torch.float64 else torch.float32
    if tables is None:
        tables = cos_sin(x, positions, pairs, BASE if base is None else base, frequencies)
    else:
        check_tables(x, positions, pairs, tables)
    cos, sin = (table.to(compute) for table in tables)
    wide, rest = x[..., : 2 * pairs].to(compute), x[..., 2 * pairs :]
    first, second = wide.chunk(2, -1) if layout == "half" else (wide[..., 0::2], wide[..., 1::2])
    sides = first * cos - second * sin, first * sin + second * cos
    rotated = (torch.cat(sides, -1) if layout == "half" else torch.stack(sides, -1).flatten(-2)).to(x.dtype)
    return torch.cat((rotated, rest), -1) if rest.shape[-1] else rotated


def cos_sin(
    x: Tensor, positions: Tensor | None, pairs: int, base: float, frequencies: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Cosines and sines of positions · frequencies, `(..., L, pairs)`."""
    if positions is None:
        raise ArgumentTypeError("positions: expected a tensor of numbers (..., L), got None; only tables= hold them")
    numbers("positions", positions, "(..., L)", x)
    if positions.ndim < 1 or not (positions.shape[-1] == 1 or positions.shape[-1] == x.shape[-2]):
        raise ShapeError(f"positions: expected (..., L) with L = {x.shape[-2]}, got shape {tuple(positions.shape)}")
    broadcasts("positions", tuple(positions.shape[:-1]), tuple(x.shape[:-2]))
    if frequencies is None:
        frequencies = base ** (-torch.arange(pairs, device=x.device, dtype=torch.float64) / max(pairs, 1))
    else:
        numbers("frequencies", frequencies, "(..., D/2)", x, floating=True)
        if frequencies.ndim < 1 or frequencies.shape[-1] != pairs:
            raise ShapeError(
                f"frequencies: expected (..., {pairs}), one a pair of {2 * pairs} features, got shape "
                f"{tuple(frequencies.shape)}; features= turns fewer"
            )
        broadcasts("frequencies", tuple(frequencies.shape[:-1]), tuple(x.shape[:-2]))
        frequencies = frequencies[..., None, :]
    angle = positions[..., None].to(torch.float64) * frequencies
    return angle.cos(), angle.sin()


def check_tables(x: Tensor, positions: Tensor | None, pairs: int, tables: tuple[Tensor, Tensor]) -> None:
    if positions is not None:
        raise ArgumentError("positions: expected None with tables=, which hold them, got some; index these by them")
    if not isinstance(tables, tuple) or len(tables) != 2:
        raise ArgumentTypeError(f"tables: expected a pair (cos, sin), got {type(tables).__name__}")
    for table in tables:
        numbers("tables", table, "(..., L, D/2)", x, floating=True)
        length = table.shape[-2] if table.ndim > 1 else -1
        if table.ndim < 2 or table.shape[-1] != pairs or not (length == 1 or length == x.shape[-2]):
            raise ShapeError(
                f"tables: expected (..., {x.shape[-2]}, {pairs}), one a pair of {2 * pairs} features, got shape "
                f"{tuple(table.shape)} (features= turns fewer)"
            )
        broadcasts("tables", tuple(table.shape[:-2]), tuple(x.shape[:-2]))


def numbers(name: str, tensor: object, shape: str, x: Tensor | None = None, *, floating: bool = False) -> None:
    """Raise unless a tensor of real numbers, or of floating ones, on the device of x."""
    kind = "floating tensor" if floating else "tensor of numbers"
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(f"{name}: expected a {kind} {shape}, got {type(tensor).__name__}")
    if not tensor.is_floating_point() if floating else tensor.is_complex() or tensor.dtype == torch.bool:
        raise ArgumentTypeError(f"{name}: expected a {kind} {shape}, got dtype {tensor.dtype}")
    if x is not None:
        same_device(name, tensor, x.device, "x")
