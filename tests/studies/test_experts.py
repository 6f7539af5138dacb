import math
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.task import Job
from saccade.tasks.translate import TRANSLATE
from saccade.tasks.translate.codec import encode, pad
from studies import experts as module
from studies.experts import DENSE, PAPER, STUDY, WITHOUT, Findings, Options, by_chance, information, variants
from studies.frame.training import Variant, settings
from study_rows import complete, content_of, described, row_of, run_of, written
from tiers import every


def made_up(changed=None, seeds=3, spread=0.01, score=30.0, quick=False):
    """report.json with the paper's own figures, changed by setting and measurement."""
    rows, runs = [], []
    table = [variant.name for variant in variants(Options(data="" if quick else "d", quick=quick))]
    for seed in range(1, seeds + 1):
        more = spread * (seed - 2)
        for name in table:
            figures = {"perplexity": 40.0}
            if name in PAPER:
                measured = ("perplexity", "importance", "load", "most")
                figures = {**dict(zip(measured, PAPER[name][2:], strict=True)), "token": 0.5, "group": 0.25}
            figures |= (changed or {}).get(name, {})
            balance = {key: value + more for key, value in figures.items()}
            rows.append(row_of(name, score, seed=seed, measured="score"))
            rows.append({"model": name, "seed": seed, "measured": "balance", **balance, "command": ""})
            loads = {"expert_load_encoder.1": 2.0 + more, "expert_load_decoder.1": 3.0 + more}
            runs.append(run_of(name, seed, metrics={"bleu": 30.0, **(loads if name in PAPER else {})}))
    content = content_of("experts", runs, rows)
    content["arguments"] |= {"experts": 16, "top_k": 2}
    return content


@every(
    ("changed", "more", "result", "words"),
    [
        ({}, {}, "reproduced", "even loads out is reproduced, that they lower perplexity reproduced"),
        ({"load 0.2": {"load": 3.01}}, {}, "not decided", "even loads out is not decided"),
        ({"load 0.2": {"load": 4.0}}, {}, "contradicted", "even loads out is contradicted"),
        ({WITHOUT: {"perplexity": 35.65}}, {"spread": 0.5}, "not decided", "lower perplexity not decided"),
        ({WITHOUT: {"perplexity": 30.0}}, {}, "contradicted", "they lower perplexity contradicted"),
        ({}, {"seeds": 1}, "not decided", "even loads out is not decided"),
        ({}, {"quick": True}, "reproduced", "17.8 times the mean without losses and 1.14 times with both"),
        ({}, {"score": 0.0}, "not decided", "nothing can be concluded: no model got anything right"),
    ],
)
def test_the_numbers_decide(changed, more, result, words):
    verdict = Findings(made_up(changed, **more)).verdict
    assert verdict.result == result and words in verdict.reason


def test_every_setting_is_compared_with_no_loss():
    claims = Findings(made_up()).claims
    assert len(claims) == 2 * (len(PAPER) - 1) and all(claim.number.beyond() == 1 for claim in claims)
    assert claims[0].text == "CV(load) is lower with importance 0.2 than with no loss"


def test_the_figures_of_the_papers_table():
    assert PAPER[WITHOUT][3:] == (3.04, 3.01, 17.80) and PAPER[module.BOTH][3:] == (0.06, 0.05, 1.14)
    for name, row in PAPER.items():
        weights = [f"{loss} {weight:g}" for loss, weight in zip(("importance", "load"), row, strict=False) if weight]
        assert name == (", ".join(weights) or "no loss")


def test_the_page_is_complete(tmp_path):
    words = ["**reproduced**", "| no loss | 39.8 | 3.04 | 3.01 | 17.80 |", "Of 16 experts a token takes 2"]
    words += ["Perplexity is lower with load 0.2 than with no loss: reproduced, by ", "CV(load) is lower"]
    words += ["| losses | test perplexity | BLEU | CV(importance) | CV(load) | max / mean load | the same on test |"]
    words += ["| no experts | 40.0000 ± 0.0100 | 30.0000 ± 0.0000 |  |  |  |  |", "| no experts | 3 | 5 | 2 | 1,000 |"]
    words += ["| 3.04 ± 0.01 | 3.01 ± 0.01 | 17.80 ± 0.01 | 2.50 ± 0.01 |", "| no loss | 0.50 ± 0.01 | 0.25 ± 0.01 |"]
    assert "By chance" not in complete(STUDY, made_up(), tmp_path, words, "experts")
    picture = described(tmp_path / "experts.svg")
    assert picture["title"] == "How unevenly experts are loaded"
    assert "no loss: importance 3.04, load 3.01" in picture["desc"] and DENSE not in picture["desc"]


def test_shares_by_chance_are_shown_if_they_were_measured(tmp_path):
    page = written(STUDY, made_up({WITHOUT: {"token by chance": 0.25, "group by chance": 0.125}}), tmp_path)
    assert "By chance: experts shuffled among the tokens, the mean over 10 shuffles." in page
    assert "| known from the token by chance | known from the group |" in page
    assert "| no loss | 0.50 ± 0.01 | 0.25 ± 0.01 | 0.25 ± 0.01 | 0.12 ± 0.01 |" in page


