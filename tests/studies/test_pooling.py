import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from saccade.cli import main
from saccade.models.fixed import Fixed
from saccade.models.fixed import Options as FixedOptions
from saccade.models.rnn_attention import RNNAttention
from saccade.tasks.classify_text import CLASSIFY_TEXT
from saccade.tasks.text.words import Words
from saccade.train.run import Run
from saccade.train.trained import load_trained
from studies.frame.options import Seeded
from studies.frame.seeds import pack, unpack
from studies.frame.training import settings
from studies.pooling import (
    CONTEXT,
    PAIRS,
    SEPARATE,
    STUDY,
    VARIANTS,
    VECTORS,
    Findings,
    Options,
    denials,
    directions,
    relative,
)
from study_rows import complete, content_of, described, run_of, stored, written
from tasks.classify_text.conftest import labelled
from tiers import every

PUBLISHED = Path(__file__).resolve().parents[2] / "results/pooling-sst2/report.json"
VALUES = {variant.name: 0.78 + 0.01 * place for place, variant in enumerate(VARIANTS)}
TEXTS = 1000


def row_of(model, accuracy, seed):
    """A row of texts of which the first so many are right: a better model has right also those of a worse one."""
    right = [place < round(TEXTS * accuracy) for place in range(TEXTS)]
    about = {"model": model, "seed": seed, "measured": "accuracy", "texts": TEXTS, "accuracy": sum(right) / TEXTS}
    return {**about, "validation": accuracy + 0.01, "right": pack(right, "bits"), "command": ""}


def probe_of(model, seed, shift, lowered=0.0, heavy=0.8, many=1):
    """A not moves every sentence by `shift`, or, for shift None, to the other side; it lowers weights by some nats.

    It weighs `heavy`, and queries look at so many words, or at one less.
    """
    pairs = []
    for place, pair in enumerate(PAIRS):
        before = 2.0 if pair["positive"] else -2.0
        after = -before if shift is None else before + shift
        shares = [1 / (1 + math.exp(-score)) for score in (before, after)]
        numbers = {"scores": [before, after], "probabilities": shares}
        if model != "sum":
            numbers |= {"weights": [0.5, 0.25], "relative": [1.0, 1.0 - lowered * (1 + 0.01 * place)]}
            numbers |= {"negation": [0.0, heavy + 0.001 * place], "found": [many, many - place % 2]}
        pairs.append({**pair, **numbers})
    words = [["good", 0.5, 1.0], ["not", 2.0, 0.0]] if model == "fixed dot" else []
    about = {"model": model, "seed": seed, "measured": "not", "labels": ["0", "1"], "command": ""}
    return {**about, "pairs": pairs, "directions": words}


def made_up(changed=None, seeds=3, spread=0.001, lowers=None, shift=-0.5, heavy=0.8, many=4):
    """report.json of the study; "not" moves a sum by a half, and turns the others around."""
    values, rows, runs = {**VALUES, **(changed or {})}, [], []
    for seed in range(1, seeds + 1):
        for name, accuracy in values.items():
            rows.append(row_of(name, accuracy + spread * (seed - 2), seed))
            lowered = (2.0 if lowers is None else lowers) if name in CONTEXT else 0.0
            moved = shift if name == "sum" else None
            rows.append(probe_of(name, seed, moved, lowered, heavy, many if name == SEPARATE else 2))
            runs.append(run_of(name, seed))
    return content_of("pooling", runs, rows)


