from types import SimpleNamespace

import pytest

from saccade.errors import ArgumentError
from saccade.models.checks import below_one, even
from tiers import every


@pytest.mark.parametrize("value", [0, 0.0, 0.5, 1 - 1e-9])
def test_what_is_a_share_below_one_passes(value):
    below_one(SimpleNamespace(dropout=value, ctc_weight=0.0), "dropout", "ctc_weight")


@every("value", [1, 1.0, -1e-9, float("nan"), float("inf")])
def test_what_is_none_is_named_as_it_is_typed(value):
    with pytest.raises(ArgumentError, match=f"^--ctc-weight: expected 0 <= ctc weight < 1, got {value}$"):
        below_one(SimpleNamespace(dropout=0.5, ctc_weight=value), "dropout", "ctc_weight")


def test_both_directions_have_as_many_units():
    for value in (2, 8, 1_000_000):
        even(SimpleNamespace(hidden_dim=value), "hidden_dim")
    for value in (-2, 0, 7, 1_000_002):
        with pytest.raises(
            ArgumentError, match=f"^--hidden-dim: expected an even number from 2 to 1000000, got {value}$"
        ):
            even(SimpleNamespace(hidden_dim=value), "hidden_dim")
