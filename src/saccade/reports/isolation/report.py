"""The report `isolation`: what attention's weights let through of the error, and what experts forget for it."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

from saccade.reports import Made
from saccade.reports.digits import BUILTIN, Digits, open_data
from saccade.reports.direct import Budget, Direct, Job, data_name, make
from saccade.reports.isolation.findings import summary
from saccade.reports.isolation.forgetting import GATES, LEARNED, OPTIMIZERS, SOFT, SPARSE, UNIFORM, forgotten
from saccade.reports.isolation.gradients import GRAPH, WAYS, compared, graph
from saccade.reports.isolation.page import write_page
from saccade.reports.making import Design
from saccade.train.environment import choose_device

__all__ = ["Isolation", "Options"]

_BUDGET, _QUICK = Budget(500, 5.0), Budget(200, 0.1)  # of a task
_FEW = (UNIFORM, SOFT, SPARSE)  # gates that --quick has time for


@dataclass(frozen=True, kw_only=True)
class Options(Direct):
    """What can be said about the report.

    >>> Options(seeds=5).data
    'digits'
    """

    builtin: ClassVar[dict[str, str]] = BUILTIN

    data: str = "digits"
    """The images of both tasks: digits, which are built in, or a folder with the files of MNIST."""


class Isolation:
    """A value is told its weight times what the output is told; what has no weight does not change.

    Source:
        Jacobs, Jordan, Nowlan, Hinton 1991, "Adaptive Mixtures of Local Experts".
    """

    sentence: ClassVar[str] = "what attention lets through of the error, and what experts forget (Jacobs et al. 1991)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Compare gradients with their formula, train every gate on two tasks in turn, and write the page."""
        digits = open_data(options.data)
        jobs = [Job({"part": "graph", "model": way, "seed": 0}, partial(graph, way)) for way in GRAPH]
        for seed in range(1, options.seeds + 1):
            jobs += [
                Job({"part": "gradients", "model": way, "seed": seed}, partial(compared, way, seed)) for way in WAYS
            ]
            jobs += _forgetting(options, digits, seed)
        design = Design("isolation", write_page, summary)
        return make(design, options, data_name(options.data, BUILTIN), {"data": digits.fingerprint}, jobs)


def _forgetting(options: Options, digits: Digits, seed: int) -> list[Job]:
    """Every gate trained by every optimizer with one seed."""
    device, each = choose_device(options.device), (_QUICK if options.quick else _BUDGET).within(options)
    both = Budget(2 * each.steps, 2 * each.minutes)
    gates = _FEW if options.quick else (*GATES, *LEARNED)
    return [
        Job(
            {"part": "forgetting", "optimizer": optimizer, "model": gate, "seed": seed},
            partial(forgotten, gate, optimizer, digits, seed, each, device),
            both,
        )
        for optimizer in OPTIMIZERS
        for gate in gates
    ]
