"""Options of text classification, and recipes of sentences and of documents."""

import json
from itertools import pairwise
from types import SimpleNamespace

import pytest

from saccade import runs
from saccade.errors import ArgumentError
from saccade.tasks.classify_text import CLASSIFY_TEXT
from saccade.tasks.classify_text.options import RECIPES, Options, advice, suited
from tiers import every

#: Training texts of published runs, and the median of their words.
PUBLISHED = {"SST-2": (6920, 19), "SST-5": (8544, 19), "MR": (9596, 21), "SUBJ": (9000, 23), "TREC": (5178, 10)}


@every(
    ("name", "value"),
    [
        ("batch_tokens", 0),
        ("batch_tokens", 10**8),
        ("vocabulary_size", 4),
        ("min_count", 0),
        ("max_length", 0),
        ("label_smoothing", 1.0),
        ("label_smoothing", -0.1),
        ("label_smoothing", float("nan")),
        ("vectors", ""),
        ("freeze_vectors", True),
    ],
)
def test_meaningless_options_are_rejected_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"^--{name.replace('_', '-')}: expected ") as error:
        Options(**{name: value})
    assert "\n" not in str(error.value)


def test_the_least_and_the_most_are_taken():
    assert Options(vocabulary_size=5, min_count=1, max_length=1, batch_tokens=1, label_smoothing=0.99).max_length == 1
    assert Options(vectors="a", freeze_vectors=True).freeze_vectors


@every("model", CLASSIFY_TEXT.models)
def test_sentences_have_the_sizes_of_the_recipe_for_files(model):
    for count, median in PUBLISHED.values():
        options, _ = suited(count, median, model)
        assert options["prior"] == "tfidf" and options["max_length"] == 400
        assert options["batch_tokens"] == RECIPES["files"]["batch_tokens"]
        assert 50 <= options["validation_steps"] <= RECIPES["files"]["validation_steps"] + 70


@every("model", CLASSIFY_TEXT.models)
def test_of_documents_more_is_read_in_epochs(model):
    options, reason = suited(832, 650, model)
    assert options["max_length"] >= 2 * 650 and options["validation_steps"] == 68 == options["checkpoint_steps"]
    assert options["max_steps"] == 816 and reason.startswith("832 texts, of 650 words in the median: ")
    assert ("--ngrams 2" in reason) == (model == "sum")
    large, _ = suited(100_000, 4000, model)
    assert large["max_steps"] == 250_000 and large["validation_steps"] == 12_500  # words that are not read do not count


@every("count", [600, 6_000, 60_000])
def test_options_have_no_cliff(count):
    sizes = [suited(count, median, "fixed")[0] for median in range(5, 1000)]
    for name in ("max_length", "batch_tokens", "validation_steps", "max_steps"):
        for median, (options, longer) in enumerate(pairwise(sizes), 5):
            least, most = sorted((options[name], longer[name]))
            assert most <= least * (1 + 2 / median) + 12


@every(
    ("options", "way"),
    [
        ({"model": "fixed", "prior": "none"}, "try --prior tfidf"),
        ({"model": "fixed", "prior": "tfidf"}, "scikit-learn is enough: make_pipeline("),
        ({"model": "package.module:Class"}, "scikit-learn is enough: make_pipeline("),
        ({"model": "sum", "prior": "tfidf"}, "scikit-learn is enough: make_pipeline("),
    ],
)
def test_a_better_baseline_names_a_way_to_it(options, way):
    assert advice(SimpleNamespace(**options)).startswith(way)


def documents(folder, words):
    folder.mkdir()
    for split, count in (("train", 12), ("dev", 2), ("test", 2)):
        rows = [f"{['fine', 'dull'][n % 2]} {'film ' * words}\t{n % 2}\n" for n in range(count)]
        (folder / f"{split}.tsv").write_text("".join(rows))
    return folder


def test_the_recipe_follows_from_the_data_and_is_saved(tmp_path, capsys):
    tiny = {"embedding_dim": 4, "max_steps": 1, "validation_steps": 1, "checkpoint_steps": 1, "device": "cpu"}
    for words, read in ((30, 400), (200, 2000)):
        data, folder = documents(tmp_path / f"of-{words}", words), tmp_path / f"run-{words}"
        trained = runs.train("classify-text", data=data, model="sum", run=folder, **tiny)
        config = json.loads((folder / "config.json").read_text())
        assert (config["options"]["max_length"], config["options"]["prior"]) == (read, "tfidf")
        assert f"12 texts, of {words + 1} words in the median" in capsys.readouterr().err
        assert config["options"]["embedding_dim"] == 4  # options win
        assert trained.predict("dull film")[0].lines()[0].startswith("1\t")
        [tf_idf] = [baselines["TF-IDF"] for split, baselines in trained.results["baselines"].items() if split == "test"]
        assert tf_idf["advice"].startswith("scikit-learn is enough")


def test_documents_add_to_the_recipe_for_files(tmp_path):
    data = str(documents(tmp_path / "data", 200))
    recipe = CLASSIFY_TEXT.suited("sum", {"data": data})
    assert recipe.options["learning_rate"] == RECIPES["files"]["learning_rate"]
    assert recipe.options["reduction"] == "root" and recipe.data.get().size("train") == 12
