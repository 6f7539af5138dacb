"""What can be asked of coverage, and what of it means nothing."""

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.generate.coverage import EvalRequest, Request, check_coverage
from tiers import every


@every("penalty", [-0.1, float("nan"), 1001.0])
@every("kind", [EvalRequest, Request])
def test_a_penalty_is_a_number_from_none_on(kind, penalty):
    with pytest.raises(ArgumentError, match=f"--coverage-penalty: expected a number from 0 to 1000, got {penalty}"):
        kind(coverage_penalty=penalty)
    with pytest.raises(ArgumentError, match="--beam-size"):  # and what else is asked is looked at
        kind(beam_size=0)


def test_draws_and_what_is_alone_are_not_ranked():
    with pytest.raises(ArgumentError, match="--coverage-penalty: expected without --sample"):
        Request(sample=True, coverage_penalty=0.2)
    with pytest.raises(ArgumentError, match="--coverage-penalty: expected a --beam-size above 1, got 1"):
        check_coverage(0.2, 1)
    check_coverage(0.2, 2)
    check_coverage(0.0, 1)