@every(
    ("changed", "more", "result", "words"),
    [
        ({}, {}, "reproduced", "fixed dot is better than sum: reproduced, +1.00 ± "),
        ({"fixed MLP": 0.79}, {}, "not decided", "fixed MLP is better than fixed dot: not decided, +0.00 ± "),
        ({"rnn-attention": 0.7}, {}, "contradicted", "rnn-attention is better than self-attention: contradicted"),
        (dict.fromkeys(VALUES, 0.8), {}, "not decided", "fixed dot is better than sum: not decided"),
        ({}, {"spread": 0.02}, "not decided", "fixed dot is better than sum: not decided"),  # seeds differ by more
        ({}, {"seeds": 1}, "not decided", "one seed says nothing of how far others would differ"),
        ({}, {"lowers": 0.0}, "not decided", "denies weighs in rnn-attention: not decided, by +0.00"),
        ({}, {"lowers": -1.0}, "contradicted", "denies weighs in rnn-attention: contradicted, by -1."),
        (
            {},
            {"shift": -1.5},
            "contradicted",
            "a sentence scores alike in sum: contradicted, the probability moves by 0.17",
        ),
        (
            {},
            {"shift": None},
            "contradicted",
            "so it cannot turn praise and blame: contradicted, to within 8, and both",
        ),
        ({}, {"heavy": 0.2}, "contradicted", "all other words together in fixed dot: contradicted, 20.6 ± 0.2%"),
        (
            {},
            {"many": 2},
            "not decided",
            "own looks at more words of a sentence than fixed MLP, 4 queries: not decided",
        ),
        (dict.fromkeys(VALUES, 0.52), {}, "not decided", "nothing can be concluded: no model got clearly more"),
    ],
)
def test_the_numbers_decide_step_by_step(changed, more, result, words):
    verdict = Findings(made_up(changed, **more)).verdict
    assert verdict.result == result and words in verdict.reason


def test_a_gain_has_the_errors_of_seeds_and_sentences():
    gain = Findings(made_up({"rnn-attention": 0.98})).gains["rnn-attention", "sum"]
    seeds, sentences = gain.sources
    assert seeds.error == pytest.approx((2 * 0.001**2 / 3) ** 0.5) and seeds.freedom == pytest.approx(4)
    # a fifth of the sentences are right with one of the models alone
    assert sentences.error == pytest.approx((0.2 * 0.8 / TEXTS) ** 0.5, rel=0.01) and sentences.count == TEXTS
    published = Findings(json.loads(PUBLISHED.read_text(encoding="utf-8")))
    seeds, sentences = published.gains["rnn-attention", "sum"].sources
    assert published.verdict.result == "not decided" and seeds.error > 0 < sentences.error


def test_models_with_vectors_are_a_ladder_of_their_own(tmp_path):
    content = made_up()
    more = [{**row, "model": row["model"] + VECTORS} for row in content["rows"]]
    runs = {f"{name} v": {**run, "model": run["model"] + VECTORS} for name, run in content["runs"].items()}
    content |= {"rows": content["rows"] + more, "runs": content["runs"] | runs}
    both = Findings(content)
    assert [ladder[0] for ladder in both.ladders] == ["sum", f"sum{VECTORS}"]
    assert both.table(1)[1][0] == f"sum{VECTORS}" and both.table(1)[2][2:4] == both.table(0)[2][2:4]
    assert len(both.claims) == 2 * (6 + 2 + 2 + 2 + 2)
    content["arguments"] |= {"vectors": "glove.txt", "train_split": "phrases.train"}
    page = written(STUDY, content, tmp_path)
    assert "\n## Accuracy, with vectors from elsewhere\n\n| model |" in page and "Word vectors of `glove.txt`." in page
    assert "trained on `phrases.train`" in page


def test_the_tables():
    findings = Findings(made_up())
    header, first, second, *_ = findings.table()
    assert header[:5] == ["model", "test accuracy", "beside the one above", "it is better", "validation"]
    assert first == ["sum", "78.00 ± 0.10", "", "", "79.00 ± 0.10", "5", "2", "1,000"]
    assert second[:2] == ["fixed dot", "79.00 ± 0.10"] and second[2].startswith("+1.00 ± ")
    assert second[3] == "reproduced"
    fields = findings.fields()
    _, first, second, *_ = fields["negation"]
    assert first == ["sum", "-0.50", "-0.50", "50%", "0%"]
    assert second == ["fixed dot", "-4.00", "+4.00", "100%", "100%"]
    assert fields["pairs"][1][:3] == ["the movie was not good", "0.88 → 0.82", "0.88 → 0.12"]
    header, dot, *_, attention, recurrent = fields["weighed"]
    assert header[1:3] == ["weight without a not", "with it"]
    assert dot == ["fixed dot", "0.500", "0.250", "+0.00 ± 0.00", "its own alone"]
    assert attention[3].startswith("+2.11 ± ") and attention[4] == recurrent[4] == "reproduced"
    assert f"| {SEPARATE} | 0.805 ± 0.002 | 3.75 ± 0.17 |" in fields["looked"]


