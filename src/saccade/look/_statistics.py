"""Statistics of a call of another library's attention, of some heads and queries."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from saccade import AuxOutput, AuxRequest, masks, normalizers
from saccade._definitions.structure import Grid
from saccade._integrations.call import AttentionCall
from saccade.errors import ArgumentError

_PER_QUERY = ("lse", "index", "log_prob", "entropy")
_LARGEST = 1_000_000  # rows in a list, beyond which it is a mistake


@dataclass(frozen=True)
class Selection:
    """Numbers of the heads and queries to record, None for all."""

    heads: int | Sequence[int] | None
    rows: int | slice | Sequence[int] | None

    @property
    def all(self) -> bool:
        """Whether every head and every query is recorded."""
        return self.heads is None and self.rows is None

    def of(self, aux: AuxOutput) -> AuxOutput:
        """The selected part of statistics of all heads and queries."""
        if self.all:
            return aux
        if self.rows is not None and aux.received is not None:
            raise ArgumentError(
                "rows: expected a request without received for modules of saccade.nn, got both. Request the weights "
                "and sum them"
            )
        top = None if aux.top is None else tuple(self._cut(part, 2) for part in aux.top)
        return AuxOutput(
            weights=None if aux.weights is None else self._cut(aux.weights, 2),
            top=top,  # type: ignore[arg-type]
            received=None if aux.received is None else self._cut(aux.received, 1, rows=False),
            **{name: None if getattr(aux, name) is None else self._cut(getattr(aux, name), 1) for name in _PER_QUERY},
        )

    def _cut(self, tensor: Tensor, trailing: int, *, rows: bool = True) -> Tensor:
        """Select heads and queries in the last `trailing` + 1 dimensions."""
        if self.heads is not None:
            if tensor.ndim < trailing + 2:
                raise ArgumentError("heads: expected a module with heads, got one without. Leave heads out")
            tensor = tensor.index_select(-1 - trailing, numbers("heads", self.heads, tensor.shape[-1 - trailing]))
        if rows and self.rows is not None:
            tensor = tensor.index_select(-trailing, numbers("rows", self.rows, tensor.shape[-trailing]))
        return tensor


def numbers(name: str, chosen: int | slice | Sequence[int], count: int) -> Tensor:
    """The chosen numbers below a count; negative ones count from the end.

    Raises:
        ArgumentError: a number that is not there.
    """
    if isinstance(chosen, slice):
        return torch.arange(count)[chosen] if chosen.step is None or chosen.step > 0 else torch.arange(count)[:0]
    listed = [chosen] if isinstance(chosen, int) else chosen
    if len(listed) > max(_LARGEST, count):
        raise ArgumentError(f"{name}: expected at most {count} numbers, got {len(listed)}. Pass a slice")
    if wrong := [number for number in listed if not -count <= number < count]:
        raise ArgumentError(f"{name}: expected numbers from 0 to {count - 1}, got {wrong[0]}")
    return torch.tensor([number % count for number in listed], dtype=torch.int64)


def statistics(call: AttentionCall, request: AuxRequest, selection: Selection) -> tuple[AuxOutput, Tensor | None]:
    """Statistics of a call without its values, and the share of its sink.

    With a sink, the entropy is of the weights and the sink's share, which sum to one:
    H = (1 − s) H₀ − s ln s − (1 − s) ln (1 − s), with the entropy H₀ of the softmax without the sink.
    """
    call = _selected(replace(call, value=call.value[..., :0], dropout_p=0.0), selection)
    sink = getattr(call.normalizer, "sink", None)
    if sink is None:
        return call.attend(request)[1], None
    plain = replace(call, normalizer=normalizers.Softmax(temperature=call.normalizer.temperature))  # type: ignore[attr-defined]
    _, without = plain.attend(AuxRequest(lse=True, entropy=request.entropy))
    logit = torch.as_tensor(sink, dtype=without.lse.dtype, device=without.lse.device)
    share = torch.sigmoid((logit[..., 0] if logit.ndim else logit) - without.lse)
    _, aux = call.attend(replace(request, entropy=False))
    if request.entropy:
        events = torch.stack([share, 1 - share])
        aux = replace(aux, entropy=(1 - share) * without.entropy + torch.special.entr(events).sum(0))
    return aux, share


def _selected(call: AttentionCall, selection: Selection) -> AttentionCall:
    """The call of the selected heads and queries."""
    query, key, value, mask, bias = call.query, call.key, call.value, call.mask, call.bias
    sink = getattr(call.normalizer, "sink", None)
    q_len, k_len, count = query.shape[-2], key.shape[-2], query.shape[-3] if query.ndim > 2 else 1
    heads = None if selection.heads is None else numbers("heads", selection.heads, count).to(query.device)
    if heads is not None:
        groups = count // key.shape[-3]
        query = query.index_select(-3, heads)
        key, value = (part.index_select(-3, heads // groups) for part in (key, value))
        mask, bias, sink = (_part(part, -3, heads) for part in (mask, bias, sink))
    if selection.rows is not None:
        rows = numbers("rows", selection.rows, q_len).to(query.device)
        if isinstance(mask, masks.Mask):
            grids = [Grid(q_len, k_len, row, 1, query.device, rank=query.ndim - 2) for row in rows.tolist()]
            mask = torch.cat([mask.dense(grid) for grid in grids], -2) if grids else None
            mask = mask if mask is None else mask[(None,) * (query.ndim - mask.ndim)]
        else:
            mask = _part(mask, -2, rows)
        query, bias, sink = query.index_select(-2, rows), _part(bias, -2, rows), _part(sink, -2, rows)
    normalizer = call.normalizer
    if isinstance(sink, Tensor):
        normalizer = replace(normalizer, sink=sink)  # type: ignore[type-var]
    return replace(call, query=query, key=key, value=value, mask=mask, bias=bias, normalizer=normalizer)


def _part(tensor: Any, dim: int, chosen: Tensor) -> Any:
    """Entries of a dimension of a tensor, if it has more than one."""
    if not isinstance(tensor, Tensor) or tensor.ndim < -dim or tensor.shape[dim] == 1:
        return tensor
    return tensor.index_select(dim, chosen.to(tensor.device))
