import math
import statistics

import pytest
import torch

from saccade.cli import main
from saccade.tasks.memorize import MEMORIZE, problem
from saccade.train.results import measure
from saccade.train.run import Run
from saccade.train.task import recipe
from saccade.train.trained import load_trained
from studies.frame import training
from studies.frame.training import settings
from studies.memory import CONTENT, LOCATION, LSTM, NEAR, NTM, STUDY, VARIANTS, Findings, Options
from study_rows import complete, described, drawn, published, stored
from tiers import every

SEQUENCES, WIDTH = 100, 8
LENGTHS = (20, 40, 80, 120)
NONE = (0.0, 0.0, 0.0, 0.0)
FAILS = (0.02, 0.3, 0.4, 0.45)


def group_of(share, length, numbers):
    """A group of sequences, each bit of which is wrong with some probability."""
    bits = WIDTH * length
    wrong = [int((torch.rand(bits, generator=numbers) < share).sum()) for _ in range(SEQUENCES)]
    asked = bits * SEQUENCES
    about = {"sequences": SEQUENCES, "asked": asked, "bit_error": sum(wrong) / asked, "bits": 2.0 * share * bits}
    return {**about, "wrong": " ".join(map(str, wrong))}


def made_up(ntm=NONE, lstm=FAILS, seeds=3, **others):
    """report.json of models that have shares of the bits wrong, by length."""

    def columns(name, by_length, numbers):
        groups = {"1-20": (10, by_length[0])} | {str(n): (n, x) for n, x in zip(LENGTHS, by_length, strict=True)}
        return {"lengths": {group: group_of(share, n, numbers) for group, (n, share) in groups.items()}}

    shares = {variant.name: FAILS for variant in VARIANTS} | {"ntm": ntm, "lstm": lstm} | others
    return drawn("copy", shares, columns, seeds)


def test_errors_are_those_of_the_sequences():
    result = Findings(made_up((0.1, 0.1, 0.1, 0.3)))
    lstm, rise = result.error(LSTM, 120), result.rise(NTM)
    assert lstm.value == pytest.approx(statistics.fmean(row["120"]["bit_error"] for row in result.rows[LSTM]))
    # independent bits: of three seeds the mean over a sequence varies by this
    assert lstm.sources[1].error == pytest.approx(math.sqrt(0.45 * 0.55 / (3 * WIDTH * 120 * SEQUENCES)), rel=0.3)
    rises = [row["120"]["bit_error"] - row["20"]["bit_error"] for row in result.rows[NTM]]
    assert rise.value == pytest.approx(statistics.fmean(rises))
    assert rise.sources[0].error == pytest.approx(statistics.stdev(rises) / math.sqrt(3))
    errors = [result.error(NTM, length).sources[1].error for length in (120, 20)]
    assert rise.sources[1].error == pytest.approx(math.hypot(*errors))


