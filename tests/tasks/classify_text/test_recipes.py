"""What suits texts of one's own: sentences have the recipe for files, documents more."""

import json

from saccade import runs
from saccade.tasks.classify_text import ClassifyText
from saccade.tasks.classify_text.recipes import LONG, suited
from saccade.train.task import recipe
from tiers import every

MODELS = list(ClassifyText.models)
#: The sets of the published runs: training texts and the median of their words.
PUBLISHED = {"SST-2": (6920, 19), "SST-5": (8544, 19), "MR": (9596, 21), "SUBJ": (9000, 23), "TREC": (5178, 10)}


@every("model", MODELS)
@every("name", PUBLISHED)
def test_sentences_have_the_recipe_that_published_runs_were_made_by(name, model):
    assert suited(*PUBLISHED[name], model) == ({}, "")


@every("model", MODELS)
def test_of_documents_more_is_read_in_epochs_and_it_says_so(model):
    options, reason = suited(832, 650, model)
    assert options["max_length"] >= 2 * 650 and options["validation_steps"] == 50 == options["checkpoint_steps"]
    assert options["max_steps"] == 680 and reason.startswith("832 long texts, of 650 words in the median: ")
    assert ("--ngrams 2" in reason) == (model == "sum")
    large, _ = suited(100_000, 4000, model)
    assert large["max_steps"] == 250_000 and large["validation_steps"] == 12_500  # what is not read is no epoch


def documents(folder, words):
    folder.mkdir()
    for split, count in (("train", 12), ("dev", 2), ("test", 2)):
        rows = [f"{['fine', 'dull'][n % 2]} {'film ' * words}\t{n % 2}\n" for n in range(count)]
        (folder / f"{split}.tsv").write_text("".join(rows))
    return folder


def test_it_is_chosen_by_what_is_read_and_said_and_recorded(tmp_path, capsys):
    tiny = {"embedding_dim": 4, "max_steps": 1, "validation_steps": 1, "checkpoint_steps": 1, "device": "cpu"}
    for words, long in ((LONG - 3, False), (LONG + 1, True)):
        data, folder = documents(tmp_path / f"of-{words}", words), tmp_path / f"run-{words}"
        runs.train("classify-text", data=data, model="sum", run=folder, **tiny)
        config = json.loads((folder / "config.json").read_text())
        assert (config["options"]["max_length"] == 2000) == long == (config["options"]["ngrams"] == 2)
        assert ("12 long texts, of 202 words in the median" in capsys.readouterr().err) == long
        assert config["options"]["embedding_dim"] == 4  # what is given counts


def test_it_adds_to_the_recipe_for_files(tmp_path):
    data = str(documents(tmp_path / "data", LONG))
    found = ClassifyText.suited("sum", {"data": data})
    usual = recipe(ClassifyText, "sum", data)
    assert usual["learning_rate"] == found.options["learning_rate"] and found.options["reduction"] == "root"
    assert found.data.get().size("train") == 12
