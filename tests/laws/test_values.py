"""Law 3: output and statistics are the textbook's, for every member on every backend, and members that interact."""

import pytest

from laws import checks
from laws.case import Case
from laws.combinations import interacting
from laws.table import BACKENDS, BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES

COMBINATIONS = interacting(SCORES, NORMALIZERS, MASKS, BIASES, GATES, READS, BACKENDS)


@pytest.mark.parametrize("combination", COMBINATIONS, ids="-".join)
def test_values(combination):
    checks.law_values(Case(*combination))
