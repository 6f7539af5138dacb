from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from saccade.errors import ArgumentError
from saccade.look import attribute
from saccade.tasks.caption import CAPTION
from saccade.tasks.translate import TRANSLATE
from saccade.train.task import options_class
from studies import explanations as study
from studies.explanations import DATA, PAPER, STUDY, Findings, Options
from studies.frame.attributions import ATTENTION, BLANKED, FLOW, ROLLOUT, by_depth
from studies.frame.claims import judged
from studies.frame.explained import KINDS, MEASURED, correlation, hit
from studies.frame.page import markdown_of
from studies.frame.seeds import pack, unpack
from studies.frame.study import make
from study_rows import complete, content_of, described, run_of, stored
from tiers import every

HITS = {ATTENTION: 0.4, ROLLOUT: 0.7, FLOW: 0.6, "integrated gradients": 0.8, BLANKED: 0.9}
RANKS = {ATTENTION: 0.1, ROLLOUT: 0.5, FLOW: 0.4, "integrated gradients": 0.6}
EXAMPLES = 40


def shares(mean, seed, phase=0):
    """Numbers that differ a little from seed to seed and between examples, by method."""
    shift = mean + 0.01 * ((seed + phase) % 4)
    return pack([shift + 0.02 * (place * (1 + phase % 4) % 5 - 2) for place in range(EXAMPLES)], "shares")


def by_name(means, seed):
    return {name: shares(mean, seed, phase) for phase, (name, mean) in enumerate(means.items())}


def row_of(seed, hits, ranks):
    row = {"model": "m", "seed": seed, "measured": "attributions", "examples": EXAMPLES, "command": ""}
    row |= {"hits": by_name(hits, seed), "any": shares(0.2, 0)}
    if not ranks:
        return {**row, "centre": shares(0.05, 0)}
    faithful = dict.fromkeys((*hits, "random"), 0.25)
    return {
        **row,
        "kinds": {name: [0.5, 0.125, 0.25, 0.0625] for name in hits},
        "ranks": by_name(ranks, seed),
        "depths": {name: [shares(0.3, seed), shares(-0.1, seed)] for name in (ATTENTION, ROLLOUT, FLOW)},
        "faithful": dict.fromkeys(("comprehensiveness", "sufficiency", "deletion", "insertion"), faithful),
    }


def made_up(data="reviews", hits=HITS, ranks=RANKS, seeds=4, right=0.95):
    """report.json of a model, with as many seeds."""
    known, numbers = DATA[data], range(1, seeds + 1)
    runs = [run_of(known.variant.name, seed, metrics={known.metric: right}) for seed in numbers]
    rows = [row_of(seed, hits, ranks if data == "reviews" else None) for seed in numbers]
    return {**content_of("explanations", runs, rows), "data": data}


