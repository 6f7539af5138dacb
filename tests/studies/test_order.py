from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.tasks.translate.data.corpus import Pair
from studies import order
from studies.frame import training
from studies.order import HOLDS, LAYERS, SET, STUDY, Findings, deviation, shuffled
from study_rows import complete, content_of, described, row_of, run_of
from tiers import every

MODELS = {"rnnsearch": (30.0, 10.0), "transformer": (32.0, 12.0), SET: (8.0, 8.0)}


def made_up(models=None, deviations=None, seeds=2):
    """report.json of scores in order and shuffled; by default the claim holds."""
    models, rows = {**MODELS, **(models or {})}, []
    for name, layer in LAYERS.items():
        far = (deviations or {}).get(name, 3e-16 if layer.holds else 0.5)
        rows.append({"layer": name, "kind": layer.kind, "holds": layer.holds, "deviation": far})
    rows += [
        row_of(model, score, seed=seed, words=way, rule="words", changed=90)
        for model, both in models.items()
        for way, score in zip(("in order", "shuffled"), both, strict=True)
        for seed in range(1, 1 + seeds)
    ]
    return content_of("order", [run_of(model) for model in models], rows)


@every("name", LAYERS)
def test_every_layer_is_its_definition(name):
    found = deviation(name)
    assert found < HOLDS if LAYERS[name].holds else found > 0.01
    assert deviation(name) == found != deviation(name, seed=2)


def test_the_global_generator_is_left_as_it_was():
    before = torch.random.get_rng_state()
    deviation("GRU")
    assert torch.equal(torch.random.get_rng_state(), before)


@every(
    ("changed", "result", "words"),
    [
        ({}, "reproduced", "rnnsearch loses something: reproduced, +20.00 ± 0.00"),
        ({"rnnsearch": (30.0, 30.0)}, "not decided", "rnnsearch loses something: not decided, +0.00 ± 0.00"),
        ({"rnnsearch": (30.0, 31.0)}, "contradicted", "rnnsearch loses something: contradicted, -1.00 ± 0.00"),
        ({SET: (8.0, 4.0)}, "contradicted", "transformer without positions loses less than 2%: contradicted, +4.00"),
        ({SET: (8.0, 7.9)}, "reproduced", "transformer without positions loses less than 2%: reproduced, +0.10"),
        ({SET: (0.0, 0.0)}, "not decided", "transformer without positions got nothing right"),
        ({"rnnsearch": (0.0, 0.0)}, "reproduced", "+0.00 ± 0.00; rnnsearch got nothing right"),
        ({"rnnsearch": (0.0, 0.0), "transformer": (0.5, 0.0)}, "not decided", "rnnsearch, transformer got nothing"),
        (dict.fromkeys(MODELS, (0.0, 0.0)), "not decided", "nothing can be concluded: no model got anything right"),
    ],
)
def test_the_numbers_decide(changed, result, words):
    verdict = Findings(made_up(changed)).verdict
    assert verdict.result == result and words in verdict.reason


@every("deviations", [{"self-attention": 1e-3}, {"convolution": 1e-16}])
def test_a_layer_against_its_definition_decides_alone(deviations):
    verdict = Findings(made_up(deviations=deviations)).verdict
    assert verdict.result == "contradicted" and f"but for {next(iter(deviations))}" in verdict.reason


def test_the_page_is_complete(tmp_path):
    words = ["1706.03762", "**not decided**", "100 sentences, 90 of which", "words between white space.", "`s|1`"]
    words += ["| self-attention | equivariant | 3.0e-16 | equivariant |", "--positions none"]
    words += ["| convolution | not equivariant | 5.0e-01 | not equivariant |"]
    words += ["| rnnsearch | 30.00 ± 1.13 | 10.00 ± 1.13 | +20.00 ± 0.00 | 66.7 % |", "+0.00 ± 0.00 | - |"]
    complete(STUDY, made_up({SET: (0.0, 0.0)}), tmp_path, words, "order")
    picture = described(tmp_path / "order.svg")
    assert picture["title"] == "BLEU with the words of the source in order and shuffled"
    assert picture["desc"].startswith("rnnsearch: in order 30, shuffled 10; transformer: in order 32")


def turned(texts, unit="words"):
    return [pair.source for pair in shuffled([Pair(text, "t", "g") for text in texts], unit)]


@given(st.lists(st.sampled_from(["ein", "zwei", "drei"]), max_size=6))
def test_the_words_come_in_another_order_if_there_is_one(words):
    [found] = turned([" ".join(words)])
    assert Counter(found.split()) == Counter(words)
    assert (found.split() != words) is (len(set(words)) > 1)


@every(
    ("text", "unit", "pieces"),
    [
        ("2019年2月15日", "either", ["2019", "年", "2", "月", "15", "日"]),
        ("15.03.1999", "either", ["15", ".", "03", ".", "1999"]),
        ("15. März 1999", "either", None),
        ("私はCDを買う", "characters", ["私", "は", "CD", "を", "買", "う"]),
    ],
)
def test_without_spaces_characters_move_but_not_numbers(text, unit, pieces):
    [found] = turned([text], unit)
    if pieces is None:
        assert sorted(found.split()) == sorted(text.split())
    else:
        assert found != text and sorted(found) == sorted(text) and all(piece in found for piece in pieces)


def test_all_orders_but_the_first_come_evenly():
    counts = Counter(turned(["a b c"] * 2000))
    assert len(counts) == 5 and "a b c" not in counts and min(counts.values()) > 300


def test_a_single_word_and_white_space_stay():
    assert turned(["Hallo", "", "ja ja"]) == ["Hallo", "", "ja ja"]
    [found] = turned(["18\u00a0juin  2025"])
    assert sorted(found) == sorted("18\u00a0juin  2025") and found.index("\u00a0") < found.index("  ")


@pytest.mark.parametrize(
    ("data", "source", "unit"), [("a", "de", "words"), ("a", "ja", "characters"), ("dates", None, "either")]
)
def test_both_ways_have_the_same_references(data, source, unit, monkeypatch):
    read = []
    monkeypatch.setattr(order, "tested", lambda corpus: [Pair("a b", "x", "g"), Pair("7", "y", "g")])
    monkeypatch.setattr(training, "measured", lambda task, model, pairs, seed: read.append(pairs) or {})
    rows = [part.measure(None, None, 1) for part in STUDY.measure.parts(None, STUDY.options(data=data, source=source))]
    assert rows == 2 * [{"rule": unit, "changed": 1}]
    assert [pair.target for pair in read[1]] == ["x", "y"] and [pairs[0].source for pairs in read] == ["a b", "b a"]
