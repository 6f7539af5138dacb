"""Law 6: auto picks, a named backend serves or says why not, and `explain` says all of it without running anything."""

import pytest
import torch

from laws import checks
from laws.case import Case
from laws.combinations import each, interacting
from laws.table import BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES, TABLES
from saccade import AuxRequest, errors, explain
from tiers import every

MEMBERS = [(kind, name) for kind, table in TABLES.items() for name in table]
DOT = {kind: [name for name, member in table.items() if "dot" in member.traits] for kind, table in TABLES.items()}
SERVED = interacting(DOT["score"], DOT["normalizer"], MASKS, BIASES, ["none"], ["soft"], ["sdpa"], seed=12)
EXPLAINED = each(SCORES, NORMALIZERS, MASKS, BIASES, GATES, READS, ["auto"], seed=11)


def served(case: Case) -> bool:
    return all("dot" in case.member(kind).traits for kind in ("score", "normalizer", "read")) and case.gate == "none"


@every(("kind", "name"), MEMBERS)
def test_torchs_kernels_serve_a_member_or_say_why_not(kind, name):
    case = Case(**{kind: name}, backend="sdpa")
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


@pytest.mark.parametrize("combination", EXPLAINED, ids="-".join)
def test_explain_tells_what_attend_does(combination):
    case = Case(*combination)
    inputs = case.inputs()
    plan = explain(inputs["query"], inputs["key"], inputs["value"], **case.arguments(inputs))
    assert set(plan.why) >= {"reference", "chunked", "sdpa"} - {plan.backend} and all(plan.why.values())
    assert plan.backend not in plan.why and plan.peak_bytes >= 0 and plan.terms == 2 * 3 * 5 * 7 * 11
    assert torch.equal(case.run(inputs), case.on(plan.backend).run(inputs))