@every(
    ("changed", "result"),
    [
        ({}, "reproduced"),
        ({"seeds": 1}, "not decided"),
        ({"ntm": (0.0, 0.0, 0.0, 0.002)}, "reproduced"),
        ({"ntm": (0.0, 0.0, 0.0, NEAR)}, "not decided"),
        ({"ntm": (0.0, 0.0, 0.1, 0.2)}, "contradicted"),  # better than the LSTM, but not near its own error
        ({"lstm": NONE}, "not decided"),
        ({"ntm": (0.05,) * 4, "lstm": (0.0, 0.0, 0.0, 0.01)}, "contradicted"),
        ({"ntm": (0.04,) * 4, "lstm": (0.3, 0.3, 0.3, 0.2)}, "contradicted"),  # the LSTM does not fail by length
        ({"ntm": (0.3,) * 4}, "not decided"),
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_the_verdict_names_models_that_learned_nothing():
    assert "which it was trained on" not in Findings(made_up()).verdict.reason
    reason = Findings(made_up(lstm=(0.3, 0.4, 0.4, 0.45))).verdict.reason
    assert reason.endswith("of the bits wrong at 20 vectors, which it was trained on")
    reason = Findings(made_up((0.3,) * 4)).verdict.reason
    assert reason.startswith("nothing can be concluded: the NTM has ") and reason.endswith("train it longer")


def test_addressing_is_worse_better_or_not_decided():
    content = made_up((0.02, 0.1, 0.1, 0.1), **{CONTENT: FAILS, LOCATION: (0.02, 0.0, 0.0, 0.0)})
    header, alone, moved = Findings(content).fields()["addressing"]
    assert header[1:] == ["at 20 vectors more than by both", "at 120 vectors more than by both"]
    assert alone[0] == CONTENT and alone[2].endswith("(worse)") and moved[2].endswith("(better)")
    assert moved[1].endswith("(not decided)")


def test_the_page_is_complete(tmp_path):
    words = ["1410.5401", "**reproduced**", "100 of 120", "The 3 claims", "at most 1 in 100 bits more wrong"]
    words += ["over seeds and sequences together", "Seeds: 1, 2, 3", "Bits a sequence, by vectors"]
    words += ["| model | 1-20 | 20 | 40 | 80 | 120 | at 120 more than ntm |"]
    words += [f"| ntm | {' | '.join(5 * ['0.00 ± 0.00'])} |  |"]
    complete(STUDY, made_up(), tmp_path, words, "memory", "memory-addressing")
    kinds, addressing = (described(tmp_path / f"memory{which}.svg")["desc"] for which in ("", "-addressing"))
    assert "ntm: 0.0001 (hollow) at 20, 0.0001 (hollow) at 40" in kinds
    assert "transformer" in kinds and "content" not in kinds
    assert "ntm, content alone: 0.019" in addressing and "lstm" not in addressing


def test_only_the_ntm_of_copy_has_patience():
    """The page describes the weights of each recipe."""
    pairs = [(variant.model, data) for variant in VARIANTS for data in ("copy", "recall")]
    assert {pair for pair in pairs if recipe(MEMORIZE, *pair).get("patience")} == {("ntm", "copy")}


SMALL = {"hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 8, "cell_dim": 4, "batch_size": 4}


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Small models, two steps whatever the budget, and few sequences."""
    train = training.train

    def trained(kind, options, given):
        names = type(options).__dataclass_fields__
        little = {name: value for name, value in SMALL.items() if name in names}
        few = type(options)(**{**vars(options), **little, "max_steps": 2, "max_minutes": None})
        return train(kind, few, given=given)

    monkeypatch.setattr(problem, "HELD_OUT", 10)
    monkeypatch.setattr("saccade.tasks.memorize.task._ENDLESS", 20)
    monkeypatch.setattr(training, "train", trained)
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_quick_rows_are_what_the_runs_themselves_measure(tiny, tmp_path, capsys):
    assert main(["report", "memory", "--quick"]) == 0
    folder = tmp_path / "reports/memory-copy-quick"
    content = stored(folder)
    assert [row["model"] for row in content["rows"]] == [NTM, CONTENT, LOCATION, LSTM]
    assert "nothing can be concluded" in capsys.readouterr().out
    assert main(["report", "memory", "--quick", "--longest", "5"]) == 2 and "made with" in capsys.readouterr().err
    for row, name in zip(content["rows"], content["runs"], strict=True):
        assert list(row["lengths"]) == ["1-10", "10", "20", "40", "60"]
        trained = load_trained(MEMORIZE, Run.open(folder / "runs" / name), torch.device("cpu"))
        groups = measure(trained.task, trained.model, "test", 1).groups
        for group, about in row["lengths"].items():
            assert about["sequences"] == len(about["wrong"].split()) == 2
            assert about["bit_error"] == pytest.approx(groups["bit_error"][group], abs=1e-9)
            assert about["bits"] == pytest.approx(groups["bits"][group], abs=1e-4)
            assert about["bit_error"] * about["asked"] == pytest.approx(sum(map(int, about["wrong"].split())))


@pytest.mark.slow
def test_a_published_command_reads_the_other_data(tiny, tmp_path):
    assert main([*published("memory-recall"), "--seeds", "1"]) == 0
    recall = stored(tmp_path / "reports/memory-recall")
    assert [row["model"] for row in recall["rows"]] == [variant.name for variant in VARIANTS]
    assert all(list(row["lengths"]) == ["2-6", "6", "9", "12", "15"] for row in recall["rows"])
    assert "by items" in (tmp_path / "reports/memory-recall/index.md").read_text(encoding="utf-8")


@every(
    ("words", "message"),
    [
        ("--data sort", "--data: expected copy or recall, whose sequences differ in length, got sort"),
        ("--data copy --longest 21", "--longest: expected at most 20, since memories have room for these, got 21"),
        ("--data recall --longest 7", "--longest: expected at most 6"),
        ("--data recall --longest 1", "--longest: expected a number from 2"),
        ("--quick --data recall", "--quick: expected no --data but copy"),
    ],
)
def test_incomparable_data_are_rejected(words, message, rejects):
    rejects(f"memory {words}", message)


def test_models_have_their_recipes_but_for_addressing(tmp_path):
    options = Options(data="copy")
    runs = [
        vars(settings(options, variant, 1, tmp_path, 40.0, MEMORIZE)) for variant in STUDY.measure.variants(options)
    ]
    for other in runs[1:3]:
        assert {key for key in other if runs[0][key] != other[key]} == {"by"}
    assert all(run["max_steps"] == runs[0]["max_steps"] and run["batch_size"] == 16 for run in runs)
    options = Options(quick=True, data="copy")
    quick = [settings(options, variant, 1, tmp_path, 1.0, MEMORIZE) for variant in STUDY.measure.variants(options)]
    assert {(run.max_steps, run.schedule_steps, run.longest) for run in quick} == {(1200, 1200, 10)}
