"""What was tried for little speech: the table of the page is that of the file, and recipes are level with the best."""

import importlib
import json
from pathlib import Path

import pytest
import torch

from saccade.models.las import Options as LasOptions
from saccade.tasks.audio.recordings import read_audio
from saccade.tasks.dataset import SPLITS
from saccade.tasks.transcribe import Transcribe
from saccade.tasks.transcribe.data import open_corpus
from saccade.tasks.transcribe.data.fsdd import Digits, Take
from saccade.tasks.transcribe.recipes import Heard, suited
from saccade.train.task import recipe

ROOT = Path(__file__).resolve().parents[2]
ROWS = json.loads((ROOT / "results/small-speech/trials.json").read_text(encoding="utf-8"))
HEARD = {
    "words-120": Heard(120, 0.4, 1),
    "words-1200": Heard(1200, 0.5, 1),
    "strings-120": Heard(120, 2.0, 4),
    "strings-480": Heard(480, 1.9, 4),
}
SIZES = ("hidden_dim", "layers", "learning_rate", "batch_tokens", "time_width", "frequency_masks")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("small_speech")


def test_the_table_of_the_page_is_that_of_the_file(script):
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    assert all(f"\n{line}\n" in page for line in script.table(ROWS))


@pytest.mark.parametrize("corpus", HEARD)
def test_the_recipe_is_a_setting_that_is_no_worse_than_the_best_by_a_tenth(script, corpus):
    options, _ = suited(HEARD[corpus], recipe(Transcribe, "las", "files"))
    usual = {name: getattr(LasOptions(), name, None) for name in SIZES}
    chosen = {name: options.get(name, usual[name]) for name in SIZES}
    tried = {row["setting"]: row for row in ROWS if row["corpus"] == corpus and row["setting"] != "recipe"}
    assert len(tried) >= 3 and len({row["steps"] for row in tried.values()}) == 1
    best = max(row["word_accuracy"]["validation"] for row in tried.values())
    own = [row for row in tried.values() if {name: row["options"].get(name, usual[name]) for name in SIZES} == chosen]
    assert max(row["word_accuracy"]["validation"] for row in own) >= 0.9 * best
    whole = next(row for row in ROWS if (row["corpus"], row["setting"]) == (corpus, "recipe"))
    assert whole["steps"] == options["max_steps"] and whole["word_accuracy"]["validation"] > best


def test_corpora_are_the_first_takes_and_strings_of_them(script, tmp_path):
    def takes(number):
        return [Take(str(n), f"{n}_ann_{number}.wav", torch.full((800,), n / 10), 0.0) for n in range(10)]

    known = Digits({split: {"ann": takes(number)} for number, split in enumerate(SPLITS)}, "", "")
    words = script.words(known, tmp_path / "words", 4)
    assert sorted(path.parent.name for path in (words / "train").glob("*/*")) == ["one", "three", "two", "zero"]
    with (words / "train/two/2_ann_0.wav").open("rb") as file:
        assert read_audio(file, 8000, "a").samples.unique().tolist() == pytest.approx([0.2])
    listed = open_corpus(str(script.strings(known, tmp_path / "strings", 3)), 8000)
    assert listed.size("train") == 3 and listed.text("train", 0) == known.text("train", 0)
