"""What was tried for small corpora: the table of the page is that of the file, and recipes are level with the best."""

import importlib
import json
from pathlib import Path

import pytest

from saccade.tasks.translate import Translate
from saccade.tasks.translate.recipes import suited
from saccade.train.task import find
from tiers import every

ROOT = Path(__file__).resolve().parents[2]
ROWS = json.loads((ROOT / "results/small-corpora/trials.json").read_text(encoding="utf-8"))
SIZES = ("hidden_dim", "vocabulary_size", "learning_rate", "batch_tokens")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("small_corpora")


def test_the_table_of_the_page_is_that_of_the_file(script):
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    assert all(f"\n{line}\n" in page for line in script.table(ROWS))


@every("model", ["transformer", "rnnsearch"])
@every("pairs", [500, 2000, 8000])
def test_the_recipe_is_a_setting_that_is_no_worse_than_the_best_by_a_tenth(pairs, model):
    recipe, _ = suited(pairs, 11, find(Translate.models[model]).recipes)
    tried = [row for row in ROWS if (row["pairs"], row["model"]) == (pairs, model) and row["setting"] != "recipe"]
    assert len(tried) == 3 and len({row["steps"] for row in tried}) == 1
    best = max(row["bleu"]["validation"] for row in tried)
    own = [row for row in tried if all(row["options"][name] == recipe[name] for name in SIZES)]
    assert max(row["bleu"]["validation"] for row in own) >= 0.9 * best


def test_settings_are_options_and_subsets_are_first_lines(tmp_path, script):
    for models in script.SETTINGS.values():
        assert all(len(settings) == 3 for settings in models.values()) and set(models) == {"transformer", "rnnsearch"}
    for split, count in (("train", 9), ("val", 2), ("test", 2)):
        (tmp_path / f"{split}.de").write_text("".join(f"{number}\n" for number in range(count)))
    script.subset(tmp_path, tmp_path / "first", 5, ("de",))
    assert (tmp_path / "first/train.de").read_text() == "0\n1\n2\n3\n4\n"
    assert (tmp_path / "first/val.de").read_text() == "0\n1\n"
