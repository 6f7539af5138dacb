from dataclasses import replace

import pytest
import torch

from saccade import runs
from saccade.errors import ArgumentError
from saccade.models import bytenet, recurrent, transformer
from saccade.tasks.translate import TRANSLATE, codec
from saccade.tasks.translate.data.dates import Dates
from saccade.tasks.translate.gradients import jacobian
from saccade.tasks.translate.options import RECIPES
from studies import implicit as study
from studies.frame import training
from studies.frame.claims import judged
from studies.frame.seeds import pack, unpack
from studies.frame.study import make
from studies.implicit import (
    ATTENTION,
    JACOBIAN,
    MODELS,
    STUDY,
    WORD,
    Findings,
    Options,
    columns,
    measured,
    variants,
    ways,
)
from study_rows import complete, content_of, described, run_of, stored
from tiers import every

SHARES = {"rnnsearch": 0.8, "encoder-decoder": 0.4, "bytenet": 0.5}
SENTENCES = 12


def way_of(share, seed):
    """Columns of one way of weighing: shares that differ a little from seed to seed and between sentences."""
    shares = [share + 0.01 * seed + 0.002 * (place % 5 - 2) for place in range(SENTENCES)]
    beyond = {group: {"5": 0.3, "10": 0.2 if group == "11-20" else 0.4, "20": 0.0} for group in ("11-20", "21-30")}
    packed = {name: pack(shares, "shares") for name in ("share", "found", "digit")}
    return {**packed, "beyond": beyond, "near": {"0-5": [3, 4], "6-10": [1, 4]}}


def row_of(model, share, seed, attention=None):
    measured_ways = {"jacobian": way_of(share, seed), "word": way_of(1.0 - 0.01 * seed - 0.005, seed)}
    measured_ways |= {"attention": way_of(attention, seed)} if attention else {}
    weights = [[0.25, 0.75], [0.5, 0.5]]
    example = {"source": "ab", "target": "xy", "jacobian": weights, **({"attention": weights} if attention else {})}
    lengths = {"11-20": 7, "21-30": 5}
    about = {"sentences": SENTENCES, "even": 0.25, "lengths": lengths, "ways": measured_ways, "example": example}
    return {"model": model, "seed": seed, "measured": "jacobian", **about, "command": ""}


def made_up(shares=SHARES, attention=0.9, seeds=3, right=0.9):
    """report.json of three models, with as many seeds."""
    numbers = range(1, seeds + 1)
    every_run = [run_of(model, seed, metrics={"exact_match": right}) for seed in numbers for model in shares]
    rows = [
        row_of(model, share, seed, attention if model == "rnnsearch" else None)
        for seed in numbers
        for model, share in shares.items()
    ]
    return {**content_of("implicit", every_run, rows), "data": "dates"}


