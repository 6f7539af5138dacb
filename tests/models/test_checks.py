from types import SimpleNamespace

import pytest

from saccade.errors import ArgumentError
from saccade.models.checks import below_one
from tiers import every


@pytest.mark.parametrize("value", [0, 0.0, 0.5, 1 - 1e-9])
def test_what_is_a_share_below_one_passes(value):
    below_one(SimpleNamespace(dropout=value, ctc_weight=0.0), "dropout", "ctc_weight")


@every("value", [1, 1.0, -1e-9, float("nan"), float("inf")])
def test_what_is_none_is_named_as_it_is_typed(value):
    with pytest.raises(ArgumentError, match=f"^--ctc-weight: expected 0 <= ctc weight < 1, got {value}$"):
        below_one(SimpleNamespace(dropout=0.5, ctc_weight=value), "dropout", "ctc_weight")
