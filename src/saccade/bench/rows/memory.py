"""Steps of networks with an external memory, with the gradients of all that they learn: beside the same network by
plain formulas, as here and as pytorch-ntm writes them.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.bench.formulas import training
from saccade.bench.row import Place, Prepare, Row, Run
from saccade.bench.targets import times
from saccade.kernels.cells import lstm_cell
from saccade.kernels.threads import without_kernels
from saccade.nn.external_memory import Addressing, ExternalMemory

__all__ = ["rows"]

_STEPS, _INPUT = 10, 8


class _Sizes(NamedTuple):
    """Of a network: its controller is an LSTM, which reads the input and what was read last."""

    name: str
    batch: int
    cells: int
    cell_dim: int
    hidden: int
    reads: int

    def module(self) -> ExternalMemory:
        """The memory, which has the sizes of its heads."""
        addressing: Addressing = "shift" if self.name == "NTM" else "links"
        return ExternalMemory(self.hidden, self.cell_dim, num_reads=self.reads, addressing=addressing)


_NTM, _DNC = _Sizes("NTM", 16, 128, 20, 100, 1), _Sizes("DNC", 32, 64, 32, 128, 4)


class _Parts(NamedTuple):
    """What a network computes from and learns: inputs, its controller's weights and biases, its heads', and starts."""

    inputs: Tensor
    input_weight: Tensor
    hidden_weight: Tensor
    input_bias: Tensor
    hidden_bias: Tensor
    heads_weight: Tensor
    heads_bias: Tensor
    first_cell: Tensor
    first_read: Tensor


def rows(place: Place) -> list[Row]:
    """Return the rows of external memories."""
    return [
        _row(place, _NTM, "pytorch-ntm's formulas", training(lambda *parts: _per_head(_Parts(*parts)))),
        _row(place, _NTM, "plain formulas", _plain(_NTM)),
        _row(place, _DNC, "plain formulas", _plain(_DNC)),
    ]


def _row(place: Place, sizes: _Sizes, peer: str, theirs: Prepare) -> Row:
    def inputs(place: Place) -> tuple[Tensor, ...]:
        heads, gates = sizes.module().heads.out_features, 4 * sizes.hidden
        given, scale = _INPUT + sizes.reads * sizes.cell_dim, sizes.hidden**-0.5
        shapes = (gates, given), (gates, sizes.hidden), (gates,), (gates,), (heads, sizes.hidden), (heads,)
        learned = [place.normal(*shape, grad=True, scale=scale) for shape in shapes]
        starts = (place.normal(*shape, grad=True) for shape in ((sizes.cell_dim,), (sizes.reads, sizes.cell_dim)))
        return place.normal(_STEPS, sizes.batch, _INPUT), *learned, *starts

    return Row(
        subject="memory",
        family=f"{sizes.name}, {_STEPS} steps forward+backward",
        shape=f"{sizes.batch}x{sizes.cells}x{sizes.cell_dim}",
        size=sizes.cells,
        peer=peer,
        inputs=inputs,
        ours=_ours(sizes),
        theirs=theirs,
        targets=(times(3 if sizes is _NTM else 2),) if place.device.type == "cpu" else (),
        quick=peer == "plain formulas",
    )


def _ours(sizes: _Sizes) -> Prepare:
    def prepare(*parts: Tensor) -> Run:
        memory = _holding(sizes.module(), _Parts(*parts))
        return training(lambda *parts: _controlled(memory, sizes, _Parts(*parts)))(*parts)

    return prepare


def _plain(sizes: _Sizes) -> Prepare:
    def prepare(*parts: Tensor) -> Run:
        ours = _ours(sizes)(*parts)

        def run() -> Tensor:
            with without_kernels("they are measured"):
                found: Tensor = ours()
                return found

        return run

    return prepare


def _holding(memory: ExternalMemory, parts: _Parts) -> ExternalMemory:
    """A memory of the tensors that are given, in the place of its own parameters."""
    holders = (
        (memory.heads, "weight", parts.heads_weight),
        (memory.heads, "bias", parts.heads_bias),
        (memory, "first_cell", parts.first_cell),
        (memory, "first_read", parts.first_read),
    )
    for module, name, tensor in holders:
        delattr(module, name)
        setattr(module, name, tensor)
    return memory


def _controlled(memory: ExternalMemory, sizes: _Sizes, parts: _Parts) -> Tensor:
    """What is read at each step."""
    state = memory.start(sizes.batch, sizes.cells)
    hidden = cell = parts.inputs.new_zeros(sizes.batch, sizes.hidden)
    step, found = lstm_cell(parts.hidden_weight, parts.hidden_bias), []
    for x in parts.inputs:
        given = torch.cat((x, state.read.flatten(1)), 1)
        hidden, cell = step(F.linear(given, parts.input_weight, parts.input_bias), hidden, cell)
        state = memory(hidden, state)
        found.append(state.read)
    return torch.stack(found)


def _per_head(parts: _Parts) -> Tensor:
    """The NTM of `_NTM` as pytorch-ntm computes it (https://github.com/loudinthecloud/pytorch-ntm), from the equations
    of Graves et al. 2014: a linear layer for each head, cosine similarity of all cells, powers as they stand, and the
    convolution in a loop over the batch. In the order of a step and the add vector's tanh it is the network of the
    other side, so that both compute the same numbers.
    """
    sizes, size = _NTM, _NTM.cell_dim
    lstm = nn.LSTMCell(_INPUT + size, sizes.hidden, device="meta")
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    controller = dict(zip(names, parts[1:5], strict=True))
    head = size + 6
    memory = parts.first_cell.expand(sizes.batch, sizes.cells, -1)
    read = parts.first_read.expand(sizes.batch, -1, -1)[:, 0]
    reading = writing = F.one_hot(torch.zeros(sizes.batch, dtype=torch.int64, device=read.device), sizes.cells).to(read)
    state = (read.new_zeros(sizes.batch, sizes.hidden),) * 2
    found = []
    for x in parts.inputs:
        state = torch.func.functional_call(lstm, controller, (torch.cat((x, read), 1), state))
        asked = F.linear(state[0], parts.heads_weight[head:], parts.heads_bias[head:])
        writing = _addressed(memory, writing, asked[:, :head])
        erase, add = asked[:, head : head + size].sigmoid(), asked[:, head + size :].tanh()
        memory = memory * (1 - writing.unsqueeze(-1) @ erase.unsqueeze(1)) + writing.unsqueeze(-1) @ add.unsqueeze(1)
        reading = _addressed(memory, reading, F.linear(state[0], parts.heads_weight[:head], parts.heads_bias[:head]))
        read = (reading.unsqueeze(1) @ memory).squeeze(1)
        found.append(read[:, None])
    return torch.stack(found)


def _addressed(memory: Tensor, before: Tensor, asked: Tensor) -> Tensor:
    """Equations 5 to 9 of one head."""
    key, beta, gate, gamma, shifts = asked.split((memory.shape[-1], 1, 1, 1, 3), -1)
    similar = F.cosine_similarity(memory + 1e-16, key.unsqueeze(1) + 1e-16, dim=-1)
    weights = (F.softplus(beta) * similar).softmax(1)
    weights = gate.sigmoid() * weights + (1 - gate.sigmoid()) * before
    moved = torch.zeros_like(weights)
    spread = shifts.softmax(-1).flip(-1)  # a correlation with these is the convolution
    for b in range(len(moved)):
        moved[b] = _convolved(weights[b], spread[b])
    powers = moved ** (1 + F.softplus(gamma))
    return powers / (powers.sum(1, keepdim=True) + 1e-16)


def _convolved(weights: Tensor, spread: Tensor) -> Tensor:
    around = torch.cat((weights[-1:], weights, weights[:1]))
    return F.conv1d(around.view(1, 1, -1), spread.view(1, 1, -1)).view(-1)
