"""Law 6: auto picks, a named backend serves or says why not, and `explain` says all of it without running anything."""

import pytest
import torch

from laws import checks
from laws.case import Case
from laws.table import BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES, TABLES, pairwise
from saccade import AuxRequest, errors, explain

ALL = pairwise(SCORES, NORMALIZERS, MASKS, BIASES, GATES, READS, ["sdpa"], seed=11)
DOT = {kind: [name for name, member in table.items() if "dot" in member.traits] for kind, table in TABLES.items()}
SERVED = pairwise(DOT["score"], DOT["normalizer"], MASKS, BIASES, ["none"], ["soft"], ["sdpa"], seed=12)


def served(case: Case) -> bool:
    return all("dot" in case.member(kind).traits for kind in ("score", "normalizer", "read")) and case.gate == "none"


@pytest.mark.parametrize("combination", ALL, ids="-".join)
def test_torchs_kernels_serve_or_say_why_not(combination):
    case = Case(*combination)
    inputs = case.inputs()
    if served(case):
        checks.same(case.run(inputs), case.truth(inputs)[0])
        return
    with pytest.raises(errors.UnsupportedBackend, match="sdpa.*(score|normalizer|temperature|gate|read)"):
        case.run(inputs)


@pytest.mark.parametrize("combination", SERVED, ids="-".join)
def test_what_torchs_kernels_serve_is_the_textbooks(combination):
    case = Case(*combination)
    inputs = checks.differentiable(case.inputs())
    output, truth = case.run(inputs), case.truth(inputs)[0]
    checks.same(output, truth)
    leaves = checks.learning(inputs)
    checks.same(checks.gradients(checks.pulled(output), leaves), checks.gradients(checks.pulled(truth), leaves), 1e-7)


def test_torchs_kernels_give_no_statistics():
    with pytest.raises(errors.UnsupportedBackend, match="entropy, received"):
        Case(backend="sdpa").run(Case().inputs(), AuxRequest(entropy=True, received=True))


@pytest.mark.parametrize("combination", ALL[::7], ids="-".join)
def test_explain_tells_what_attend_does(combination, monkeypatch):
    case = Case(*combination).on("auto")
    inputs = case.inputs()
    plan = explain(inputs["query"], inputs["key"], inputs["value"], **case.arguments(inputs))
    assert set(plan.why) >= {"reference", "chunked", "sdpa"} - {plan.backend} and all(plan.why.values())
    assert plan.backend not in plan.why and plan.peak_bytes >= 0 and plan.terms == 2 * 3 * 5 * 7 * 11
    assert torch.equal(case.run(inputs), case.on(plan.backend).run(inputs))