class Untrained(NamedTuple):
    """A task with a model of its own."""

    task: Job
    model: torch.nn.Module


@pytest.fixture(scope="module")
def untrained():
    """A translator with four experts in its only layer."""
    sizes = {"hidden_dim": 16, "layers": 1, "feedforward_dim": 16, "heads": 2, "experts": 4}
    task = TRANSLATE.prepare(settings(Options(data="dates"), Variant("a", "transformer", sizes), 1, Path(), 1.0))
    torch.manual_seed(1)
    return Untrained(task, task.build().eval())


def pairs_of(task, count=30):
    return [task.data.example("test", number) for number in range(count)]


@pytest.mark.slow
def test_balance_is_that_of_training(untrained, monkeypatch):
    monkeypatch.setattr(module, "BATCHES", 2)
    first, again = (module.balanced(*untrained, 1) for _ in range(2))
    assert first == again and set(first) == {"importance", "load", "most"} and not untrained.model.training
    assert 0 < first["load"] < 1 < first["most"] < 4  # gates begin with all experts alike
    gates = [layer.gate for layer in untrained.model.modules() if hasattr(layer, "noise_gate")]
    saved = [gate.detach().clone() for gate in gates]
    with torch.no_grad():
        for gate in gates:
            gate[0] += 50.0 * torch.randn(16, generator=torch.Generator().manual_seed(1))
    assert module.balanced(*untrained, 1)["load"] > first["load"]
    with torch.no_grad():
        for gate, before in zip(gates, saved, strict=True):
            gate.copy_(before)


def test_perplexity_is_that_of_all_tokens(untrained):
    pairs, words, total, count = pairs_of(untrained.task), untrained.task.codec, 0.0, 0
    for pair in pairs:
        batch = pad(encode([pair], words.source, words.target))
        with torch.no_grad():
            logs = untrained.model(batch.source, batch.target[:, :-1]).log_softmax(-1)
        total -= float(logs.gather(-1, batch.target[:, 1:, None]).sum())
        count += batch.target.shape[1] - 1
    assert module.perplexity(*untrained, pairs) == pytest.approx(math.exp(total / count), rel=1e-5)


def test_the_knowledge_of_experts_are_shares(untrained):
    pairs = pairs_of(untrained.task)
    found = module.specialization(*untrained, pairs, [pair.group for pair in pairs])
    names = {"token", "group", "token by chance", "group by chance"}
    assert set(found) == names and all(0 <= share <= 1 for share in found.values())
    assert found == module.specialization(*untrained, pairs, [pair.group for pair in pairs])
    assert module.specialization(*untrained, pairs, ["all"] * len(pairs))["group"] == 0.0


def test_information():
    one, entropy = torch.tensor([0, 0, 1, 1, 2, 2]), math.log(3)
    assert information(one, one) == pytest.approx(1.0)
    assert information(one, torch.zeros_like(one)) == information(torch.zeros_like(one), one) == 0.0
    half = information(one, torch.tensor([0, 0, 1, 1, 1, 1]))
    assert half == pytest.approx((entropy - 2 / 3 * math.log(2)) / entropy)


def test_a_small_sample_shares_much_by_chance():
    first, second = torch.arange(64) % 4, torch.arange(64) % 32
    assert information(first, second) == pytest.approx(1.0)
    assert by_chance(first, second) == by_chance(first, second)
    assert 0.5 < by_chance(first, second) < 0.9  # two samples a value of 32
    assert by_chance(first, torch.arange(64) // 32 % 2) < 0.05


def test_variants_differ_in_their_losses_alone(tmp_path):
    options = Options(data="dates", experts=8, top_k=1)
    made = {one.name: settings(options, one, 1, tmp_path, 1.0) for one in variants(options)}
    losses = {name: (one.experts, one.importance_weight, one.load_weight) for name, one in made.items()}
    assert losses == {"no experts": (0, None, None), **{name: (8, *row[:2]) for name, row in PAPER.items()}}
    same = [{getattr(one, name) for one in made.values()} for name in ("learning_rate", "hidden_dim", "max_steps")]
    assert all(len(values) == 1 for values in same)
    assert [one.name for one in variants(Options(quick=True))] == [DENSE, WITHOUT, "importance 0.1, load 0.1"]


@every(
    ("options", "words"),
    [
        ({"experts": 1}, "--experts: expected a number from 2 to"),
        ({"experts": 4, "top_k": 4}, "--top-k: expected 1 or more, below --experts = 4, got 4"),
        ({"top_k": 0}, "--top-k: expected"),
        ({"seeds": 0}, "--seeds: expected"),
    ],
)
def test_options_without_meaning_are_rejected(options, words):
    with pytest.raises(ArgumentError, match=words):
        Options(**options)
