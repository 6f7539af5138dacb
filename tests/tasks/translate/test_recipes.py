"""Which recipe suits a corpus: by how many pairs it has, and how long they are."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from saccade import runs
from saccade._system.imports import find
from saccade.cli import main
from saccade.models.transformer import RECIPES as TRANSFORMER
from saccade.tasks.translate import TRANSLATE, task
from saccade.tasks.translate.data import open_corpus
from saccade.tasks.translate.recipes import read, smaller, suited
from saccade.train.run import Run
from saccade.train.task import options_class, recipe
from tiers import every

SIZES = {999: "hundreds", 1000: "thousands", 3999: "thousands", 4000: "some ten thousand", 15_000: "tens of thousands"}


@every(("count", "called"), SIZES.items())
def test_the_number_of_pairs_decides_and_the_reason_says_so(count, called):
    found, reason = suited(count, 11, TRANSFORMER)
    assert reason.startswith(f"{count:,} pairs, 11 words in the median: the recipe for {called} (")
    assert f"{found['max_steps']:,} steps" in reason and f"{found['hidden_dim']} features" in reason


@every("model", TRANSLATE.models)
def test_many_pairs_have_the_published_recipe(model):
    own = find(TRANSLATE.models[model]).recipes
    assert suited(29_000, 11, own)[0] == recipe(TRANSLATE, model, "files")
    steps = []
    for count in (500, 2000, 8000, 29_000):
        found = suited(count, 11, own)[0]
        chosen = options_class(TRANSLATE, model)(model=model, data="a/folder", **found)
        assert chosen.max_steps == chosen.schedule_steps
        steps.append(chosen.max_steps)
    assert steps == sorted(set(steps))


@every("model", TRANSLATE.models)
def test_smaller_recipes_keep_the_schedule(model):
    own = find(TRANSLATE.models[model]).recipes
    usual = suited(29_000, 11, own)[0]
    found = [usual, *(options for options, _ in smaller(29_000, 11, own))]
    assert len(found) in (3, 4) and smaller(500, 11, own) == []
    for larger, less in pairwise(found):
        chosen = options_class(TRANSLATE, model)(model=model, data="a/folder", **less)
        assert chosen.max_steps == chosen.schedule_steps == usual["max_steps"]
        sizes = [(one["batch_tokens"], one["hidden_dim"]) for one in (less, larger)]
        assert sizes[0] != sizes[1] and all(a <= b for a, b in zip(*sizes, strict=True))
        assert 0.05 <= chosen.warmup_steps / chosen.schedule_steps <= 0.1 + 1e-9


def test_the_page_has_the_recipes_of_all_models():
    page = (Path(__file__).resolve().parents[3] / "docs/translate.md").read_text(encoding="utf-8")
    header, _, *body = page.partition("| training pairs |")[2].partition("\n\n")[0].splitlines()
    named = [re.findall("`(.+?)`", column) for column in header.strip("| ").split(" | ")[2:]]
    assert sorted(name for models in named for name in models) == sorted(TRANSLATE.models)
    for count, line in zip((500, 2000, 8000, 29_000), body, strict=True):
        _, steps, tokens, *pieces = line.strip("| ").split(" | ")
        for models, size in zip(named, pieces, strict=True):
            for model in models:
                own = suited(count, 11, find(TRANSLATE.models[model]).recipes)[0]
                found = options_class(TRANSLATE, model)(model=model, data="a/folder", **own)
                told = f"{found.max_steps:,}", f"{found.batch_tokens:,}", f"{found.vocabulary_size:,}"
                assert told == (steps, tokens, size)


def test_long_pairs_count_for_more_and_short_ones_for_no_less():
    assert suited(500, 60, TRANSFORMER)[0] == suited(2500, 12, TRANSFORMER)[0]
    assert suited(500, 1, TRANSFORMER)[0] == suited(500, 12, TRANSFORMER)[0]


@pytest.fixture
def corpus(tmp_path):
    for split, count in (("train", 7), ("val", 3), ("test", 3)):
        for side, word in (("de", "eins zwei"), ("en", "one")):
            (tmp_path / f"{split}.{side}").write_text("".join(f"{word} {number}\n" for number in range(count)))
    return tmp_path


def test_count_and_words_are_read_of_the_corpus(corpus):
    assert read(open_corpus(str(corpus), "de", "en")) == (7, 3)


def test_training_opens_the_corpus_once_and_says_which_recipe_suits(corpus, monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(task, "open_corpus", lambda *given: calls.append(given[0]) or open_corpus(*given))
    words = ["train", "translate", "--data", str(corpus), "--source", "de", "--target", "en", "--device", "cpu"]
    small = ["--hidden-dim", "8", "--embedding-dim", "8", "--max-steps", "1", "--run", str(corpus / "run")]
    assert main([*words, *small]) == 0 and len(calls) == 1
    assert "7 pairs, 3 words in the median: the recipe for hundreds (" in capsys.readouterr().err
    options = Run.open(corpus / "run").config["options"]
    assert (options["hidden_dim"], options["vocabulary_size"], options["max_steps"]) == (8, 500, 1)
    assert main([*words, *small]) == 0 and "is at its end, step 1" in capsys.readouterr().err


@pytest.mark.slow
def test_few_steps_in_the_minutes_take_a_smaller_model(tmp_path, monkeypatch, capsys):
    for split, count in (("train", 4100), ("val", 3), ("test", 3)):
        for side, word in (("de", "eins"), ("en", "one")):
            (tmp_path / f"{split}.{side}").write_text("".join(f"{word} {number}\n" for number in range(count)))
    words = ["train", "translate", "--data", str(tmp_path), "--source", "de", "--target", "en", "--device", "cpu"]
    small = ["--hidden-dim", "8", "--embedding-dim", "8", "--max-minutes", "0.01", "--run", str(tmp_path / "run")]
    assert main([*words, *small]) == 0
    told = capsys.readouterr().err
    assert "4,100 pairs, 2 words in the median: the recipe for some ten thousand (" in told
    assert "a smaller model learns more in them:\nthe recipe for thousands (1,500 steps of" in told
    run = Run.open(tmp_path / "run")
    assert run.config["options"]["schedule_steps"] < 200


def test_python_objects_are_read_once_too(corpus, capsys):
    pairs = iter([(f"eins {number}", f"one {number}") for number in range(60)])  # which can be read but once
    run = runs.train(
        "translate", data=pairs, run=corpus / "run", hidden_dim=8, embedding_dim=8, max_steps=1, device="cpu"
    )
    assert "42 pairs, 2 words in the median: the recipe for hundreds (" in capsys.readouterr().err
    assert run.results["steps"] == 1
