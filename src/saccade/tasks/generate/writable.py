"""The tokens that may follow an output.

Its bytes stay valid UTF-8, and no special token is text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
import torch
from torch import Tensor

from saccade.kernels.topk import Logits, dense
from saccade.tasks.generate.model import Autoregressive, S
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.special import END, UNKNOWN
from saccade.tasks.text.tokenizer import Tokenizer

__all__ = ["Rules", "Writer"]

_NOTHING = 256  # a column beside those of bytes
#: Ranges of the next byte and the state after it, by state: Unicode 15, table 3-7. U+FFFD (EF BF BD) is left out.
_NEXT: tuple[tuple[tuple[int, int, int], ...], ...] = (
    (
        *((0x00, 0x7F, 0), (0xC2, 0xDF, 1), (0xE0, 0xE0, 4), (0xE1, 0xEC, 2), (0xED, 0xED, 5), (0xEE, 0xEE, 2)),
        *((0xEF, 0xEF, 8), (0xF0, 0xF0, 6), (0xF1, 0xF3, 3), (0xF4, 0xF4, 7)),
    ),
    ((0x80, 0xBF, 0),),
    ((0x80, 0xBF, 1),),
    ((0x80, 0xBF, 2),),
    ((0xA0, 0xBF, 1),),
    ((0x80, 0x9F, 1),),
    ((0x90, 0xBF, 2),),
    ((0x80, 0x8F, 2),),
    ((0x80, 0xBE, 1), (0xBF, 0xBF, 9)),
    ((0x80, 0xBC, 0), (0xBE, 0xBF, 0)),
)
_MISSING = np.array([0, 1, 2, 3, 2, 2, 3, 3, 2, 1, 99])  # bytes of the character after each state, the last is invalid
_INVALID = len(_NEXT)
_ROOM = 4  # tokens in which any character can be completed


@dataclass(frozen=True)
class Rules:
    """Tokens that may follow in each state.

    Args:
        after: state after a token, `(states, vocabulary)`. It is 0 after one that may not follow.
        penalties: 0, or -inf for a token that may not follow. The shape is `(states * 4, vocabulary)`, by the state and
            by the tokens that are left, 1 to 4 or more. With whole characters alone, it is `(1, vocabulary)`.

    Example:
        >>> from saccade.tasks.text.tokenizer import Characters
        >>> Rules.of(Characters("ab")).penalties.tolist()
        [[-inf, -inf, 0.0, -inf, 0.0, 0.0]]
    """

    after: Tensor
    penalties: Tensor

    @classmethod
    def of(cls, target: Tokenizer, *, unknown: bool = False) -> "Rules":
        """Return the rules of a tokenizer.

        Args:
            target: of the outputs.
            unknown: whether an output may have the unknown token, for example to replace it later.
        """
        after = _states([_spelled(target, number) for number in range(len(target))])
        after[0, [END, UNKNOWN] if unknown else END] = 0
        rooms = np.arange(1, _ROOM + 1)[:, None]
        barred = _MISSING[after][:, None] >= rooms  # (states, rooms, vocabulary)
        whole = bool(np.isin(after[0], (0, _INVALID)).all())
        penalties = np.where(barred[:1, -1] if whole else barred.reshape(-1, len(target)), -np.inf, 0.0)
        return cls(torch.from_numpy(after % _INVALID), torch.from_numpy(penalties.astype(np.float32)))

    def to(self, device: torch.device) -> "Rules":
        """Return the rules on a device."""
        return Rules(self.after.to(device), self.penalties.to(device))


@dataclass(frozen=True)
class _Writing(Generic[S]):
    """State of a model, with the state of its bytes and the tokens left in each row."""

    model: S
    bytes: Tensor
    left: Tensor

    def select(self, rows: Tensor, examples: Tensor | None) -> "_Writing[S]":
        chosen = rows.flatten()
        return _Writing(self.model.select(rows, examples), self.bytes[chosen], self.left[chosen])


@dataclass(frozen=True)
class Writer(Generic[S]):
    r"""A model of valid text: probabilities of the tokens that may follow.

    .. math:: p'(y_t \mid y_{<t}, x) \propto p(y_t \mid y_{<t}, x)\,[y_t \text{ may follow } y_{<t}]

    It needs no more than a sum with the bias of the output layer, unless a character is incomplete.

    Args:
        model: any autoregressive model, for example an ensemble.
        rules: of its tokenizer, on its device.
    """

    model: Autoregressive[S]
    rules: Rules

    def start(self, state: S, limits: Tensor) -> _Writing[S]:
        """Return the state before the first token.

        Args:
            state: of the model.
            limits: `(batch,)`, the most tokens of each output.
        """
        return _Writing(state, torch.zeros_like(limits), limits + 1)

    def step(self, token: Tensor, state: _Writing[S]) -> tuple[Logits | Tensor, _Writing[S]]:
        """Return logits of the next token, -inf for invalid ones, and the next state."""
        logits, after = self.model.step(token, state.model)
        rules, left = self.rules, state.left - 1
        if len(rules.penalties) == 1:
            return _less(logits, rules.penalties[0]), _Writing(after, state.bytes, left)
        following = rules.after[state.bytes, token]
        rows = following * _ROOM + left.clamp(1, _ROOM) - 1
        usual = _ROOM - 1  # a complete character, and room for any
        if rows.is_cpu and bool((rows == usual).all()):
            return _less(logits, rules.penalties[usual]), _Writing(after, following, left)
        return _less(dense(logits), rules.penalties[rows]), _Writing(after, following, left)


def _less(logits: Logits | Tensor, penalty: Tensor) -> Logits | Tensor:
    if isinstance(logits, Logits):
        return Logits(logits.features, logits.weight, logits.bias + penalty.to(logits.bias.dtype))
    return logits + penalty.to(logits.dtype)


def _spelled(target: Tokenizer, number: int) -> bytes:
    if isinstance(target, BytePairs):
        return target.spelled(number)
    return target.piece(number).encode("utf-8", "surrogatepass")


def _states(tokens: Sequence[bytes]) -> Any:
    """Return the state after each token, `(states, tokens)`, invalid without bytes."""
    moves = np.full((_INVALID + 1, _NOTHING + 1), _INVALID)
    moves[:, _NOTHING] = range(_INVALID + 1)
    for state, ranges in enumerate(_NEXT):
        for first, last, following in ranges:
            moves[state, first : last + 1] = following
    columns = np.full((max(map(len, tokens)), len(tokens)), _NOTHING, np.int16)
    for number, token in enumerate(tokens):
        columns[: len(token), number] = np.frombuffer(token, np.uint8)
    after = np.repeat(np.arange(_INVALID)[:, None], len(tokens), 1)
    for column in columns:
        after = moves[after, column]
    after[:, [not token for token in tokens]] = _INVALID
    return after
