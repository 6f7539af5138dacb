"""The report `bottleneck`: what passes through a vector of a fixed size, of sequences and of pictures."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.bottleneck.codes import AUTOENCODER, CODES, PIXELS, PRINCIPAL, coded
from saccade.reports.bottleneck.copying import ATTENTION, LENGTHS, VECTOR, copied
from saccade.reports.bottleneck.findings import summary
from saccade.reports.bottleneck.page import write_page
from saccade.reports.digits import BUILTIN, Digits, open_data
from saccade.reports.direct import Budget, Direct, Job, data_name, make
from saccade.reports.making import Design
from saccade.train.environment import choose_device

__all__ = ["Bottleneck", "Options"]

_COPYING, _QUICK_COPYING = Budget(800, 30.0), Budget(400, 0.5)
_CODING, _QUICK_CODING = Budget(800, 10.0), Budget(400, 0.1)
_QUICK_LENGTHS, _QUICK_CODES = (10, 20, 50, 100, 200), (2, 8, 64)


@dataclass(frozen=True, kw_only=True)
class Options(Direct):
    """What can be said about the report.

    >>> Options(seeds=5).width
    64
    """

    builtin: ClassVar[dict[str, str]] = BUILTIN

    data: str = "digits"
    """The images of the autoencoder: digits, which are built in, or a folder with the files of MNIST."""

    width: int = 64
    """Numbers of the vector that sequences go through, even."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        if self.width < 2 or self.width % 2:
            raise ArgumentError(f"--width: expected an even number from 2 on, got {self.width}")


class Bottleneck:
    """One vector keeps a smaller share of what is read the more is read; attention does not.

    Source:
        Cho et al. 2014 (https://arxiv.org/abs/1409.1259); Bahdanau, Cho, Bengio 2015 (https://arxiv.org/abs/1409.0473).
    """

    sentence: ClassVar[str] = "sequences copied through one vector and through attention, digits through short codes"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train both copiers and every autoencoder with every seed, and write the page."""
        digits = open_data(options.data)
        jobs = [job for seed in range(1, options.seeds + 1) for job in _seed(options, digits, seed)]
        decided = {"data": digits.fingerprint, "side": digits.side}
        design = Design("bottleneck", write_page, summary)
        return make(design, options, data_name(options.data, BUILTIN), decided, [*_once(options, digits), *jobs])


def _codes(options: Options) -> tuple[int, ...]:
    return _QUICK_CODES if options.quick else CODES


def _once(options: Options, digits: Digits) -> list[Job]:
    """What is computed, with no seed to hang on."""
    budget, device = _CODING, choose_device(options.device)
    pairs = [(PIXELS, 0), *((PRINCIPAL, code) for code in _codes(options))]
    return [
        Job(
            {"part": "codes", "model": model, "code": code, "seed": 0},
            partial(coded, model, code, digits, 0, budget, device),
        )
        for model, code in pairs
    ]


def _seed(options: Options, digits: Digits, seed: int) -> list[Job]:
    """What is trained with one seed."""
    device = choose_device(options.device)
    copying = (_QUICK_COPYING if options.quick else _COPYING).within(options)
    coding = (_QUICK_CODING if options.quick else _CODING).within(options)
    lengths = _QUICK_LENGTHS if options.quick else LENGTHS
    jobs = []
    for model in (ATTENTION, VECTOR):
        measure = partial(copied, model, options.width, lengths, seed, copying, device)
        jobs.append(Job({"part": "copying", "model": model, "seed": seed}, measure, copying))
    for code in _codes(options):
        measure = partial(coded, AUTOENCODER, code, digits, seed, coding, device)
        jobs.append(Job({"part": "codes", "model": AUTOENCODER, "code": code, "seed": seed}, measure, coding))
    return jobs
