"""Documents packed into one row, each by itself: torch's kernels compute the pairs within documents and no others.

Where the documents of queries and keys follow each other, a mask of documents says where each begins and ends, and a
causal mask beside it is the causal mask of each: no mask is laid out.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.numerics import tracing, transforming
from saccade._definitions.structure import Axes, aligned
from saccade.backends.blockwise.parts import Block
from saccade.masks import Both, Causal, Documents, Mask, shift
from saccade.normalizers import Softmax
from saccade.scores import Score

__all__ = ["Documented", "by_documents", "documented"]

LEAST = 1 << 18
"""Pairs of queries and keys of a head from which documents are looked for."""

SHORT = 64
"""Queries a document, on the average, below which there are too many: each is a call of torch's kernel, and blocks of
64 queries and keys hold several of them.
"""


class Row(NamedTuple):
    """The documents of one row.

    Args:
        q_lens, k_lens: how many queries and keys each has, in their order.
        keys: which of the documents of the keys are those of each document of queries; -1: none.
    """

    q_lens: list[int]
    k_lens: list[int]
    keys: list[int]

    def lengths(self) -> list[tuple[int, int]]:
        """How many queries and keys the documents have that have both."""
        return [(count, self.k_lens[key]) for count, key in zip(self.q_lens, self.keys, strict=True) if key >= 0]

    @property
    def alike(self) -> int:
        """How many documents there are, if all have as many queries and as many keys, in one order; else 0."""
        count = len(self.q_lens)
        ordered = self.keys == list(range(count)) and len(self.k_lens) == count
        return count if ordered and len({*self.lengths()}) == 1 else 0


class Documented(NamedTuple):
    """The documents of a call.

    Args:
        rows: of each entry along `dim`, or of all alike.
        dim: the batch dimension along which they differ; None: none.
        causal: whether a query sees the keys of its document up to its own place alone.
    """

    rows: list[Row]
    dim: int | None
    causal: bool

    def pairs(self) -> tuple[int, int]:
        """How many pairs the mask allows in all rows, and how many there are in their documents."""
        lengths = [pair for row in self.rows for pair in row.lengths()]
        whole = sum(count * width for count, width in lengths)
        behind = ((max(count - width, 0), min(count, width), width) for count, width in lengths)
        triangles = sum(more * width + least * (least + 1) // 2 for more, least, width in behind)
        return triangles if self.causal else whole, whole


def documented(call: Call) -> Documented | None:
    """The documents of a call on a CPU, looked for once; None if the mask is another, if documents lie in pieces,
    or are so many that blocks are faster.
    """
    if call.bias is not None or call.dropout_p or call.query.device.type != "cpu" or tracing() or transforming():
        return None
    found = parts_of(call.mask)
    if found is None or call.query.shape[-2] * call.key.shape[-2] < LEAST:
        return None
    facts = vars(call)
    if "documents" not in facts:
        facts["documents"] = _looked_for(call, *found)
    documents: Documented | None = facts["documents"]
    return documents


def _looked_for(call: Call, mask: Documents, causal: Causal | None) -> Documented | None:
    """The documents, by a look at their ids."""
    rank = len(call.batch)
    sides = [aligned(ids, (axis,), rank) for ids, axis in ((mask.query_ids, "q"), (mask.key_ids, "k"))]
    differing = [dim for dim in range(rank) if any(side.shape[dim] > 1 for side in sides)]
    if len(differing) > 1:
        return None
    dim = differing[0] if differing else None
    count = max(side.shape[:-1].numel() for side in sides)
    query_ids, key_ids = (side.reshape(-1, side.shape[-1]).expand(count, -1) for side in sides)
    rows = [row_of(*row, call, causal) for row in zip(query_ids, key_ids, strict=True)]
    listed = [row for row in rows if row is not None]
    if len(listed) < len(rows) or not any(row.lengths() for row in listed):  # nothing to compute: zeros by definition
        return None
    return Documented(listed, dim, causal is not None)


def row_of(query_ids: Tensor, key_ids: Tensor, call: Call, causal: Causal | None) -> Row | None:
    """The documents of one row, as `documented` has it."""
    (q_ids, q_lens), (k_ids, k_lens) = (consecutive(ids) for ids in (query_ids, key_ids))
    if len(q_ids) * SHORT > len(query_ids) or len(set(q_ids)) < len(q_ids) or len(set(k_ids)) < len(k_ids):
        return None
    places = {document: place for place, document in enumerate(k_ids)}
    found = Row(q_lens, k_lens, [places.get(document, -1) for document in q_ids])
    return found if causal is None or _begin_together(found, causal, call) else None


def consecutive(ids: Tensor) -> tuple[list[int], list[int]]:
    """Ids without those that follow their like, and how often each is there.

    >>> consecutive(torch.tensor([3, 3, 1]))
    ([3, 1], [2, 1])
    """
    found, counts = torch.unique_consecutive(ids, return_counts=True)
    return found.tolist(), counts.tolist()


def parts_of(mask: Mask | None) -> tuple[Documents, Causal | None] | None:
    """A mask of documents, and the causal one beside it, if there is one; None of any other."""
    if isinstance(mask, Documents):
        return mask, None
    if not isinstance(mask, Both):
        return None
    for first, second in ((mask.first, mask.second), (mask.second, mask.first)):
        if isinstance(first, Documents) and isinstance(second, Causal) and not isinstance(second.align, Tensor):
            return first, second
    return None


def _begin_together(found: Row, causal: Causal, call: Call) -> bool:
    """Whether the first query of each document stands at the place of its first key."""
    moved = shift(causal.align, call.grid())
    assert isinstance(moved, int)
    queries, keys = ([0, *accumulate(lengths)] for lengths in (found.q_lens, found.k_lens))
    return all(key < 0 or queries[place] + moved == keys[key] for place, key in enumerate(found.keys))


def by_documents(call: Call, found: Documented, attention: Callable[[Call], Tensor]) -> Tensor:
    """The output, row after row and document after document.

    Args:
        call: the call.
        found: its documents.
        attention: the output of a call of one document.
    """
    call = replace(call, mask=Causal("start") if found.causal else None, state=None, cache=None).aligned()
    if found.dim is None:
        return of_row(call, found.rows[0], attention)
    dim = found.dim
    count = len(found.rows)
    # split is one node, whose gradient is put together once; a view of each row would fill a gradient of all
    queries, keys, values = (
        tensor.split(1, dim) if tensor.shape[dim] > 1 else [tensor] * count
        for tensor in (call.query, call.key, call.value)
    )
    outputs = []
    for place, row in enumerate(found.rows):
        part = Block(dim, place, 1, 0, call.query.shape[-2])
        piece = replace(call.map(part.narrow), query=queries[place], key=keys[place], value=values[place])
        outputs.append(of_row(piece, row, attention))
    return torch.cat(outputs, dim)


def of_row(call: Call, row: Row, attention: Callable[[Call], Tensor]) -> Tensor:
    """The output of one row of an aligned call."""
    assert isinstance(call.score, Score)
    assert isinstance(call.normalizer, Softmax)
    sides = call.query, call.key, call.value
    single = len({side.shape[:-2] for side in sides}) == 1 and all(side.is_contiguous() for side in sides)
    if single and row.alike:
        return at_once(call, row.alike, attention)
    queries = call.query.split(row.q_lens, -2)
    keys, values = (tensor.split(row.k_lens, -2) for tensor in (call.key, call.value))
    outputs, starts = [], accumulate(row.q_lens, initial=0)
    for query, place, start in zip(queries, row.keys, starts, strict=False):
        if place < 0:
            outputs.append(query.new_zeros(*call.batch, query.shape[-2], call.value.shape[-1], dtype=call.value.dtype))
        else:
            narrow = Block(None, 0, 1, start, query.shape[-2]).narrow  # of scales and sinks that differ by query
            own = replace(call, score=call.score.map(narrow), normalizer=call.normalizer.map(narrow))
            outputs.append(attention(replace(own, query=query, key=keys[place], value=values[place])))
    return torch.cat(outputs, -2)


def at_once(call: Call, count: int, attention: Callable[[Call], Tensor]) -> Tensor:
    """Documents of one length, of an aligned call, as a batch dimension more, the last."""
    rank = len(call.batch)

    def parted(tensor: Tensor, axes: Axes) -> Tensor:
        long = axes[:1] in (("q",), ("k",)) and tensor.shape[rank] > 1
        return tensor.unflatten(rank, (count, -1)) if long else tensor.unsqueeze(rank)

    return attention(call.map(parted)).flatten(-3, -2)
