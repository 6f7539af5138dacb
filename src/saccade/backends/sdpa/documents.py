"""Documents packed into one row: torch's kernels compute each by itself.

If the documents of queries and keys are consecutive, their mask says where each begins and ends, and a causal mask
beside it is the causal mask of each. No mask is laid out.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from saccade._call.call import Call, rows
from saccade._definitions.numerics import tracing, transforming
from saccade._definitions.structure import Axes, aligned
from saccade.backends.blockwise.parts import Block
from saccade.masks import Both, Causal, Documents, Mask, Packed, shift

LEAST = 1 << 17  # least pairs of a head for a search for documents
# Least mean queries, or keys, a document. Each document is a call of torch's kernel, and blocks of 64 queries and keys
# hold several shorter ones.
SHORT = 64


class Row(NamedTuple):
    """Queries and keys of each document, and its index among those of the keys or −1."""

    q_lens: list[int]
    k_lens: list[int]
    keys: list[int]

    def lengths(self) -> list[tuple[int, int]]:
        """Queries and keys of documents with both."""
        return [(count, self.k_lens[key]) for count, key in zip(self.q_lens, self.keys, strict=True) if key >= 0]


class Documented(NamedTuple):
    """Documents of one row for all, or of each entry of a batch dimension."""

    rows: list[Row]
    dim: int | None  # along which they differ
    causal: bool  # whether a query sees the keys of its document up to its own position alone

    def pairs(self) -> int:
        """Pairs in the documents of all rows."""
        return sum(count * width for row in self.rows for count, width in row.lengths())


def documented(call: Call) -> Documented | None:
    """Documents of a call on a CPU, found once, if they are long and consecutive."""
    if call.bias is not None or call.dropout_p or call.query.device.type != "cpu" or tracing() or transforming():
        return None
    parts = parts_of(call.mask)
    if parts is None or call.query.shape[-2] * call.key.shape[-2] < LEAST:
        return None
    facts = vars(call)  # with `once` the call could not be encoded
    if "documents" not in facts:
        facts["documents"] = _documented(call, *parts)
    documents: Documented | None = facts["documents"]
    return documents


def _documented(call: Call, mask: Documents | Packed, causal: Causal | None) -> Documented | None:
    rank = len(call.batch)
    packed = isinstance(mask, Packed)
    ids = (mask.cu_seqlens, mask.key_offsets) if isinstance(mask, Packed) else (mask.query_ids, mask.key_ids)
    sides = [aligned(side, ("n",), rank) for side in ids]
    differing = [dim for dim in range(rank) if any(side.shape[dim] > 1 for side in sides)]
    if len(differing) > 1:
        return None
    moved = 0 if causal is None else shift(causal.align, call.grid())
    assert isinstance(moved, int)
    count, documents = max(side.shape[:-1].numel() for side in sides), []
    for entry in zip(*(side.reshape(-1, side.shape[-1]).expand(count, -1) for side in sides), strict=True):
        (q_ids, q_lens), (k_ids, k_lens) = map(sequences if packed else consecutive, entry)
        repeated = len(set(q_ids)) < len(q_ids) or len(set(k_ids)) < len(k_ids)
        if repeated or len(q_ids) * SHORT > max(sum(q_lens), sum(k_lens)):
            return None
        indices = {document: index for index, document in enumerate(k_ids) if k_lens[index]}
        of_queries = zip(q_ids, q_lens, strict=True)
        row = Row(q_lens, k_lens, [indices.get(document, -1) if length else -1 for document, length in of_queries])
        queries, keys = ([0, *accumulate(lengths)] for lengths in (q_lens, k_lens))
        # under a causal mask, the first query of each document is at its first key
        if causal is not None and not all(key < 0 or queries[i] + moved == keys[key] for i, key in enumerate(row.keys)):
            return None
        documents.append(row)
    result = Documented(documents, differing[0] if differing else None, causal is not None)
    return result if result.pairs() else None  # nothing to compute: zeros by definition


def consecutive(ids: Tensor) -> tuple[list[int], list[int]]:
    """Ids without repetitions of the one before, and the lengths of their runs."""
    values, counts = torch.unique_consecutive(ids, return_counts=True)
    return values.tolist(), counts.tolist()


def sequences(offsets: Tensor) -> tuple[list[int], list[int]]:
    """Numbers and lengths of packed sequences, empty ones too."""
    lengths = offsets.diff().tolist()
    return list(range(len(lengths))), lengths


def parts_of(mask: Mask | None) -> tuple[Documents | Packed, Causal | None] | None:
    """A mask of documents, and the causal one beside it, if any; None of any other."""
    if isinstance(mask, Documents | Packed):
        return mask, None
    if not isinstance(mask, Both):
        return None
    for first, second in ((mask.first, mask.second), (mask.second, mask.first)):
        if (
            isinstance(first, Documents | Packed)
            and isinstance(second, Causal)
            and not isinstance(second.align, Tensor)
        ):
            return first, second
    return None


def by_documents(call: Call, documents: Documented, attention: Callable[[Call], Tensor]) -> Tensor:
    """The output by `attention` of each row, document after document."""
    call = replace(call, mask=Causal("start") if documents.causal else None, state=None, cache=None).aligned()
    if documents.dim is None:
        return of_row(call, documents.rows[0], attention)
    dim, count, q_len = documents.dim, len(documents.rows), call.query.shape[-2]
    # split is one node, whose gradient is made once; views of the rows would each fill a gradient of all
    queries, keys, values = (
        tensor.split(1, dim) if tensor.shape[dim] > 1 else [tensor] * count
        for tensor in (call.query, call.key, call.value)
    )
    outputs = []
    for entry, row in enumerate(documents.rows):
        piece = call.map(Block(dim, entry, 1, 0, q_len).narrow)
        outputs.append(
            of_row(replace(piece, query=queries[entry], key=keys[entry], value=values[entry]), row, attention)
        )
    return torch.cat(outputs, dim)


def of_row(call: Call, row: Row, attention: Callable[[Call], Tensor]) -> Tensor:
    """The output of one row of an aligned call."""
    sides, rank, count = (call.query, call.key, call.value), len(call.batch), len(row.q_lens)
    alike = row.keys == list(range(count)) and len(row.k_lens) == count and len({*row.lengths()}) == 1
    if len({side.shape[:-2] for side in sides}) == 1 and all(side.is_contiguous() for side in sides) and alike:

        def parted(tensor: Tensor, axes: Axes) -> Tensor:
            long = axes[:1] in (("q",), ("k",)) and tensor.shape[rank] > 1
            return tensor.unflatten(rank, (count, -1)) if long else tensor.unsqueeze(rank)

        # documents of one length are one more batch dimension, the last
        return attention(call.map(parted)).flatten(-3, -2)
    queries = call.query.split(row.q_lens, -2)
    keys, values = (tensor.split(row.k_lens, -2) for tensor in (call.key, call.value))
    outputs, starts = [], accumulate(row.q_lens, initial=0)
    for query, key, start in zip(queries, row.keys, starts, strict=False):
        if key < 0:
            outputs.append(query.new_zeros(*call.batch, query.shape[-2], call.value.shape[-1], dtype=call.value.dtype))
        else:
            score, normalizer = (rows(part, start, query.shape[-2]) for part in (call.score, call.normalizer))
            piece = replace(call, query=query, key=keys[key], value=values[key], score=score, normalizer=normalizer)
            outputs.append(attention(piece))
    return torch.cat(outputs, -2)