def test_a_report_without_weights_of_the_not_has_no_claims_about_them():
    content = made_up()
    for row in content["rows"]:
        for pair in row.get("pairs", ()):
            for key in ("negation", "found"):
                pair.pop(key, None)
    findings = Findings(content)
    assert findings.verdict.result == "reproduced" and findings.fields()["looked"] == ""
    assert len(findings.claims) == 6 + 2 + 2 + 2


def test_the_page_is_complete(tmp_path):
    words = ["**reproduced**", "| fixed dot | 79.00 ± 0.10 | +1.00 ± ", "1000 texts", "| the movie was not good |"]
    words += ["SWEM, pooled words (Shen et al. 2018) 84.3", "No word vectors from elsewhere", "along the learned query"]
    complete(STUDY, made_up(), tmp_path, words, "directions", "pooling")
    texts = described(tmp_path / "pooling.svg")
    assert texts["title"] == "Accuracy by what is made of the words"
    assert texts["desc"].startswith("sum: accuracy 78; fixed dot: accuracy 79")


def test_a_denial_is_its_sentence_with_a_not():
    for pair in PAIRS:
        assert [word for word in pair["denied"].split() if word != "not"] == pair["plain"].split()
        assert pair["denied"].count("not") == 1 and pair["word"] in pair["plain"].split()
    assert sum(pair["positive"] for pair in PAIRS) * 2 == len(PAIRS)
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))["rows"]
    stored = next(row["pairs"] for row in published if row["measured"] == "not")
    assert [{key: pair[key] for key in PAIRS[0]} for pair in stored] == PAIRS


def test_the_relative_weight_of_a_word_is_its_relative_score():
    scores = torch.tensor([[0.5, 2.0, -1.0, 0.0]])
    expected = 2.0 - (0.5 - 1.0 + 0.0) / 3
    assert relative(scores.softmax(-1), 1) == pytest.approx(expected, abs=1e-6)
    with_more = torch.cat([scores, torch.tensor([[7.0]])], 1).softmax(-1)[:, :4]  # the weight of another word cancels
    assert relative(with_more, 1) == pytest.approx(expected, abs=1e-5)


def test_a_relative_weight_is_a_mean_over_queries_and_finite():
    weights = torch.tensor([[0.5, 0.5], [0.9, 0.1]])
    assert relative(weights, 0) == pytest.approx(math.log(9) / 2, abs=1e-6)
    assert math.isfinite(relative(torch.tensor([[1.0, 0.0]]), 0))


WORDS = ["film", "good", "not", "bad", "the"]


def model_of(**options):
    """A model whose query is along the first feature, and whose sentiment is along the second."""
    chosen = FixedOptions(embedding_dim=3, **options)
    model = Fixed(4 + len(WORDS), 2, chosen)
    with torch.no_grad():
        model.output.weight.zero_()[1, 1] = 5.0
        model.words.embedding.weight[4:] = torch.arange(15.0).view(5, 3) - 7
        if chosen.score == "dot":
            model.pool.queries.zero_()[0, 0] = 2.0
    return SimpleNamespace(settings=chosen, codec=SimpleNamespace(words=Words(WORDS))), model


def test_words_are_projected_on_both_directions():
    words, query, sentiment = zip(*directions(*model_of(score="dot")), strict=True)
    assert list(words) == WORDS
    assert query == (-7.0, -4.0, -1.0, 2.0, 5.0) and sentiment == (-6.0, -3.0, 0.0, 3.0, 6.0)


@pytest.mark.parametrize(
    "options", [{"score": "additive"}, {"score": "dot", "queries": 2}, {"score": "dot", "hidden_dim": 4}]
)
def test_without_a_query_among_words_there_are_no_directions(options):
    assert directions(*model_of(**options)) == []
    assert directions(model_of(score="dot")[0], RNNAttention(9, 2)) == []