@every(
    ("changed", "result"),
    [
        ({"hits": {**HITS, FLOW: 0.2}}, "contradicted"),
        ({"hits": {**HITS, FLOW: 0.402}}, "not decided"),
        ({"ranks": {**RANKS, ROLLOUT: -0.3}}, "contradicted"),
        ({"seeds": 1}, "not decided"),
        ({"right": 0.6}, "not decided"),
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_if_all_claims_hold_it_is_reproduced():
    findings = Findings(made_up())
    assert judged([claim.number for claim in findings.claims]) == ["reproduced"] * 6
    assert [claim.number.value for claim in findings.claims] == pytest.approx([0.3, 0.2, 0.4, 0.5, 0.4, 0.3], abs=2e-3)
    assert findings.claims[4].measured.startswith("+0.400 ± ") and "points" in findings.claims[0].measured
    assert Findings(made_up("dates")).verdict.result == "reproduced"


def test_models_that_learned_little_are_named():
    assert Findings(made_up(right=0.6)).verdict.reason.startswith("nothing can be concluded: the models have learned")


def test_tables_have_a_row_for_each_method():
    findings = Findings(made_up())
    header, first, second, *rows = findings.hits()
    assert header == ["scores", "largest on a word that decides, %", "beyond chance", "beyond attention"]
    assert first[:2] == ["attention", "41.50 ± 1.29"] and first[3] == "" and second[3].startswith("+30.00 ± ")
    assert [row[0] for row in rows] == [*[*HITS][2:], "any input at random"] and rows[-1][1] == "19.99"
    assert Findings(made_up("scenes")).hits()[-1][:2] == ["the middle of the image", "4.98"]
    ranks = findings.ranks()
    assert ranks[0] == ["scores", *(f"layer {number}" for number in range(1, 7)), "read by the pooling"]
    assert ranks[1][1].startswith("0.32 ± ") and ranks[1][3:7] == [""] * 4 and ranks[1][7] == "0.12 ± 0.01"
    assert ranks[-3:] == [[f"{name}, of the paper", *(f"{x:.2f}" for x in PAPER[name]), ""] for name in PAPER]


def test_the_first_layer_is_named_beside_the_claim():
    assert Findings(made_up()).first_layer() == (
        "Attention of layer 1, as the pooling reads it, has 0.32 beside 0.52 of rollout through all layers. The claim "
        "compares rollout with the pooling's weights alone, which have 0.12."
    )


def test_a_note_of_the_report_is_on_its_page(tmp_path):
    note = "The last seed was added after the others."
    assert note in markdown_of(STUDY, {**made_up(), "note": note}, tmp_path)
    assert note not in markdown_of(STUDY, made_up(), tmp_path)


@every("data", DATA)
def test_the_page_is_complete(tmp_path, data):
    words = ["2005.00928", "**reproduced**", f"the first {EXAMPLES} {DATA[data].unit} of the test split"]
    words += ["### Kinds of words", "## Faithfulness", "| random | 0.250"] if data == "reviews" else []
    words += ["take the predicted one"] if data == "reviews" else []
    words += ["Eq. 5 and 6 on the graph of both stacks"] if data == "dates" else []
    pictures = ["explanations", *(["layers"] if data == "reviews" else [])]
    folder = tmp_path / data
    folder.mkdir()
    complete(STUDY, made_up(data), folder, words, *pictures)
    assert described(folder / "explanations.svg")["title"] == f"The largest score lies on {DATA[data].inputs}"


def test_equal_largest_scores_share_a_hit():
    assert hit(torch.tensor([0.5, 0.5, 0.1, 0.5]), [0, 2]) == pytest.approx(1 / 3)
    assert hit(torch.tensor([-0.5, -0.1]), range(1, 2)) == 1.0 and hit(torch.zeros(4), [3]) == 0.25


def test_correlations_are_those_of_scipy_and_0_of_equal_scores():
    first, second = torch.randn(2, 9, generator=torch.Generator().manual_seed(1))
    assert correlation(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)
    assert correlation(torch.ones(3), second[:3]) == correlation(first[:1], second[:1]) == 0.0


def test_depths_are_those_of_a_classifier_token():
    """A read by one more token, as of [CLS], gives the same rollout and flow as the matrix products by hand."""
    generator = torch.Generator().manual_seed(3)
    layers = [torch.rand(1, 2, 4, 4, generator=generator).softmax(-1) for _ in range(2)]
    read = torch.rand(4, generator=generator).softmax(0)
    depths = by_depth(layers, read)
    first, second = (0.5 * layer[0].mean(0).numpy() + 0.5 * np.eye(4) for layer in layers)
    assert np.allclose(depths[ROLLOUT][0], read.numpy() @ first, atol=1e-6)
    assert np.allclose(depths[ROLLOUT][1], read.numpy() @ second @ first, atol=1e-6)
    assert np.allclose(depths[ATTENTION][1], read.numpy() @ layers[1][0].mean(0).numpy(), atol=1e-6)
    token = torch.eye(5)
    token[4, :4], token[4, 4] = read, 0
    padded = [torch.nn.functional.pad(torch.tensor(layer).float(), (0, 1, 0, 1)) for layer in (first, second)]
    for layer in padded:
        layer[4, 4] = 1
    whole = attribute.flow([*(layer[None, None] for layer in padded), token[None, None]], residual=0.0)
    assert torch.allclose(depths[FLOW][1], whole[0, 4, :4], atol=1e-6)


@pytest.mark.slow
@every("data", DATA)
def test_tiny_models_are_trained_and_explained(tmp_path, monkeypatch, data):
    known = DATA[data]
    small = {"max_steps": 2, "schedule_steps": 2, "warmup_steps": 1, "threads": 1, "validation_examples": 2}
    small |= {"reviews": {"layers": 2, "hidden_dim": 8}, "dates": {"hidden_dim": 16}, "scenes": {}}[data]
    variant = replace(known.variant, values={**known.variant.values, **small})
    monkeypatch.setitem(study.DATA, data, replace(known, variant=variant))
    options = Options(data=data, output=str(tmp_path / data), examples=2, threads=1, device="cpu")
    made = make(STUDY, options)
    [row] = stored(made.folder)["rows"]
    assert row["examples"] == 2 and "nothing can be concluded" in made.text
    hits = {name: unpack(values, "shares") for name, values in row["hits"].items()}
    assert {ATTENTION, "integrated gradients", BLANKED} <= hits.keys()
    assert all(len(values) == 2 and 0 <= min(values) <= max(values) <= 1 for values in hits.values())
    if data == "reviews":
        assert [len(parts) for parts in row["depths"].values()] == [2, 2, 2]
        assert all(len(parts) == len(KINDS) and sum(parts) <= 1 for parts in row["kinds"].values())
        assert row["faithful"]["deletion"].keys() == {*hits, "random"}
    assert not make(STUDY, options).fresh


def test_every_data_set_has_its_measurement_and_its_recipe():
    assert MEASURED.keys() == DATA.keys() == Options.builtin.keys()
    for known, kind in ((DATA["dates"], TRANSLATE), (DATA["scenes"], CAPTION)):
        names = {field.name for field in options_class(kind, known.variant.model).__dataclass_fields__.values()}
        assert known.variant.values.keys() <= names


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"examples": 1}, "--examples: expected 2 or more, got 1"),
        ({"quick": True, "data": "trees"}, "--quick: expected no --data but dates or reviews or scenes"),
    ],
)
def test_options_without_meaning_are_rejected(options, message):
    with pytest.raises(ArgumentError, match=message):
        Options(**options)


def test_other_data_are_rejected(tmp_path):
    with pytest.raises(
        ArgumentError, match="--data: expected dates or reviews or scenes, with known deciding inputs, got trees"
    ):
        make(STUDY, Options(data="trees", output=str(tmp_path / "report")))
