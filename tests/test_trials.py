"""Recipes for small corpora are settings that were tried, and no worse than the best by more than a tenth."""

import json
from pathlib import Path

import pytest

from saccade._system.imports import find
from saccade.models.las import Options as LasOptions
from saccade.tasks.transcribe import TRANSCRIBE
from saccade.tasks.transcribe.recipes import Heard
from saccade.tasks.transcribe.recipes import suited as suited_to_speech
from saccade.tasks.translate import TRANSLATE
from saccade.tasks.translate.recipes import suited
from saccade.train.task import recipe
from tiers import every

ROOT = Path(__file__).resolve().parents[1]
PAIRS, SPEECH = (
    json.loads((ROOT / f"results/{name}/trials.json").read_text(encoding="utf-8"))
    for name in ("small-corpora", "small-speech")
)
SIZES = ("hidden_dim", "vocabulary_size", "learning_rate", "batch_tokens")
SPEECH_SIZES = ("hidden_dim", "layers", "learning_rate", "batch_tokens", "time_width", "frequency_masks")
HEARD = {  # the recipe for fewer words than these has features that these trials did not have
    "words-1200": Heard(1200, 0.5, 1),
    "strings-120": Heard(120, 2.0, 4),
    "strings-480": Heard(480, 1.9, 4),
}


def best(rows, metric):
    return max(row[metric]["validation"] for row in rows)


@every("model", ["transformer", "rnnsearch"])
@every("pairs", [500, 2000, 8000])
def test_a_recipe_for_pairs_is_near_the_best_setting(pairs, model):
    chosen, _ = suited(pairs, 11, find(TRANSLATE.models[model]).recipes)
    tried = [row for row in PAIRS if (row["pairs"], row["model"]) == (pairs, model) and row["setting"] != "recipe"]
    assert len(tried) == 3 and len({row["steps"] for row in tried}) == 1
    own = [row for row in tried if all(row["options"][name] == chosen[name] for name in SIZES)]
    assert best(own, "bleu") >= 0.9 * best(tried, "bleu")


@pytest.mark.parametrize("corpus", HEARD)
def test_a_recipe_for_speech_is_near_the_best_setting(corpus):
    options, _ = suited_to_speech(HEARD[corpus], recipe(TRANSCRIBE, "las", "files"))
    usual = {name: getattr(LasOptions(), name, None) for name in SPEECH_SIZES}
    chosen = {name: options.get(name, usual[name]) for name in SPEECH_SIZES}
    rows = {row["setting"]: row for row in SPEECH if row["corpus"] == corpus}
    whole = rows.pop("recipe")
    assert len(rows) >= 3 and len({row["steps"] for row in rows.values()}) == 1
    own = [r for r in rows.values() if {name: r["options"].get(name, usual[name]) for name in SPEECH_SIZES} == chosen]
    assert best(own, "word_accuracy") >= 0.9 * best(rows.values(), "word_accuracy")
    assert whole["steps"] == options["max_steps"]
    assert best([whole], "word_accuracy") > best(rows.values(), "word_accuracy")