def test_all_models_have_one_recipe(tmp_path):
    runs = {one.name: settings(Seeded(data="d"), one, 1, tmp_path, 1.0, CLASSIFY_TEXT) for one in VARIANTS}
    shared = ("batch_tokens", "dropout", "word_dropout", "max_steps", "patience", "validation_steps", "vocabulary_size")
    assert len({tuple(getattr(run, name) for name in shared) for run in runs.values()}) == 1
    assert [(run.model, getattr(run, "score", ""), getattr(run, "queries", 0)) for run in runs.values()] == [
        ("sum", "", 0),
        ("fixed", "dot", 1),
        ("fixed", "additive", 1),
        ("fixed", "additive", 4),
        ("fixed", "additive", 4),
        ("self-attention", "scaled_dot", 1),
        ("rnn-attention", "additive", 1),
    ]


@pytest.mark.slow
def test_a_not_moves_every_sentence_of_a_sum_alike(tmp_path):
    """The score is a sum over words, so a word adds the same to every sentence."""
    words = ["--data", "reviews", "--model", "sum", "--run", str(tmp_path / "run"), "--max-steps", "3"]
    assert main(["train", "classify-text", *words]) == 0
    trained = load_trained(CLASSIFY_TEXT, Run.open(tmp_path / "run"), torch.device("cpu"))
    pairs = denials(trained.task, trained.model, 1)["pairs"]
    shifts = [pair["scores"][1] - pair["scores"][0] for pair in pairs]
    assert shifts == pytest.approx([shifts[0]] * len(PAIRS), abs=1e-5) and abs(shifts[0]) > 1e-4


@pytest.fixture
def rows():
    return [(f"{'good' if n % 2 else 'bad'} film number {n}", "yes" if n % 2 else "no") for n in range(60)]


@pytest.mark.slow
def test_another_split_is_trained_on_again_with_vectors(tmp_path, rows):
    """Phrases lie beside sentences: stsa.binary.phrases.train beside stsa.binary.dev and .test."""
    for name, part in (("phrases.train", rows), ("dev", rows[:10]), ("test", rows[10:20]), ("train", rows[:4])):
        (tmp_path / f"stsa.binary.{name}").write_text("".join(f"{label} {text}\n" for text, label in part))
    (tmp_path / "vectors.txt").write_text("good 1.0 0.0\nbad 0.0 1.0\n")
    words = ["report", "pooling", "--data", str(tmp_path / "stsa.binary"), "--train-split", "phrases.train"]
    words += ["--vectors", str(tmp_path / "vectors.txt"), "--max-steps", "1", "--output", str(tmp_path / "r")]
    assert main(words) == 0
    content = stored(tmp_path / "r")
    assert content["arguments"]["data"].startswith("train 60, validation 10, test 10,")
    assert len(content["runs"]) == 14 and f"sum{VECTORS}" in {run["model"] for run in content["runs"].values()}
    for row in content["rows"]:
        if row["measured"] == "accuracy":
            right = unpack(row["right"], "bits", row["texts"])
            assert len(right) == row["texts"] > 0 and sum(right) / len(right) == pytest.approx(row["accuracy"])
    probes = {row["model"]: row for row in content["rows"] if row["measured"] == "not"}
    assert probes["fixed dot"]["directions"] and not probes["fixed MLP"]["directions"]
    assert "weights" in probes["rnn-attention"]["pairs"][0] and "weights" not in probes["sum"]["pairs"][0]
    assert "--train-split phrases.train" in content["runs"]["sum-1"]["command"]
    assert "--vectors" in content["runs"]["sum-vectors-1"]["command"]
    assert [one.name for one in STUDY.measure.variants(Options(data="d"))] == [one.name for one in VARIANTS]


def test_options_without_meaning_are_rejected(tmp_path, rows, rejects):
    data = labelled(tmp_path / "a.tsv", [(text, str(n % 3)) for n, (text, _) in enumerate(rows)])
    labels = "--data: expected two labels, the positive one last by the alphabet, got 0, 1, 2"
    rejects(f"pooling --data {data}", labels)
    rejects("pooling --data d --vectors=", "--vectors: expected a file, got an empty name")
    rejects("pooling --quick --data dates", "--quick: expected no --data but reviews beside it")
    rejects("pooling --source de", "unknown option --source")
