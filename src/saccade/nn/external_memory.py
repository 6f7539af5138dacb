"""`ExternalMemory`: a memory with heads. State goes in and comes out."""

from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import whole
from saccade._definitions.numerics import without_autocast
from saccade.errors import ArgumentError, ShapeError
from saccade.kernels.heads import Heads, step
from saccade.nn import addressing
from saccade.nn._checks import features, one_of, sizes, state_sizes

__all__ = ["Addressing", "ExternalMemory", "MemoryState"]

Addressing = Literal["shift", "links"]
By = Literal["both", "content", "location"]
_CERTAIN = 60.0  # a logit: its sigmoid rounds to 1, and that of its negative is 10⁻²⁶


class MemoryState(NamedTuple):
    """Contents of a memory after a step, and the weights of its heads.

    Args:
        memory: `(batch, cells, cell_dim)`.
        read: results of the reads, `(batch, heads, cell_dim)`.
        read_weights: `(batch, heads, cells)`.
        write_weights: `(batch, write heads, cells)`.
        usage: of each cell, `(batch, cells)`; None with "shift", like precedence and links.
        precedence: how much each cell was the last one written, `(batch, cells)`.
        links: `(batch, cells, cells)`, how much the first cell was written right after the second.
    """

    memory: Tensor
    read: Tensor
    read_weights: Tensor
    write_weights: Tensor
    usage: Tensor | None = None
    precedence: Tensor | None = None
    links: Tensor | None = None


