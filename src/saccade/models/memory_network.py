"""LSTM controller with external memory: base class of NTM and DNC."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.kernels.cells import lstm_of
from saccade.kernels.dropout import Dropout
from saccade.models.checks import below_one
from saccade.models.memorizer import BLANK, Memorizer, Sizes, initialize_lstm
from saccade.models.padded import Padded
from saccade.nn import ExternalMemory
from saccade.nn.external_memory import Addressing, By, MemoryState

__all__ = ["MemoryNetwork", "Options"]

_RANGES = (
    ("hidden_dim", 1, 1 << 20),
    ("embedding_dim", 1, 1 << 20),
    ("cells", 1, 1 << 20),
    ("cell_dim", 1, 1 << 20),
    ("read_heads", 1, 1 << 10),
    ("forget_bias", -100, 100),
    ("strength_bias", -100, 100),
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of a controller and its memory.

    >>> Options(cells=64).cell_dim
    20
    """

    hidden_dim: int = 100
    """Units of the controller, an LSTM."""

    embedding_dim: int = 64
    """Features of a symbol. Vectors need no embedding."""

    cells: int = 128
    """Cells of the memory. No weight depends on their number."""

    least_cells: int | None = None
    """Smallest number of cells in training. Default: --cells.

    Each batch draws a number up to --most-cells, so heads learn to keep their position."""

    most_cells: int | None = None
    """Largest number of cells in training. Default: --cells, at least --least-cells."""

    cell_dim: int = 20
    """Features of a cell."""

    read_heads: int = 1
    """Heads that read at each step."""

    forget_bias: float = 1.0
    """Initial bias of the controller's forget gates. Below 0 it relies on the memory."""

    dropout: float = 0.0
    """Dropout of the controller's output, but not of the memory's."""

    normalize: bool = False
    """Normalize the controller's output to mean 0 and variance 1 at each step."""

    forgetting: float = 0.0
    """Probability of a reset of the controller before a training step.

    With resets it relies on the memory."""

    strength_bias: float = 0.0
    """Initial bias of the strength of content addressing.

    Above 0 the heads are selective at first."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        in_ranges(self, _RANGES)
        below_one(self, "dropout")
        below_one(self, "forgetting")
        least, largest = self.training_cells
        if not 1 <= least <= largest <= 1 << 20:
            name = "--most-cells" if self.least_cells is None else "--least-cells"
            got = f"{least} to {largest}; give both --least-cells and --most-cells"
            raise ArgumentError(f"{name}: expected cells from one number to another that is no smaller, got {got}")

    @property
    def training_cells(self) -> tuple[int, int]:
        """Smallest and largest number of cells in training."""
        least = self.cells if self.least_cells is None else self.least_cells
        return least, max(least, self.cells) if self.most_cells is None else self.most_cells


class MemoryNetwork(Memorizer):
    r"""An LSTM over inputs and read vectors, with heads on an external memory.

    .. math::
        h_t, c_t &= \operatorname{LSTM}([x_t; r_{t-1}], h_{t-1}, c_{t-1}) \\
        M_t, r_t &= \operatorname{Memory}(h'_t, M_{t-1}) \\
        f_t &= [h'_t; r_t]

    h' is h, or h after layer normalization ("DNC normalization" of Franke, Niehues, Waibel 2018,
    https://arxiv.org/abs/1807.02658). Dropout applies to h' in f ("bypass dropout" there). In training the controller
    may also forget: random steps with input reset h and c to their initial values. Information of earlier steps then
    survives in the memory alone.

    Args:
        sizes: sizes of input and output.
        options: the sizes of controller and memory.
        by: addressing of the heads, see `saccade.nn.ExternalMemory`.
    """

    addressing: ClassVar[Addressing]
    cells: int
    """Number of cells in evaluation. It may change between sequences."""

    def __init__(self, sizes: Sizes, options: Options, by: By = "both") -> None:
        hidden, read = options.hidden_dim, options.read_heads * options.cell_dim
        super().__init__(sizes, options.embedding_dim, hidden + read)
        self.options, self.cells = options, options.cells
        self.memory = ExternalMemory(
            hidden,
            options.cell_dim,
            num_reads=options.read_heads,
            num_writes=self.writers(options),
            addressing=self.addressing,
            by=by,
        )
        self.norm: nn.Module = nn.LayerNorm(hidden) if options.normalize else nn.Identity()
        self.dropout = Dropout(options.dropout)
        self.input = nn.Linear(self.input_dim, 4 * hidden, bias=False)
        self.recurrent = nn.Linear(hidden + read, 4 * hidden)
        self.first_hidden, self.first_cell = (nn.Parameter(torch.zeros(hidden)) for _ in range(2))
        weight = torch.empty(4 * hidden, self.input_dim + hidden + read)
        initialize_lstm(weight, self.recurrent.bias, options.forget_bias)
        with torch.no_grad():
            self.input.weight.copy_(weight[:, : self.input_dim])
            self.recurrent.weight.copy_(weight[:, self.input_dim :])
            nn.init.xavier_uniform_(self.memory.heads.weight)
            self.memory.heads.bias.zero_()
            self.memory.heads.bias[self.memory.strengths] = options.strength_bias

    @abstractmethod
    def shown(self, states: list[MemoryState]) -> dict[str, Tensor]:
        """Return further matrices for pictures, from the states of one sequence."""

    def forward(self, source: Padded) -> Tensor:
        logits: Tensor = self.output(self._features(self.read(source), self._forgotten(source.values)))
        return logits

    def features(self, steps: Padded) -> Tensor:
        return self._features(steps, None)

    def _features(self, steps: Padded, forgotten: Tensor | None) -> Tensor:
        outputs = [(hidden, state.read.flatten(1)) for hidden, state in self._run(steps, forgotten)]
        hidden, read = (torch.stack(part, 1) for part in zip(*outputs, strict=True))
        return torch.cat([self.dropout(hidden), read], -1)

    def nbytes(self, cells: int) -> int:
        """Return the approximate bytes per sequence, see `answering_bytes`."""
        return self.answering_bytes(self.options, cells)

    @classmethod
    def answering_bytes(cls, options: Options, cells: int) -> int:
        """Return the approximate bytes per sequence in evaluation.

        They hold the state before a step, after it, and one temporary copy.
        """
        return 3 * cls._state_bytes(options, cells)

    @classmethod
    def training_bytes(cls, options: Options, cells: int, batch: int, steps: int) -> int:
        """Return a lower bound of the bytes of a training step.

        The backward pass needs the state after each step of each sequence, and the gradients of two states.

        Args:
            options: the sizes of the model.
            cells: number of cells.
            batch: number of sequences.
            steps: steps of the longest sequence.
        """
        return batch * (steps + 2) * cls._state_bytes(options, cells)

    @classmethod
    def _state_bytes(cls, options: Options, cells: int) -> int:
        heads = options.read_heads + cls.writers(options)
        linked = cells + 2 if cls.addressing == "links" else 0
        return 4 * cells * (options.cell_dim + heads + linked)

    @classmethod
    def writers(cls, options: Any) -> int:
        """Return the number of write heads."""
        return 1

    def _forgotten(self, values: Tensor) -> Tensor | None:
        """Draw the steps that reset the controller, `(batch, length, 1)`.

        Steps with output do not reset it.
        """
        if not (self.training and self.options.forgetting):
            return None
        reads = values > BLANK if self.sizes.symbols else values != 0
        reads = reads.flatten(2).any(-1) if values.ndim == 3 else reads
        return (reads & (torch.rand(reads.shape, device=reads.device) < self.options.forgetting))[..., None]

    def trace(self, source: Padded) -> Mapping[str, Tensor]:
        states = list[MemoryState]()
        for _, state in self._run(self.read(source)):
            if states:
                states[-1] = states[-1]._replace(links=None)  # cells × cells: pictures show the last ones alone
            states.append(state)
        heads = dict[str, Tensor]()
        for name, field in (("write", "write_weights"), ("read", "read_weights")):
            weights = torch.stack([getattr(state, field)[0] for state in states], -1)
            heads |= {name if len(weights) == 1 else f"{name} {n}": head for n, head in enumerate(weights, 1)}
        return {name: part.detach().cpu() for name, part in {**heads, **self.shown(states)}.items()}

    def _drawn(self) -> int:
        least, largest = self.options.training_cells
        return least if least == largest else int(torch.randint(least, largest + 1, ()))

    def _run(self, steps: Padded, forgotten: Tensor | None = None) -> Iterator[tuple[Tensor, MemoryState]]:
        """Yield the controller's output and the memory's state after each step."""
        batch = len(steps.values)
        state = self.memory.start(batch, self._drawn() if self.training else self.cells)
        first_hidden, first_cell = self.first_hidden.expand(batch, -1), self.first_cell.expand(batch, -1)
        hidden, cell = first_hidden, first_cell
        controller = lstm_of(self.recurrent)
        for step, gates in enumerate(self.input(steps.values).unbind(1)):
            if forgotten is not None:
                hidden = torch.where(forgotten[:, step], first_hidden, hidden)
                cell = torch.where(forgotten[:, step], first_cell, cell)
            hidden, cell = controller(gates, torch.cat([hidden, state.read.flatten(1)], 1), cell)
            output = self.norm(hidden)
            state = self.memory(output, state)
            yield output, state
