import math
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from saccade.reports.experts import measuring
from saccade.reports.experts.report import Options
from saccade.reports.training import Variant, settings
from saccade.tasks.translate import Translate


class Untrained(NamedTuple):
    """A task with a model of its own."""

    task: Translate
    model: torch.nn.Module


@pytest.fixture(scope="module")
def trained():
    """A translator with four experts in its only layer."""
    sizes = {"hidden_dim": 16, "layers": 1, "feedforward_dim": 16, "heads": 2, "experts": 4}
    task = Translate.prepare(settings(Options(data="dates"), Variant("a", "transformer", sizes), 1, Path(), 1.0))
    torch.manual_seed(1)
    return Untrained(task, task.build().eval())


def pairs_of(task, count=30):
    return [task.data.example("test", number) for number in range(count)]


@pytest.mark.slow
def test_balance_is_that_of_training(trained, monkeypatch):
    monkeypatch.setattr(measuring, "BATCHES", 2)
    found, again = (measuring.balanced(trained.task, trained.model, 1) for _ in range(2))
    assert found == again and set(found) == {"importance", "load", "most"} and not trained.model.training
    assert 0 < found["load"] < 1 < found["most"] < 4  # gates begin with all experts alike
    gates = [module.gate for module in trained.model.modules() if hasattr(module, "noise_gate")]
    saved = [gate.detach().clone() for gate in gates]
    with torch.no_grad():
        for gate in gates:
            gate[0] += 50.0 * torch.randn(16, generator=torch.Generator().manual_seed(1))
    assert measuring.balanced(trained.task, trained.model, 1)["load"] > found["load"]
    with torch.no_grad():
        for gate, before in zip(gates, saved, strict=True):
            gate.copy_(before)


def test_perplexity_is_that_of_all_tokens(trained):
    pairs = pairs_of(trained.task)
    found = measuring.perplexity(trained.task, trained.model, pairs)
    words, total, count = trained.task.vocabulary, 0.0, 0
    for pair in pairs:
        [example] = measuring.encode([pair], words.source, words.target)
        batch = measuring.pad([example])
        with torch.no_grad():
            logs = trained.model(batch.source, batch.target[:, :-1]).log_softmax(-1)
        total -= float(logs.gather(-1, batch.target[:, 1:, None]).sum())
        count += batch.target.shape[1] - 1
    assert found == pytest.approx(math.exp(total / count), rel=1e-5)


def test_what_experts_know_are_shares(trained):
    pairs = pairs_of(trained.task)
    found = measuring.specialization(trained.task, trained.model, pairs, [pair.group for pair in pairs])
    names = {"token", "group", "token by chance", "group by chance"}
    assert set(found) == names and all(0 <= share <= 1 for share in found.values())
    assert found == measuring.specialization(trained.task, trained.model, pairs, [pair.group for pair in pairs])
    one = measuring.specialization(trained.task, trained.model, pairs, ["all"] * len(pairs))
    assert one["group"] == 0.0


def test_information():
    one = torch.tensor([0, 0, 1, 1, 2, 2])
    assert measuring.information(one, one) == pytest.approx(1.0)
    assert measuring.information(one, torch.zeros_like(one)) == 0.0
    assert measuring.information(torch.zeros_like(one), one) == 0.0
    half = measuring.information(one, torch.tensor([0, 0, 1, 1, 1, 1]))
    entropy = math.log(3)
    assert half == pytest.approx((entropy - 2 / 3 * math.log(2)) / entropy)


def test_what_a_small_sample_shares_by_chance_is_found():
    one, other = torch.arange(64) % 4, torch.arange(64) % 32
    apart = torch.arange(64) // 32 % 2
    assert measuring.information(one, other) == pytest.approx(1.0)
    assert measuring._by_chance(one, other) == measuring._by_chance(one, other)
    assert 0.5 < measuring._by_chance(one, other) < 0.9  # two samples a value of 32: nearly all seems known
    assert measuring._by_chance(one, apart) < 0.05