class ExternalMemory(nn.Module):
    r"""A memory of any number of cells, written and then read at each step.

    .. math::
        M_t = M_{t-1} \odot \prod_h (1 - w^h e^h) + \sum_h w^h a^h, \qquad r_t = w^r M_t

    The weights w of a head are by content, \(w^c = \mathrm{softmax}(\beta \cos(k, M))\), and

    - with "shift" by location: \(w^g = g w^c + (1 - g) w_{t-1}\), moved by s to \(\tilde w = w^g * s\), sharpened to
      \(w \propto \tilde w^\gamma\);
    - with "links" by the history of writing: \(w^w = g^w (g^a a + (1 - g^a) w^c)\) with a the freest cells, and
      \(w^r = \pi_1 L^\top w^r_{t-1} + \pi_2 w^c + \pi_3 L w^r_{t-1}\), backward and forward along the links L.

    Its parameters do not depend on the number of cells: a memory trained with 20 cells runs with 200. It starts with a
    learned vector in all cells, and with "shift" all heads start on the first cell.

    Args:
        controller_dim: features of the controller's output, from which heads get their parameters.
        cell_dim: features of a cell.
        num_reads: heads that read.
        num_writes: heads that write; with "links" one. With 0 the memory is only read: put its contents into a state by
            `state._replace(memory=contents)`. By content alone it is then attention by cosine.
        addressing: "shift" or "links".
        max_shift: the largest shift of a head in a step, in cells; with "shift".
        by: the addressing of heads with "shift": "both", "content" alone (g = 1, and s and γ do not change w), or
            "location" alone (g = 0).
        device, dtype: of the parameters.

    Raises:
        ArgumentError: sizes below 1, an unknown addressing, several writers with "links".

    Source:
        "shift", a Neural Turing Machine: Graves, Wayne, Danihelka 2014, equations 2 to 9
        (https://arxiv.org/abs/1410.5401). "links", a Differentiable Neural Computer: Graves et al. 2016, Methods
        (https://doi.org/10.1038/nature20101).

    >>> memory = ExternalMemory(controller_dim=16, cell_dim=4, num_reads=2)
    >>> state = memory.start(batch_size=3, num_cells=10)
    >>> state = memory(torch.randn(3, 16), state)
    >>> state.read.shape, state.read_weights.shape
    (torch.Size([3, 2, 4]), torch.Size([3, 2, 10]))
    """

    _settled: Tensor

    def __init__(
        self,
        controller_dim: int,
        cell_dim: int,
        *,
        num_reads: int = 1,
        num_writes: int = 1,
        addressing: Addressing = "shift",
        max_shift: int = 1,
        by: By = "both",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes(controller_dim=controller_dim, cell_dim=cell_dim, num_reads=num_reads)
        whole("num_writes", num_writes, least=0)
        whole("max_shift", max_shift, least=0)
        one_of("addressing", addressing, get_args(Addressing))
        one_of("by", by, get_args(By))
        if addressing == "links" and by != "both":
            raise ArgumentError(f"by: expected 'both' with addressing 'links', got {by!r}. Use 'shift'.")
        if addressing == "links" and num_writes != 1:
            raise ArgumentError(f"num_writes: expected 1 with addressing 'links', got {num_writes}. Use 'shift'.")
        self.controller_dim, self.cell_dim, self.addressing = controller_dim, cell_dim, addressing
        self.num_reads, self.num_writes, self.max_shift = num_reads, num_writes, max_shift
        # beside its key a head has β, g, γ and shifts; with links β, free and three modes, or β and two gates
        moved = 3 + 2 * max_shift + 1
        self._reader = cell_dim + (5 if addressing == "links" else moved)
        self._writer = 3 * cell_dim + (3 if addressing == "links" else moved)  # key, erase and add
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.heads = nn.Linear(controller_dim, num_reads * self._reader + num_writes * self._writer, **factory)
        self.by = by
        self.register_buffer("_settled", self._certain(by, device), persistent=False)
        self.first_cell = nn.Parameter(torch.randn(cell_dim, **factory) * 0.1)
        self.first_read = nn.Parameter(torch.zeros(num_reads, cell_dim, **factory))

    @property
    def strengths(self) -> list[int]:
        """Indices of β in the outputs of `heads`, of readers and then of writers.

        For example, a bias there makes heads sharp from the start.

        >>> ExternalMemory(4, 3, num_reads=2).strengths
        [3, 12, 21]
        """
        first = self.num_reads * self._reader
        reads = (head * self._reader + self.cell_dim for head in range(self.num_reads))
        return [*reads, *(first + head * self._writer + self.cell_dim for head in range(self.num_writes))]

    def _certain(self, by: By, device: torch.device | str | None) -> Tensor:
        """Parameters of heads that `by` fixes, and NaN for those of the controller."""
        settled = torch.full((self.heads.out_features,), torch.nan, device=device)
        for strength in self.strengths if by != "both" else ():
            gate, sharpness, first = strength + 1, strength + 2, strength + 3
            settled[gate] = _CERTAIN if by == "content" else -_CERTAIN
            if by == "content":
                settled[sharpness] = -_CERTAIN
                settled[first : first + 2 * self.max_shift + 1] = -_CERTAIN
                settled[first + self.max_shift] = _CERTAIN
        return settled

    def start(self, batch_size: int, num_cells: int) -> MemoryState:
        """The state before the first step.

        Args:
            batch_size: the number of memories, one an example.
            num_cells: cells of each memory.

        Raises:
            ArgumentError: numbers below 1.

        >>> ExternalMemory(4, 3, addressing="links").start(2, 5).links.shape
        torch.Size([2, 5, 5])
        """
        sizes(batch_size=batch_size, num_cells=num_cells)
        memory = self.first_cell.expand(batch_size, num_cells, -1)
        read = self.first_read.expand(batch_size, -1, -1)
        weights = memory.new_zeros(batch_size, self.num_reads + self.num_writes, num_cells)
        if self.addressing == "shift":
            weights[..., 0] = 1.0
        reading, writing = weights.split((self.num_reads, self.num_writes), 1)
        if self.addressing == "shift":
            return MemoryState(memory, read, reading, writing)
        nothing = memory.new_zeros(batch_size, num_cells)
        links = memory.new_zeros(batch_size, num_cells, num_cells)
        return MemoryState(memory, read, reading, writing, nothing, nothing, links)

    def forward(self, controller: Tensor, state: MemoryState) -> MemoryState:
        """Write, then read.

        Args:
            controller: `(batch, controller_dim)`.
            state: from `start` or the last step. It does not change.

        Returns:
            The next state, with the results of reading in `read`.

        Raises:
            ShapeError: a controller or a state of other sizes.
        """
        features("controller", controller, self.controller_dim, self.heads)
        if controller.ndim != 2:
            expected = f"(batch, {self.controller_dim}), a step of each memory"
            raise ShapeError(f"controller: expected {expected}, got {tuple(controller.shape)}")
        batch, cells, linked = len(controller), state.memory.shape[-2], self.addressing == "links"
        state_sizes(
            "state",
            state,
            "memory",
            memory=(batch, cells, self.cell_dim),
            read=(batch, self.num_reads, self.cell_dim),
            read_weights=(batch, self.num_reads, cells),
            write_weights=(batch, self.num_writes, cells),
            usage=(batch, cells) if linked else None,
            precedence=(batch, cells) if linked else None,
            links=(batch, cells, cells) if linked else None,
        )
        parameters = self.heads(controller).to(state.memory.dtype)
        if self.by != "both":
            parameters = torch.where(self._settled.isnan(), parameters, self._settled.to(parameters.dtype))
        if linked:
            heads = Heads(self._by_links, self.num_reads)
        else:
            heads = Heads(self._by_shift, self.num_reads, self.num_writes, self.max_shift)
        held = [part for part in (state.memory, *state[2:]) if part is not None]
        with without_autocast(parameters):  # a state keeps its dtype from step to step
            return MemoryState(*(step(heads, parameters, *held) if self.num_writes else self._read(parameters, *held)))

    def _of_heads(self, parameters: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Parameters of readers and of writers, and the vectors erase and add."""
        sizes = self.num_reads * self._reader, self.num_writes * self._writer
        reads, writes = parameters.split(sizes, -1)
        reads, writes = reads.unflatten(-1, (self.num_reads, -1)), writes.unflatten(-1, (self.num_writes, -1))
        writes, erase, add = writes.split((self._writer - 2 * self.cell_dim, self.cell_dim, self.cell_dim), -1)
        return reads, writes, erase.sigmoid(), add.tanh()

    def _read(self, parameters: Tensor, memory: Tensor, reading: Tensor, writing: Tensor) -> tuple[Tensor, ...]:
        reading = self._moved(parameters.unflatten(-1, (self.num_reads, -1)), memory, reading)
        return memory, reading @ memory, reading, writing  # Eq. 2

    def _by_shift(self, parameters: Tensor, memory: Tensor, reading: Tensor, writing: Tensor) -> tuple[Tensor, ...]:
        # Numbers are those of Graves et al. 2014. Eq. 1 holds since softmax, mean, shift and `sharpen` keep sums of 1.
        reads, writes, erase, add = self._of_heads(parameters)
        writing = self._moved(writes, memory, writing)
        memory = addressing.write(memory, writing, erase, add)  # Eq. 3 and 4
        reading = self._moved(reads, memory, reading)
        return memory, reading @ memory, reading, writing  # r_t = Σ_i w_t(i) M_t(i), Eq. 2

    def _moved(self, parameters: Tensor, memory: Tensor, weights: Tensor) -> Tensor:
        """The next weights of heads: k, β, g, s and γ of section 3.3."""
        key, beta, gate, gamma, shifts = parameters.split((self.cell_dim, 1, 1, 1, 2 * self.max_shift + 1), -1)
        similar = addressing.content(key, F.softplus(beta), memory)  # w^c, Eq. 5 and 6
        gated = torch.lerp(weights, similar, gate.sigmoid())  # w^g, Eq. 7
        moved = addressing.shift(gated, shifts.softmax(-1))  # Eq. 8
        return addressing.sharpen(moved, 1 + F.softplus(gamma))  # Eq. 9

    def _by_links(
        self, parameters: Tensor, memory: Tensor, reading: Tensor, writing: Tensor, *history: Tensor
    ) -> tuple[Tensor, ...]:
        used, precedence, links = history
        reads, writes, erase, add = self._of_heads(parameters)
        key, beta, free, modes = reads.split((self.cell_dim, 1, 1, 3), -1)
        used = addressing.usage(used, writing[:, 0], reading, free.sigmoid())
        writing = self._allocated(writes, used, memory)
        memory = addressing.write(memory, writing, erase, add)
        links, precedence = addressing.follow(links, precedence, writing[:, 0])
        ways = reading @ links, addressing.content(key, _above_one(beta), memory), reading @ links.mT
        reading = (torch.stack(ways, -1) @ modes.softmax(-1)[..., None])[..., 0]
        return memory, reading @ memory, reading, writing, used, precedence, links

    def _allocated(self, parameters: Tensor, used: Tensor, memory: Tensor) -> Tensor:
        """Weights of writing: by content, by allocation, or none."""
        key, beta, allocate, gate = parameters.split((self.cell_dim, 1, 1, 1), -1)
        similar = addressing.content(key, _above_one(beta), memory)
        mixed = torch.lerp(similar, addressing.allocation(used)[:, None], allocate.sigmoid())
        return mixed.mul(gate.sigmoid())


def _above_one(strength: Tensor) -> Tensor:
    """The paper's oneplus, 1 + log(1 + exp x)."""
    return 1 + F.softplus(strength)
