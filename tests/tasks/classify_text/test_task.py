import json
import math
import re
from collections import Counter

import pytest
import torch
from safetensors.torch import load_file

from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.tasks.classify_text import ClassifyText
from saccade.tasks.classify_text.evaluation import f1
from saccade.train.results import measure
from saccade.train.run import Run
from saccade.train.trained import load_trained
from tasks.classify_text.conftest import SIZES, labelled, train

LINES = ["the film was not good", "Great!", "i found the plot dull , but the cast is wonderful", "💥", "x" * 3000]


def loaded(folder, model="fixed"):
    return load_trained(ClassifyText, Run.open(folder), torch.device("cpu"))


@pytest.fixture(scope="module", params=SIZES)
def trained(request, tmp_path_factory):
    """A classifier that has begun to learn."""
    folder = tmp_path_factory.mktemp("classify") / "run"
    assert train(folder, "--max-steps", 8, "--checkpoint-steps", 4, model=request.param) == 0
    return loaded(folder)


def test_a_resumed_run_is_the_uninterrupted_one(trained, tmp_path):
    for steps in (4, 8):
        assert train(tmp_path / "r", "--max-steps", steps, "--checkpoint-steps", 4, model=trained.options.model) == 0
    one, other = (load_file(run / "model.safetensors") for run in (trained.run.folder, tmp_path / "r"))
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_batch_answers_as_each_line_alone(trained):
    with torch.inference_mode():
        together = list(trained.task.predict(trained.model, LINES * 30, 2))
        alone = [next(trained.task.predict(trained.model, [line], 2)) for line in LINES]
    assert together == alone * 30 and len({tuple(answer) for answer in alone}) > 2
    for best, other in alone:
        assert math.isclose(float(best.split("\t")[1]) + float(other.split("\t")[1]), 1, abs_tol=2e-4)
        assert float(best.split("\t")[1]) >= 0.5


