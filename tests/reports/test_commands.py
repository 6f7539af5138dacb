import shlex
from dataclasses import asdict

import pytest

from saccade.cli.train import options, wanted
from saccade.reports.commands import train_command
from saccade.reports.options import Trained
from saccade.reports.training import Variant, _command, settings
from saccade.tasks import load_task
from saccade.train.files import write_json
from saccade.train.plan import PLAN, Plan, fitted
from saccade.train.recipes import suit


def test_a_command_means_the_options_that_it_was_made_from():
    kind = load_task("translate")
    for words in (
        ["--data", "dates", "--seed", "3", "--run", "my runs/a"],
        ["--data", "a folder", "--source", "de", "--target", "en", "--max-minutes", "7", "--device", "cpu"],
        ["--data", "dates", "--model", "encoder-decoder", "--max-steps", "5", "--dropout", "0.5"],
        ["--data", "dates", "--max-steps", "600", "--max-minutes", "2"],
        ["--data", "dates", "--max-minutes", "1"],
    ):
        meant = options(kind, wanted(kind, words))
        command = shlex.split(train_command(kind, meant))
        assert command[:3] == ["saccade", "train", "translate"]
        assert options(kind, wanted(kind, command[3:])) == meant


@pytest.fixture
def corpus(tmp_path):
    """A folder of so few pairs that `saccade train` takes another recipe than that of files."""
    for split, count in (("train", 40), ("val", 3), ("test", 3)):
        for side in ("de", "en"):
            (tmp_path / f"{split}.{side}").write_text("".join(f"{side} {number}\n" for number in range(count)))
    return str(tmp_path)


@pytest.mark.parametrize("budget", [{"max_steps": 600}, {"max_minutes": 3.0}, {}])
def test_it_means_them_for_data_with_recipes_by_size(corpus, tmp_path, budget):
    kind, one = load_task("translate"), Variant("transformer", "transformer", {"label_smoothing": 0.2})
    report = Trained(data=corpus, source="de", target="en", **budget)
    meant = settings(report, one, 1, tmp_path / "run", 40.0)
    if "max_minutes" in budget:
        seconds = {"before": 1.0, "step": 1.0, "validation": 1.0, "final": 1.0}
        plan = Plan(3.0, 100, 4400, False, seconds, {"warmup_steps": 60, "validation_steps": 17})
        (tmp_path / "other").mkdir()
        write_json(tmp_path / "other" / PLAN, asdict(plan))
        meant = fitted(meant, plan, ())
    typed = shlex.split(_command(kind, meant, tmp_path / "other", {"label_smoothing"}))
    asked = wanted(kind, typed[3:])
    suited = suit(kind, asked.model, asked.data, asked.given)
    assert suited.reason.startswith("40 pairs") and options(kind, asked, suited) == meant
    assert set(asked.given) >= {"hidden_dim", "warmup_steps", "validation_steps"}
