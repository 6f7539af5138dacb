"""Options of predictions and evaluations of texts, beside those of a run."""

from dataclasses import dataclass
from typing import Any

from saccade.errors import ArgumentError
from saccade.tasks.generate.generate import Sampling, Search
from saccade.tasks.generate.options import check_length_penalty
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.text.tokenizer import Tokenizer
from saccade.train.options import not_positive

__all__ = ["EvalRequest", "Request", "check_prefix", "search_of"]

_LONGEST = 100_000  # tokens: no text is longer
_LARGEST = 10_000  # outputs that are kept at once


@dataclass(frozen=True, kw_only=True)
class EvalRequest:
    """Options of an evaluation. The defaults are those of the run.

    >>> EvalRequest(beam_size=5).length_penalty is None
    True
    """

    beam_size: int | None = None
    """Beam size. Default: that of the run."""

    length_penalty: float | None = None
    """Exponent of the length normalization in beam search. Default: that of the run."""

    min_length: int = 0
    """Fewest tokens of an answer, up to its limit."""

    def __post_init__(self) -> None:
        if self.beam_size is not None and not 0 < self.beam_size <= _LARGEST:
            raise ArgumentError(f"--beam-size: expected a number from 1 to {_LARGEST}, got {self.beam_size}")
        check_length_penalty(self.length_penalty or 0.0)
        if not 0 <= self.min_length <= _LONGEST:
            raise ArgumentError(f"--min-length: expected a number from 0 to {_LONGEST}, got {self.min_length}")


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest):
    """Options of a prediction.

    Raises:
        ArgumentError: naming an option that is out of range, or has no effect beside another.

    Example:
        >>> Request(sample=True, temperature=0.7).min_length
        0
    """

    nbest: int = 1
    """Answers per input, a line each, best first. With --sample: samples."""

    prefix: str | None = None
    """First words of each answer."""

    sample: bool = False
    """Sample answers instead of searching for the best."""

    temperature: float | None = None
    """With --sample: temperature of the softmax. Default: 1."""

    top_p: float | None = None
    """With --sample: sample from the top tokens of this total probability. Default: 1."""

    seed: int | None = None
    """With --sample: seed of the samples. Default: that of the run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.nbest <= _LARGEST:
            raise ArgumentError(f"--nbest: expected a number from 1 to {_LARGEST}, got {self.nbest}")
        for option, value in (("--temperature", self.temperature), ("--top-p", self.top_p), ("--seed", self.seed)):
            if value is not None and not self.sample:
                raise ArgumentError(f"{option}: expected only with --sample, got {value} without it")
        for option, ranking in (("--beam-size", self.beam_size), ("--length-penalty", self.length_penalty)):
            if ranking is not None and self.sample:
                raise ArgumentError(f"{option}: expected without --sample, got both; draws are not searched for")
        if wrong := not_positive(self.temperature):
            raise ArgumentError(f"--temperature: {wrong}; without --sample the most probable output is written")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ArgumentError(f"--top-p: expected a share above 0 and at most 1, got {self.top_p}")
        if self.prefix is not None and (not self.prefix.strip() or len(self.prefix.splitlines()) > 1):
            raise ArgumentError(f"--prefix: expected a text in one line, got {self.prefix!r:.60}")


def search_of(settings: Any, request: Request, target: Tokenizer, *, rank_all: bool = False) -> Search:
    """Return the search of a request, with defaults of the run.

    Args:
        settings: of the run, with beam_size, length_penalty and seed.
        request: of a user.
        target: tokenizer of the outputs.
        rank_all: whether all outputs that are kept are returned, to be ranked again.
    """
    sampling = None
    if request.sample:
        seed = settings.seed if request.seed is None else request.seed
        sampling = Sampling(request.temperature or 1.0, request.top_p or 1.0, seed)  # 0 is rejected
    return Search(
        beam_size=settings.beam_size if request.beam_size is None else request.beam_size,
        length_penalty=settings.length_penalty if request.length_penalty is None else request.length_penalty,
        count=request.nbest,
        min_length=request.min_length,
        prefix=tuple(_prefix(request, target)),
        sampling=sampling,
        rank_all=rank_all,
    )


def check_prefix(request: Request, target: Tokenizer, limit: int, units: str) -> None:
    """Reject a prefix longer than an output, or with an unknown token.

    Args:
        request: of a user.
        target: tokenizer of the outputs.
        limit: the most tokens of an output.
        units: name of the tokens, in messages.

    Raises:
        ArgumentError: for such a prefix.
    """
    ids = _prefix(request, target)
    if len(ids) > limit:
        raise ArgumentError(f"--prefix: expected at most {limit} tokens, as many as an output may have, got {len(ids)}")
    if UNKNOWN in ids:
        unknown = target.pieces((request.prefix or "").strip())[ids.index(UNKNOWN)]
        raise ArgumentError(f"--prefix: expected {units} that the run can write, got {unknown!r}")


def _prefix(request: Request, target: Tokenizer) -> list[int]:
    return [] if request.prefix is None else target.encode(request.prefix.strip())