def test_blank_lines_are_answered_in_place(trained):
    with torch.inference_mode():
        found = list(trained.task.predict(trained.model, ["", " \u3000", LINES[0]], 2))
        described = list(trained.task.align(trained.model, ["", LINES[0]], 1))
    assert found[:2] == [["", ""]] * 2 and found[2][0]
    assert described[0] == {"text": "", "tokens": [], "answers": [], "probabilities": {}, "weights": None}
    assert described[1]["tokens"] == LINES[0].split() and len(described[1]["answers"]) == 1
    assert sum(described[1]["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    weights = described[1]["weights"]
    assert (weights is None) == (trained.options.model == "sum")
    assert weights is None or ([len(row) for row in weights] == [5] and sum(weights[0]) == pytest.approx(1, abs=1e-4))


def test_an_evaluation_does_not_depend_on_batches_or_threads(trained, monkeypatch):
    found = measure(trained.task, trained.model, "test", 1)
    monkeypatch.setattr("saccade.tasks.classify_text.answers._TOKENS", 50)
    small = measure(trained.task, trained.model, "test", 1)
    torch.set_num_threads(2)
    try:
        threads = measure(trained.task, trained.model, "test", 1)
    finally:
        torch.set_num_threads(1)
    assert found.metrics == small.metrics == threads.metrics and found.groups == small.groups == threads.groups
    assert found.examples == 2000
    part = measure(trained.task, trained.model, "test", 1, 100)
    assert part.examples == 100
    assert set(found.groups["accuracy"]) == {"negative", "positive", "plain", "negated", "turned"}
    by_label = found.groups["accuracy"]
    labels = Counter(trained.task.corpus.example("test", n).label for n in range(2000))
    mean = sum(by_label[label] * count for label, count in labels.items()) / 2000
    assert mean == pytest.approx(found.metrics["accuracy"])


def test_f1_is_the_harmonic_mean_of_precision_and_recall():
    found, wanted = [0, 1, 1, 2, 1, 0], [0, 1, 2, 1, 1, 2]
    for label in range(3):
        right = sum(a == b == label for a, b in zip(found, wanted, strict=True))
        precision, recall = right / max(1, found.count(label)), right / wanted.count(label)
        expected = 2 * precision * recall / (precision + recall) if right else 0.0
        assert f1(found, wanted, label) == pytest.approx(expected)


def test_the_loss_is_the_cross_entropy_of_the_labels(trained):
    batch = trained.task.batch(3)
    loss = trained.task.loss(trained.model, batch)
    gains = trained.model(batch.tokens, batch.lengths).log_softmax(-1)
    torch.testing.assert_close(loss.total, -gains[torch.arange(len(gains)), batch.labels].mean())
    assert loss.tokens == int((batch.tokens > 0).sum())


def test_pictures_of_the_words(trained, tmp_path):
    with torch.inference_mode():
        drawn = list(trained.task.look(trained.model, ["", LINES[0], LINES[4]], tmp_path))
    assert [path.suffix for path in drawn] == [".png", ".svg", ".html"] * 2
    said = drawn[1].read_text()
    assert ("no attention; what each word adds to the logit" in said) == (trained.options.model == "sum")
    assert ("attention of the learned query" in said) == (trained.options.model != "sum")


def test_what_is_too_long_is_cut_and_said(tmp_path, capsys, rows):
    data = labelled(tmp_path / "a.tsv", [*rows, ("good " * 50, "yes")])
    assert train(tmp_path / "run", "--max-steps", 2, "--max-length", 9, data=data) == 0
    assert train(tmp_path / "run", "--max-steps", 3, "--max-length", 9, data=data) == 0
    err = capsys.readouterr().err
    said = "texts looked at have more than 9 words, and what follows these is not read (--max-length)"
    held = err.count("of 3 texts have more than 9 words") + err.count("of 4 texts have more than 9 words")
    assert err.count(said) + held >= 1
    assert main(["predict", str(tmp_path / "run"), "good " * 10]) == 0
    assert "line 1: longer than 9 words (--max-length); what follows them is not read" in capsys.readouterr().err
    task = loaded(tmp_path / "run").task
    assert max(int(length) for step in range(16) for length in task.batch(step).lengths) <= 9


VECTORS = "good 1 2 3 4\nfilm 0.5 0 0 1\nunseen 1 1 1 1\n"


@pytest.mark.parametrize("frozen", [False, True])
def test_vectors_are_begun_with_and_needed_no_more(tmp_path, capsys, rows, frozen):
    data, vectors = labelled(tmp_path / "a.tsv", rows), tmp_path / "vectors.txt"
    vectors.write_text(VECTORS)
    words = ["train", "classify-text", "--data", str(data), "--model", "fixed", "--run", str(tmp_path / "run")]
    words += ["--vectors", str(vectors), "--word-dropout", "0", *(["--freeze-vectors"] if frozen else [])]
    assert main([*words, "--max-steps", "2"]) == 0
    assert "words have a vector in" in capsys.readouterr().err
    vectors.unlink()
    trained = loaded(tmp_path / "run")
    assert trained.model.words.embedding.weight.shape[1] == 4
    known = trained.model.words.embedding.weight[trained.task.words.encode("good film")]
    same = torch.equal(known, torch.tensor([[1.0, 2, 3, 4], [0.5, 0, 0, 1]]))
    assert same == frozen
    assert main([*words, "--max-steps", "4"]) == 0
    assert main(["predict", str(tmp_path / "run"), "good film"]) == 0


def test_a_run_with_vectors_that_was_killed_before_its_first_step_begins_with_them_again(tmp_path, rows):
    data, vectors = labelled(tmp_path / "a.tsv", rows), tmp_path / "vectors.txt"
    vectors.write_text(VECTORS)
    options = ClassifyText.options("sum")(model="sum", data=str(data), vectors=str(vectors))
    task = ClassifyText.prepare(options)
    task.save(tmp_path)
    torch.manual_seed(5)
    first = task.build()
    torch.manual_seed(5)
    again = ClassifyText.restore(options, tmp_path).build()
    assert all(torch.equal(one, other) for one, other in zip(first.parameters(), again.parameters(), strict=True))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--vectors", "VECTORS", "--embedding-dim", "5"], "--embedding-dim: expected 4, as .* has, got 5"),
        (["--freeze-vectors"], "--freeze-vectors: expected only with --vectors"),
        (["--vectors", "no/such"], "no/such: No such file"),
        (["--vectors", ""], "--vectors: expected a file, got an empty name"),
        (["--min-count", "99"], "--min-count: no word is 99 times in the training split; lower it"),
        (["--vocabulary-size", "4"], "--vocabulary-size: expected a number from 5"),
        (["--label-smoothing", "1"], "--label-smoothing: expected 0 <= label smoothing < 1"),
        (["--queries", "0"], "--queries: expected a number from 1"),
        (["--beam-size", "2"], "unknown option --beam-size"),
    ],
)
def test_wrong_words_in_training_are_one_line(tmp_path, capsys, rows, more, words):
    data, vectors = labelled(tmp_path / "a.tsv", rows), tmp_path / "vectors.txt"
    vectors.write_text(VECTORS)
    more = [str(vectors) if word == "VECTORS" else word for word in more]
    run = ["train", "classify-text", "--data", str(data), "--model", "fixed", "--run", str(tmp_path / "run")]
    assert main([*run, *more]) == 2
    err = capsys.readouterr().err
    assert re.search(words, err) and err.count("\n") == 1 and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("verb", "more", "words"),
    [
        ("predict", ["--beam-size", "3"], "--beam-size: classify-text has no such option"),
        ("predict", ["--length-penalty", "1"], "--length-penalty: classify-text has no such option"),
        ("predict", ["--sample"], "--sample: expected a task that writes texts, got classify-text"),
        ("predict", ["--prefix", "a"], "--prefix: expected a task that writes texts"),
        ("predict", ["--min-length", "3"], "--min-length: expected a task that writes texts"),
        ("predict", ["--coverage-penalty", "0.2"], "--coverage-penalty: expected a task that writes texts"),
        ("predict", ["--replace-unknown"], "--replace-unknown: expected a task that writes texts"),
        ("predict", ["--nbest", "3"], "--nbest: expected at most 2, as many labels as there are, got 3"),
        ("eval", ["--beam-size", "3"], "--beam-size: classify-text has no such option"),
    ],
)
def test_what_means_nothing_here_is_refused_in_one_line(trained, capsys, verb, more, words):
    assert main([verb, str(trained.run.folder), *(["good"] if verb == "predict" else []), *more]) == 2
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1


