"""A recurrent controller beside an external memory: what a Neural Turing Machine and its successor have alike."""

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
    """Fewest cells in training. Each batch draws its number of cells up to --most-cells, so heads learn to hold their
    place. Default: --cells."""

    most_cells: int | None = None
    """Most cells in training. Default: the larger of --cells and --least-cells."""

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
    """Probability that a training step resets the controller, so that it relies on the memory."""

    strength_bias: float = 0.0
    """Initial bias of the strength of content addressing. Above 0 the heads start selective."""

    def __post_init__(self) -> None:
        """Refuse sizes of nothing, naming the option as it is typed."""
        in_ranges(self, _RANGES)
        below_one(self, "dropout")
        below_one(self, "forgetting")
        least, most = self.training_cells
        if not 1 <= least <= most <= 1 << 20:
            name = "--most-cells" if self.least_cells is None else "--least-cells"
            got = f"{least} to {most}; give both --least-cells and --most-cells"
            raise ArgumentError(f"{name}: expected cells from one number to another that is no smaller, got {got}")

    @property
    def training_cells(self) -> tuple[int, int]:
        """The least and the most cells of a memory in training."""
        least = self.cells if self.least_cells is None else self.least_cells
        return least, max(least, self.cells) if self.most_cells is None else self.most_cells


class MemoryNetwork(Memorizer):
    r"""An LSTM that reads its input and what was read from the memory, and heads that follow its state.

    .. math::
        h_t, c_t &= \operatorname{LSTM}([x_t; r_{t-1}], h_{t-1}, c_{t-1}) \\
        M_t, r_t &= \operatorname{Memory}(h'_t, M_{t-1}) \\
        f_t &= [h'_t; r_t]

    with h' = h, or h normalized over its features. In training features of h' in f may be dropped, as in Franke,
    Niehues, Waibel 2018 (https://arxiv.org/abs/1807.02658, "bypass dropout" and "DNC
    normalization"), and the controller may forget: h and c are the first ones again before a step that reads
    something, each step of each sequence by itself, which leaves what earlier steps read to the memory.

    Args:
        sizes: of what is read and said.
        options: the sizes of its parts.
        by: what heads go by, see `saccade.nn.ExternalMemory`.
    """

    addressing: ClassVar[Addressing]
    cells: int
    """Cells of the memory that the next sequence begins with, but in training; another number may be set any time."""

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
        """Return what pictures show of the states after each step of one sequence, beside where heads were."""

    def forward(self, source: Padded) -> Tensor:
        found: Tensor = self.output(self._features(self.read(source), self._forgotten(source.values)))
        return found

    def features(self, steps: Padded) -> Tensor:
        return self._features(steps, None)

    def _features(self, steps: Padded, forgotten: Tensor | None) -> Tensor:
        found = [(hidden, state.read.flatten(1)) for hidden, state in self._run(steps, forgotten)]
        hidden, read = (torch.stack(part, 1) for part in zip(*found, strict=True))
        return torch.cat([self.dropout(hidden), read], -1)

    def nbytes(self, cells: int) -> int:
        """Return about how many bytes a sequence takes with so many cells, see `answering_bytes`."""
        return self.answering_bytes(self.options, cells)

    @classmethod
    def answering_bytes(cls, options: Options, cells: int) -> int:
        """Return about how many bytes a sequence takes with so many cells: its state before a step, behind it, and once
        more within.
        """
        return 3 * cls._state_bytes(options, cells)

    @classmethod
    def training_bytes(cls, options: Options, cells: int, batch: int, steps: int) -> int:
        """Return how many bytes a step of training takes at the least with so many cells.

        Its backward needs the state behind each step of each sequence, and holds the gradients of two beside them.

        Args:
            options: the sizes of the model.
            cells: of the memory.
            batch: sequences.
            steps: of the longest.
        """
        return batch * (steps + 2) * cls._state_bytes(options, cells)

    @classmethod
    def _state_bytes(cls, options: Options, cells: int) -> int:
        heads = options.read_heads + cls.writers(options)
        linked = cells + 2 if cls.addressing == "links" else 0
        return 4 * cells * (options.cell_dim + heads + linked)

    @classmethod
    def writers(cls, options: Any) -> int:
        """Return how many heads write at each step."""
        return 1

    def _forgotten(self, values: Tensor) -> Tensor | None:
        """Before which steps the controller begins anew, `(batch, length, 1)`: never where it is about to answer."""
        if not (self.training and self.options.forgetting):
            return None
        reads = values > BLANK if self.sizes.symbols else values != 0
        reads = reads.flatten(2).any(-1) if values.ndim == 3 else reads
        return (reads & (torch.rand(reads.shape, device=reads.device) < self.options.forgetting))[..., None]

    def trace(self, source: Padded) -> Mapping[str, Tensor]:
        states = list[MemoryState]()
        for _, state in self._run(self.read(source)):
            if states:
                states[-1] = states[-1]._replace(links=None)  # cells by cells: only the last are shown
            states.append(state)
        found = dict[str, Tensor]()
        for name, weights in (("write", "write_weights"), ("read", "read_weights")):
            every = torch.stack([getattr(state, weights)[0] for state in states], -1)
            found |= {name if len(every) == 1 else f"{name} {n}": head for n, head in enumerate(every, 1)}
        return {name: part.detach().cpu() for name, part in {**found, **self.shown(states)}.items()}

    def _drawn(self) -> int:
        least, most = self.options.training_cells
        return least if least == most else int(torch.randint(least, most + 1, ()))

    def _run(self, steps: Padded, forgotten: Tensor | None = None) -> Iterator[tuple[Tensor, MemoryState]]:
        """What the controller hands on, and the memory's state, after each step."""
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
            handed = self.norm(hidden)
            state = self.memory(handed, state)
            yield handed, state
