"""The report `fast-weights`: layers whose weights move with the input beside layers whose weights do not."""

from functools import partial
from typing import ClassVar, TypeAlias

from saccade.reports import Made
from saccade.reports.direct import Budget, Direct, Job, make
from saccade.reports.fast_weights.findings import summary
from saccade.reports.fast_weights.layers import ATTENTION, DENSE, LAYERS
from saccade.reports.fast_weights.page import write_page
from saccade.reports.fast_weights.recall import PAIRS, recalled
from saccade.reports.making import Design
from saccade.train.environment import choose_device

__all__ = ["FastWeights", "Options"]

_BUDGET, _QUICK = Budget(800, 30.0), Budget(500, 0.6)
_FEW = (ATTENTION, DENSE)  # layers that --quick has time for

Options: TypeAlias = Direct


class FastWeights:
    """Attention's weights move with the input, a convolution's do not, and a task asks for weights that do.

    Source:
        Schmidhuber 1992; Ba et al. 2016 (https://arxiv.org/abs/1610.06258); Arora et al. 2023
        (https://arxiv.org/abs/2312.04927).
    """

    sentence: ClassVar[str] = "attention and convolution as matrices, and associative recall by both (Ba et al. 2016)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train every layer with every seed, measure what it recalls and how it moves, and write the page."""
        device, budget = choose_device(options.device), (_QUICK if options.quick else _BUDGET).within(options)
        jobs = [
            Job({"model": name, "seed": seed}, partial(recalled, name, PAIRS, seed, budget, device), budget)
            for seed in range(1, options.seeds + 1)
            for name in (_FEW if options.quick else LAYERS)
        ]
        return make(Design("fast-weights", write_page, summary), options, "", {}, jobs)
