"""Layers of attention of a model as one graph, from inputs to outputs.

Rollout and flow of Abnar and Zuidema 2020 are those of a single stack of self-attention. This graph extends them: it
joins encoder and decoder by attention to the source, whose residual connection counts as that of self-attention does.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.look import Recording
from saccade.models.hard import chosen
from saccade.models.layers import Layer
from saccade.nn import Attention, MixtureOfExperts, MultiheadAttention, SetAttention

__all__ = ["Edge", "edges_of", "reads_hard", "size_of", "stacked"]


class Edge(NamedTuple):
    """One layer of attention in the graph of a model.

    Args:
        weights: recorded tensors, `(1, heads, queries, keys)` or without heads. Several are one below the other.
        query: position of the first query in the graph.
        key: position of the first key.
        residual: whether the output is added to the query.
    """

    weights: Sequence[Tensor]
    query: int
    key: int
    residual: bool

    @property
    def queries(self) -> int:
        """Number of queries."""
        return sum(part.shape[-2] for part in self.weights)

    def placed(self, parts: Sequence[Tensor], size: int) -> Tensor:
        """Return matrices of the shapes of the weights in zeros, `(heads, size, size)`."""
        heads = torch.cat([part[0] if part.ndim == 4 else part for part in parts], -2)
        rows, columns = heads.shape[-2:]
        before, after = (self.key, size - self.key - columns), (self.query, size - self.query - rows)
        return F.pad(heads, (*before, *after))


def edges_of(model: nn.Module, records: Recording, inputs: int) -> list[Edge]:
    """Return the layers of attention of a recording, in the order of the calls.

    The graph has the inputs at its first positions. Queries that are no inputs follow: learned ones, or the tokens of
    a decoder. Self-attention that takes the value of its largest weight has this weight alone, as 1.

    Args:
        model: the recorded model.
        records: of one example.
        inputs: number of inputs.
    """
    calls, edges = dict[str, list[Any]](), list[Edge]()
    for name, aux in records:
        if not isinstance(model.get_submodule(name), MixtureOfExperts):
            calls.setdefault(name, []).append(aux.weights)
    kinds = {entry.name: entry.kind for entry in records}
    for name, weights in calls.items():
        layer, within = isinstance(model.get_submodule(name.rpartition(".")[0]), Layer), kinds[name] == "self"
        behind = inputs if not within or name.startswith("decoder.") else 0
        residual = within or layer
        hard = within and reads_hard(model.get_submodule(name))
        parts = [chosen(part) for part in weights] if hard else weights
        edges.append(Edge(parts, behind, behind if within else 0, residual))
    return edges


def size_of(edges: Sequence[Edge], inputs: int) -> int:
    """Return the number of positions of a graph."""
    return max(inputs, *(edge.query + edge.queries for edge in edges))


def stacked(model: nn.Module) -> bool:
    """Return whether a single model has layers of self-attention."""
    blocks = (part for part in model.modules() if isinstance(part, Layer | SetAttention))
    return not hasattr(model, "members") and any(getattr(block, "inducing", None) is None for block in blocks)


def reads_hard(model: nn.Module) -> bool:
    """Return whether attention of a model takes one value outside training.

    Example:
        >>> from saccade import reads
        >>> reads_hard(Attention(4, read=reads.Argmax())), reads_hard(Attention(4))
        (True, False)
    """
    layers = (part for part in model.modules() if isinstance(part, Attention | MultiheadAttention))
    modes = (layer.read if layer.eval_read is None else layer.eval_read for layer in layers)
    return any(read.thing.chooses for read in modes)
