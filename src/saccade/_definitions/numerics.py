"""Small pure functions that definitions share: numbers, dtypes, modes of torch."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad

HALF = (torch.float16, torch.bfloat16)


def wide(tensor: Tensor) -> Tensor:
    """Half types as float32, other dtypes unchanged: the dtype of sums."""
    return tensor.float() if tensor.dtype in HALF else tensor


def like(value: "Tensor | float", reference: Tensor) -> "Tensor | float":
    """A parameter in the dtype of a tensor; a plain number stays one."""
    return value.to(reference.dtype) if isinstance(value, Tensor) else value


def divide(numerator: Tensor, denominator: Tensor) -> Tensor:
    """numerator / denominator, 0 with finite derivatives at a denominator of 0."""
    zero = denominator == 0
    return (numerator / denominator.masked_fill(zero, 1.0)).masked_fill(zero, 0.0)


SMALLEST, LARGEST = 1e-12, 1e12
"""Range of positive parameters, such as temperatures, widths and α's upper end.

Squares of them, and those of a million times their inverse, are normal numbers of float32: no formula leaves the range.
"""


def bounded(value: "Tensor | float", reference: Tensor) -> "Tensor | float":
    """A positive parameter in the dtype of a tensor, clamped if it is a tensor.

    An eager call rejects a parameter outside that range, but a compiler or a transform cannot read values.
    """
    return like(wide(value).clamp(SMALLEST, LARGEST), reference) if isinstance(value, Tensor) else value


LOST = 2.0**24
"""Sums of weights below this times the smallest normal number have lost digits."""


def shares(weights: Tensor) -> Tensor:
    """weights / Σ weights of each row; 0 if the sum is 0 or has lost digits.

    The derivative of a quotient contains the sum's square, which leaves the range long before the sum does (10⁻¹⁹ in
    float32). So the weights are divided by their detached sum first, and then by the new sum, about 1. No gradient
    passes if the sum is so small (10⁻³¹) that a gradient divided by it may leave the range, too.
    """
    total, tiny = weights.detach().sum(-1, keepdim=True), torch.finfo(weights.dtype).tiny
    gone, lost = total.abs() < tiny, total.abs() < LOST * tiny
    weights = torch.where(lost, weights.detach(), weights)
    scaled = (weights / total.masked_fill(gone, 1.0)).masked_fill(gone, 0.0)
    return divide(scaled, scaled.sum(-1, keepdim=True))


def unit(vectors: Tensor) -> Tensor:
    """vectors / ‖vectors‖ along the last dimension; a zero vector stays zero.

    Scaled by the largest entry first, so that neither tiny nor huge vectors lose their direction to under- or overflow.
    """
    if vectors.shape[-1] == 0:
        return vectors
    largest = vectors.detach().abs().amax(-1, keepdim=True)
    scaled = vectors / largest.masked_fill(largest == 0, 1.0)
    squared = torch.linalg.vecdot(scaled, scaled)[..., None]
    norm = squared.masked_fill(squared == 0, 1.0).sqrt()
    # one more tensor of this size is fresh memory, which takes longer than the sums
    return scaled / norm if scaled.requires_grad or transforming() or tracing() else scaled.div_(norm)


def root(squared: Tensor) -> Tensor:
    """√squared with derivatives 0 where it is 0."""
    zero = squared <= 0
    return squared.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)


def broadcast_shapes(*shapes: tuple[int, ...]) -> torch.Size:
    """`torch.broadcast_shapes` of plain integers, without its import of SymPy."""
    if tracing() or torch._C._is_tracing() or any(type(size) is not int for shape in shapes for size in shape):
        symbolic: torch.Size = torch.broadcast_shapes(*shapes)
        return symbolic
    common = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for i, size in enumerate(shape, len(common) - len(shape)):
            if size != 1 and common[i] not in (1, size):
                raise RuntimeError(f"shapes that do not broadcast: {', '.join(str(tuple(shape)) for shape in shapes)}")
            common[i] = common[i] if size == 1 else size
    return torch.Size(common)


def squared_distance(query: Tensor, key: Tensor) -> Tensor:
    """‖q_i − k_j‖² as `(..., Lq, Lk)`, without cancellation and in linear memory.

    Computed from differences: equal points are at distance exactly 0. Its derivatives are those of the expanded square.
    """
    points = query.detach(), key.detach()
    distance = torch.cdist(*points, compute_mode="donot_use_mm_for_euclid_dist").square()
    if not differentiated(query, key):
        return distance
    return carried(distance, expanded_square(query.double(), key.double()).to(distance.dtype))


def expanded_square(query: Tensor, key: Tensor, factor: "Tensor | float" = 1.0) -> Tensor:
    """factor · (‖q_i‖² + ‖k_j‖² − 2 q_i · k_j) as `(..., Lq, Lk)`, by one product.

    Cancellation makes an error of (‖q‖² + ‖k‖²) · factor · eps.
    """
    squares, key_squares = query.square().sum(-1, keepdim=True), key.square().sum(-1, keepdim=True)
    queries = torch.cat((-2 * query, squares, torch.ones_like(squares)), -1) * factor
    return queries @ torch.cat((key, torch.ones_like(key_squares), key_squares), -1).mT


def carried(value: Tensor, moving: Tensor) -> Tensor:
    """A value with the derivatives of another, of any order and in any mode.

    A `torch.autograd.Function` has none in forward mode, and wrong ones if a compiler traces transforms.
    """
    # The bracket is 0 and has the derivatives of `moving`; ∞ − ∞ is not 0, therefore `nan_to_num`.
    return value.detach() + (moving - moving.detach()).nan_to_num()


def differentiated(*tensors: Tensor) -> bool:
    """Whether autograd, a transform or forward mode may take derivatives."""
    return (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)) or transformed()


def transformed() -> bool:
    """Whether a transform or forward mode needs derivatives of plain operations."""
    return transforming() or (not tracing() and forward_ad._current_level >= 0)


transforming = torch._C._are_functorch_transforms_active
"""Whether a torch.func transform is running: values must not be read."""

tracing = torch.compiler.is_compiling
"""Whether a compiler is tracing: no values to read, sizes may be symbols."""


def valueless(tensor: Tensor) -> bool:
    """Whether a tensor has a shape but no values: on the meta device, or a fake one."""
    return tensor.is_meta or isinstance(tensor, FakeTensor)


def autocasting(tensor: Any) -> bool:
    """Whether autocast is on for the tensor's device."""
    if not torch._C._is_any_autocast_enabled() or not isinstance(tensor, Tensor) or tensor.is_meta:
        return False
    return torch.is_autocast_enabled(tensor.device.type)


def without_autocast(tensor: Tensor) -> AbstractContextManager[Any]:
    """A context without autocast on the tensor's device; the meta device has none."""
    return nullcontext() if tensor.is_meta else torch.autocast(tensor.device.type, enabled=False)


def recorded() -> bool:
    """Whether operations are recorded or transformed for other values."""
    return tracing() or transforming() or torch._C._is_tracing() or torch._C._len_torch_dispatch_stack() > 0


def float32_precision(device_type: str) -> str:
    """Torch's precision of float32 products: "ieee" (exact), "tf32" or "bf16".

    `torch.get_float32_matmul_precision` raises once a precision of one device is set.
    """
    precision = torch._C._get_fp32_precision_getter("cuda" if device_type == "cuda" else "mkldnn", "matmul")
    if precision == "none":
        precision = torch._C._get_fp32_precision_getter("generic", "all")
    return "ieee" if precision == "none" else precision