@every(
    ("changed", "result"),
    [
        ({"shares": {**SHARES, "bytenet": 0.95}}, "contradicted"),
        ({"shares": {**SHARES, "bytenet": 0.8}}, "not decided"),
        ({"attention": 0.3}, "contradicted"),
        ({"seeds": 1}, "not decided"),
        ({"right": 0.4}, "not decided"),
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_if_all_claims_hold_it_is_reproduced():
    findings = Findings(made_up())
    numbers = [*findings.gains.values()]
    assert judged(numbers) == ["reproduced"] * 4 and findings.verdict.result == "reproduced"
    assert [number.value for number in numbers] == pytest.approx([0.4, 0.3, 0.5, 0.4], abs=1e-3)
    assert [(source.name, source.count) for source in numbers[0].sources] == [("seeds", 3), ("sentences", 12)]


def test_models_that_learned_little_are_named():
    reason = Findings(made_up(right=0.4)).verdict.reason
    assert reason.startswith("nothing can be concluded: ") and "rnnsearch 40.0%" in reason


def test_tables_have_a_row_for_each_model_and_way():
    findings = Findings(made_up())
    header, *rows = findings.table()
    assert header[3:] == ["on the word", "most on the word", "on the very digit"]
    assert [row[:2] for row in rows] == [
        ["rnnsearch", "jacobian"],
        ["rnnsearch", "attention"],
        ["encoder-decoder", "jacobian"],
        ["bytenet", "jacobian"],
        ["an even share", ""],
    ]
    assert rows[0][2:4] == ["90.00 ± 0.00", "81.95 ± 1.00"] and rows[-1][3] == "25.00"
    assert findings.reach()[1] == ["rnnsearch", "jacobian", "20.00 ± 0.00", "40.00 ± 0.00"]
    header, first, *_ = findings.by_distance()
    assert header[2:] == ["0-5", "6-10"] and first[2:] == ["75.00 ± 0.00", "25.00 ± 0.00"]


def test_the_page_is_complete(tmp_path):
    names = ["bytenet-jacobian", "encoder-decoder-jacobian", "implicit", "rnnsearch-attention", "rnnsearch-jacobian"]
    words = ["1610.10099", "**reproduced**", "the first 12 sentences", "7 of 11-20, 5 of 21-30"]
    complete(STUDY, made_up(), tmp_path, [*words, "| an even share |", "Shares beyond 20 steps:"], *names)
    texts = described(tmp_path / "implicit.svg")
    assert texts["title"] == "Share beyond 10 steps, by the source's length" and "rnnsearch, attention" in texts["desc"]
    for way, verb in (("jacobian", " is moved most by "), ("attention", " attends to ")):
        assert verb in described(tmp_path / f"rnnsearch-{way}.svg")["desc"]


def test_statistics_of_weights_are_those_counted_by_hand():
    """Two outputs of a date's year over four inputs, and one that nothing decides."""
    weights = torch.tensor([[0.1, 0.6, 0.2, 0.1], [0.0, 0.3, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]])
    row = columns([weights], [[range(1, 3), range(1, 3), range(0)]], ["1-10"])
    shares = {name: unpack(row[name], "shares") for name in ("share", "found", "digit")}
    assert {name: pytest.approx(values, abs=3e-4) for name, values in shares.items()} == {
        "share": [0.7],
        "found": [0.5],
        "digit": [0.5],
    }
    assert row["near"] == {"0-5": [1, 2]} and row["beyond"] == {"1-10": {"5": 0.0, "10": 0.0, "20": 0.0}}


def test_shares_beyond_some_steps_are_those_of_places():
    row = columns([torch.full((1, 30), 1 / 30)], [[range(25, 30)]], ["21-30"])
    assert [row["beyond"]["21-30"][least] for least in ("5", "10", "20")] == pytest.approx([0.8, 0.63333, 0.3])
    assert row["near"] == {"21-": [0, 1]}


@pytest.fixture(scope="module")
def task():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_ENDLESS", 200)
        return TRANSLATE.prepare(runs.options(TRANSLATE, "dates", "rnnsearch", {"hidden_dim": 8, "embedding_dim": 6}))


def test_a_row_holds_the_jacobian_and_the_weights(task):
    pairs = [Dates().example("test", index) for index in range(3)]
    model = task.build().eval()
    row = measured(task, model, pairs)
    assert {*row["ways"]} == {JACOBIAN, ATTENTION, WORD} and row["sentences"] == 3
    assert unpack(row["ways"][WORD]["share"], "shares") == unpack(row["ways"][WORD]["found"], "shares") == [1.0] * 3
    pair = pairs[0]
    weighed = ways(task, model, pair)
    source, target = task.codec.source.encode(pair.source), task.codec.target.encode(pair.target)
    norms = jacobian(model, source, target)
    torch.testing.assert_close(weighed[JACOBIAN], (norms / norms.sum(-1, keepdim=True))[:-1, :-1])
    assert weighed[ATTENTION].shape == weighed[JACOBIAN].shape == (10, len(pair.source))
    assert bool((weighed[ATTENTION].sum(-1) < 1).all())  # the rest is on the source's end
    assert row["example"]["source"] == pair.source and len(row["example"][JACOBIAN]) == 10


def test_a_model_without_attention_has_the_jacobian_alone(task):
    options = runs.options(TRANSLATE, "dates", "bytenet", {"hidden_dim": 8, "max_dilation": 1})
    model = replace(task, codec=replace(task.codec, options=options)).build().eval()
    assert {*ways(task, model, Dates().example("test", 0))} == {JACOBIAN}


@pytest.mark.slow
def test_a_killed_study_goes_on_and_trains_nothing_again(tmp_path, monkeypatch):
    monkeypatch.setattr(codec, "_ENDLESS", 200)
    monkeypatch.setitem(RECIPES, "dates", {"batch_tokens": 200, "threads": 1, "tokenizer": "characters"})
    monkeypatch.setitem(recurrent.RECIPES, "dates", {"hidden_dim": 8, "embedding_dim": 6})
    monkeypatch.setitem(bytenet.RECIPES, "dates", {"hidden_dim": 4, "max_dilation": 1, "sets": 1})
    sizes = {"hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 8}
    monkeypatch.setitem(transformer.RECIPES, "dates", sizes)
    monkeypatch.setattr("saccade.tasks.translate.data.dates.HELD_OUT", 20)
    options = Options(data="dates", output=str(tmp_path / "report"), max_steps=1, sentences=2)
    train, trained = training.train, []

    def killed(task, model, pairs):
        if task.settings.model == "bytenet":
            raise KeyboardInterrupt
        return measured(task, model, pairs)

    def recorded(kind, settings, **more):
        outcome = train(kind, settings, **more)
        trained.extend([settings.model] * outcome.fresh)
        return outcome

    monkeypatch.setattr(training, "train", recorded)
    with monkeypatch.context() as patch:
        patch.setattr(study, "measured", killed)
        with pytest.raises(KeyboardInterrupt):
            make(STUDY, options)
    made = make(STUDY, options)
    assert trained == list(MODELS)
    rows = stored(made.folder)["rows"]
    assert [row["model"] for row in rows] == trained and all(row["sentences"] == 2 for row in rows)
    assert made.fresh and not make(STUDY, options).fresh and "nothing can be concluded" in (made.text or "")


def test_quick_has_time_for_three_models():
    names = [variant.name for variant in variants(Options(quick=True, data="dates"))]
    assert names == ["rnnsearch", "encoder-decoder", "bytenet"] and len(variants(Options(data="dates"))) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sentences": 1}, "--sentences: expected 2 or more, got 1"),
        ({"quick": True, "data": "reviews"}, "--quick: expected no --data but dates or several-dates"),
    ],
)
def test_options_without_meaning_are_rejected(options, message):
    with pytest.raises(ArgumentError, match=message):
        Options(**options)


def test_other_data_are_rejected(tmp_path):
    with pytest.raises(ArgumentError, match="--data: expected dates or several-dates, whose outputs are each decided"):
        make(STUDY, Options(data="trees", output=str(tmp_path / "report")))