def test_an_ensemble_has_the_mean_of_probabilities(tmp_path, capsys):
    folders = [tmp_path / model for model in ("fixed", "sum")]
    for folder in folders:
        assert train(folder, "--max-steps", 3, model=folder.name) == 0
    capsys.readouterr()
    parts = []
    for folder in folders:
        assert main(["predict", str(folder), LINES[0], "--alignments"]) == 0
        parts.append(json.loads(capsys.readouterr().out)["probabilities"]["positive"])
    assert main(["predict", str(folders[0]), LINES[0], "--alignments", "--ensemble", str(folders[1])]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["probabilities"]["positive"] == pytest.approx(sum(parts) / 2, abs=2e-6)
    assert len(found["weights"]) == 1
    assert main(["eval", str(folders[0]), "--split", "validation", "--ensemble", str(folders[1])]) == 0
    assert "accuracy on validation" in capsys.readouterr().out


def test_members_that_do_not_suit_are_refused(tmp_path, capsys, rows):
    assert train(tmp_path / "one", "--max-steps", 1) == 0
    data = labelled(tmp_path / "a.tsv", rows)
    assert train(tmp_path / "other", "--max-steps", 1, data=data) == 0
    assert train(tmp_path / "fewer", "--max-steps", 1, "--vocabulary-size", 20) == 0
    capsys.readouterr()
    for name, words in (("other", "expected the labels of RUN, got no, yes"), ("fewer", "expected the words of RUN")):
        assert main(["predict", str(tmp_path / "one"), "good", "--ensemble", str(tmp_path / name)]) == 2
        assert words in capsys.readouterr().err


def test_words_that_are_damaged_are_named(trained, tmp_path):
    whole = json.loads((trained.run.folder / "tokenizer.json").read_text())
    for content in (
        None,
        "{",
        "[]",
        '{"words": 3}',
        *(
            json.dumps({**whole, k: v})
            for k, v in (("labels", ["a"]), ("embedding_dim", -1), ("words", {"words": ["a", "a"]}))
        ),
    ):
        if content is not None:
            (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected"):
            ClassifyText.restore(trained.options, tmp_path)


def test_other_data_are_refused_and_moved_ones_are_not(tmp_path, capsys, rows):
    data = labelled(tmp_path / "a.tsv", rows)
    assert train(tmp_path / "run", "--max-steps", 1, data=data) == 0
    data.rename(tmp_path / "b.tsv")
    assert train(tmp_path / "run", "--max-steps", 2, data=tmp_path / "b.tsv") == 0
    labelled(tmp_path / "b.tsv", rows[:50])
    assert train(tmp_path / "run", "--max-steps", 2, data=tmp_path / "b.tsv") == 2
    err = capsys.readouterr().err
    assert f"this run was made with --data {tmp_path / 'a.tsv'}, not {tmp_path / 'b.tsv'}" in err


def test_a_label_that_came_later_is_named(tmp_path, capsys, rows):
    data = labelled(tmp_path / "a.tsv", rows)
    assert train(tmp_path / "run", "--max-steps", 1, data=data) == 0
    labelled(data, [(text, "new" if label == "no" else label) for text, label in rows])
    capsys.readouterr()
    assert main(["eval", str(tmp_path / "run")]) == 2
    assert "the label 'new' of the test split is none of the run's: no, yes" in capsys.readouterr().err


# With the seed that they are trained with they were 1.00, 0.94, 0.75 and 0.60; half of the test is what no word says.
LEARNED = {"rnn-attention": 0.95, "self-attention": 0.8, "fixed": 0.66, "sum": 0.55}


@pytest.mark.slow
@pytest.mark.parametrize("model", LEARNED)
def test_every_model_learns_what_it_can(model, tmp_path):
    assert main(["train", "classify-text", "--data", "reviews", "--model", model, "--run", str(tmp_path / "run")]) == 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["metrics"]["accuracy"] > LEARNED[model]
    assert results["groups"]["accuracy"].keys() >= {"negative", "positive", "plain"}
    if model == "sum":
        assert results["metrics"]["accuracy"] < 0.75  # nobody hears a not by adding words up
