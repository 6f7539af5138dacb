"""The laws catch backends that are wrong on purpose, and pass the same check of the right one."""

import pytest
import torch

from laws import checks, smooth
from laws.case import Case
from laws.table import Sizes
from laws.wrong import WRONG, backend
from saccade._dispatch import choose

CAUGHT = {
    "masks_with_a_large_number": lambda on: checks.law_empty_rows(Case(backend=on)),
    "lets_hidden_values_through": lambda on: checks.law_hidden_keys(Case(backend=on)),
    "multiplies_forbidden_gates": lambda on: checks.law_hidden_keys(Case(gate="tensor", backend=on)),
    "forgets_the_scale": lambda on: checks.law_values(Case(backend=on)),
    "leaves_a_trace_of_forbidden_keys": lambda on: checks.law_forbidden_weights(Case(backend=on)),
    "takes_the_higher_of_equals": lambda on: smooth.law_ties(Case(backend=on)),
    "does_not_scale_what_dropout_leaves": lambda on: smooth.law_dropout(Case(backend=on)),
    "drops_before_it_reports": lambda on: smooth.law_dropout(Case(backend=on)),
    "draws_its_own_noise": lambda on: smooth.law_same_noise(Case(backend=on)),
    "draws_its_own_uniforms": lambda on: smooth.law_draws(Case(backend=on)),
    "accumulates_in_half": lambda on: checks.law_accumulation(Case(backend=on, dtype=torch.bfloat16)),
    "rounds_the_scores": lambda on: checks.law_accuracy(
        Case(backend=on, dtype=torch.bfloat16, sizes=Sizes(q=61, k=97)), 2.0
    ),
    "is_causal_by_one_too_many": lambda on: checks.law_causal(Case(backend=on), "end"),
    "scales_by_the_batch": lambda on: checks.law_batch(Case(backend=on)),
    "is_never_the_same_twice": lambda on: checks.law_repeats(Case(backend=on)),
    "counts_keys_by_position": lambda on: checks.law_permuted_keys(Case(backend=on)),
    "knows_its_neighbours": lambda on: checks.law_permuted_queries(Case(backend=on)),
    "gives_no_gradient_to_keys": lambda on: smooth.law_gradients(Case(backend=on)),
    "has_no_second_derivative": lambda on: smooth.law_derivatives(Case(backend=on)),
    "reports_bits_for_nats": lambda on: checks.law_values(Case(backend=on)),
    "receives_before_the_gate": lambda on: checks.law_values(Case(gate="tensor", backend=on)),
    "normalizes_after_the_gate": lambda on: checks.law_values(Case(gate="tensor", backend=on)),
    "mixes_the_batch_up": lambda on: smooth.law_functional(Case(backend=on)),
}


def test_every_wrong_backend_is_tried():
    assert set(CAUGHT) == set(WRONG)


@pytest.mark.parametrize("mistake", CAUGHT)
def test_the_law_catches_it(mistake, monkeypatch):
    CAUGHT[mistake]("reference")
    monkeypatch.setitem(choose.BACKENDS, "wrong", backend(WRONG[mistake]))
    with pytest.raises(AssertionError):
        CAUGHT[mistake]("wrong")
