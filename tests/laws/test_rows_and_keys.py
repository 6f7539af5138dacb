"""Laws 1 and 2: empty rows give zeros; what nobody may attend to influences nothing."""

import pytest

from laws import checks
from laws.case import Case
from laws.combinations import each
from laws.table import BACKENDS, BIASES, GATES, NORMALIZERS, READS, SCORES

ROWS = each(SCORES, NORMALIZERS, ["none"], ["none"], GATES, READS, BACKENDS, seed=1)
KEYS = each(SCORES, NORMALIZERS, ["none"], BIASES, GATES, READS, BACKENDS, seed=2)
FORBIDDEN = each(SCORES, NORMALIZERS, ["none"], ["none"], ["none"], ["soft"], BACKENDS, seed=3)


@pytest.mark.parametrize("combination", ROWS, ids="-".join)
def test_a_row_with_nothing_allowed_is_empty(combination):
    checks.law_empty_rows(Case(*combination))


@pytest.mark.parametrize("combination", ROWS, ids="-".join)
def test_without_keys_every_row_is_empty(combination):
    checks.law_no_keys(Case(*combination))


@pytest.mark.parametrize("combination", KEYS, ids="-".join)
def test_what_nobody_may_attend_to_influences_nothing(combination):
    checks.law_hidden_keys(Case(*combination))


@pytest.mark.parametrize("combination", FORBIDDEN, ids="-".join)
def test_forbidden_weights_are_exactly_zero(combination):
    checks.law_forbidden_weights(Case(*combination))
