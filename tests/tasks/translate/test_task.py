import json
from dataclasses import replace

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.translate import Translate
from saccade.train.files import read_json
from saccade.train.run import Run
from saccade.train.trained import load_trained
from tiny import train

LINES = [
    "mercredi 18 juin 2025",
    "February 15, 2019",
    "2019年2月15日",
    "15. März 1999",
    "יום רביעי, 18 ביוני 2025",
    "١٥ مارس ٢٠٢٠",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A translator that has begun to learn: enough that its answers differ, too little that they are certain."""
    folder = tmp_path_factory.mktemp("translate") / "run"
    assert train(folder, "--max-steps", 120, "--seed", 2) == 0
    return load_trained(Translate, Run.open(folder), torch.device("cpu"))


def answers(trained, lines, count=1, beam_size=1):
    task = replace(trained.task, settings=replace(trained.task.settings, beam_size=beam_size))
    with torch.inference_mode():
        return list(task.predict(trained.model, lines, count))


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_batch_answers_as_each_line_alone(trained, beam_size):
    together = answers(trained, LINES * 30, beam_size=beam_size)
    assert len({text for [text] in together}) > 3
    assert together == 30 * [answer for line in LINES for answer in answers(trained, [line], beam_size=beam_size)]


def test_greedy_is_a_beam_of_one_and_the_argmax_of_every_step(trained):
    task, model = trained.task, trained.model
    for line, [answer] in zip(LINES, answers(trained, LINES), strict=True):
        ids = torch.tensor([[*task.source.encode(line), 2]])
        with torch.inference_mode():
            state = model.encode(ids, torch.tensor([ids.shape[1]]))
            token, tokens = torch.tensor([1]), []
            for _ in range(int(task.limits(torch.tensor(ids.shape[1])))):
                output, state = model.step(token, state)
                logits = output.dense()
                token = logits.argmax(-1)
                if int(token) == 2:
                    break
                tokens.append(int(token))
        assert task.target.decode(tokens) == answer


def test_n_best_are_n_lines_the_best_first(trained):
    best = answers(trained, LINES, count=3, beam_size=3)
    assert all(len(outputs) == 3 for outputs in best)
    assert [outputs[:1] for outputs in best] == answers(trained, LINES, count=1, beam_size=3)
    assert answers(trained, [LINES[0]], count=3) == best[:1]


def test_blank_and_strange_lines_are_answered_in_place(trained):
    strange = ["", "   ", "💥" * 20, "a" * 5000, "\u202b15 מרץ 2020\u202c", "\x00", "\u3000"]
    found = answers(trained, [*strange, LINES[0]])
    assert len(found) == len(strange) + 1
    assert found[0] == found[1] == found[-2] == [""]
    assert found[-1:] == answers(trained, LINES[:1])


def test_lines_are_read_as_they_are_answered(trained):
    read = []

    def endless():
        for number in range(10**9):
            read.append(number)
            yield LINES[0]

    with torch.inference_mode():
        stream = trained.task.predict(trained.model, endless(), 1)
        assert next(stream) == answers(trained, LINES[:1])[0]
    assert len(read) < 1000


def test_a_tokenizer_that_is_damaged_is_named(trained, tmp_path):
    whole = read_json(trained.run.folder / "tokenizer.json")
    for content in (
        None,
        "{",
        "[]",
        '{"source": {"kind": "characters"}}',
        '{"source": 3}',
        json.dumps({**whole, "longest_target": -1}),
    ):
        if content is not None:
            (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected"):
            Translate.restore(trained.options, tmp_path)


def test_loss_is_the_mean_over_true_tokens(trained):
    task, model = trained.task, trained.model
    batch = task.batch(3)
    loss = task.loss(model, batch)
    with torch.inference_mode():
        gains = model(batch.source, batch.lengths, batch.target[:, :-1]).log_softmax(-1)
    wanted = batch.target[:, 1:]
    picked = gains.gather(-1, wanted[..., None]).squeeze(-1)[wanted != 0]
    torch.testing.assert_close(loss.total, -picked.mean())
    assert loss.tokens == len(picked)


def test_an_evaluation_counts_by_language(trained):
    with torch.inference_mode():
        result = trained.task.evaluate(trained.model, "validation", 60)
    assert (
        result.examples == 60 and len(result.groups["exact_match"]) == 20 and "French" in result.groups["exact_match"]
    )
    mean = sum(result.groups["exact_match"].values()) / 20
    assert mean == pytest.approx(result.metrics["exact_match"])
    assert result.tokens > 60 and result.seconds > 0


def corpus(folder, count=60):
    """A folder of three splits of "satz ..." and "sentence ..."."""
    folder.mkdir()
    for split, size in (("train", count), ("val", 4), ("test", 4)):
        for side, word in (("de", "satz"), ("en", "sentence")):
            (folder / f"{split}.{side}").write_text("".join(f"{word} {n}\n" for n in range(size)))
    return folder


SIDES = ("--source", "de", "--target", "en", "--max-steps")


def test_a_corpus_of_ones_own_trains_and_its_run_needs_it_no_more(tmp_path, capsys):
    data = corpus(tmp_path / "corpus")
    assert train(tmp_path / "run", "--data", data, *SIDES, 3) == 0
    data.rename(tmp_path / "gone")
    loaded = load_trained(Translate, Run.open(tmp_path / "run"), torch.device("cpu"))
    assert loaded.task.joint and loaded.task.source is loaded.task.target
    assert loaded.task.source.decode(loaded.task.source.encode("satz 3")) == "satz 3"
    with torch.inference_mode():
        assert len(list(loaded.task.predict(loaded.model, ["satz 3", ""], 1))) == 2
    assert train(tmp_path / "run", "--data", tmp_path / "gone", *SIDES, 4) == 0  # it is known by its contents
    assert capsys.readouterr().err.count("training in") == 1


def test_other_contents_and_another_direction_are_refused(tmp_path, capsys):
    data = corpus(tmp_path / "corpus")
    assert train(tmp_path / "run", "--data", data, *SIDES, 2) == 0
    assert train(tmp_path / "run", "--data", data, "--source", "en", "--target", "de", "--max-steps", 2) == 2
    (data / "train.en").write_text("other\n" * 60)
    capsys.readouterr()
    assert train(tmp_path / "run", "--data", data, *SIDES, 2) == 2
    assert "this run was made with --data train 60" in capsys.readouterr().err


def test_what_is_left_out_is_said_once(tmp_path, capsys):
    data = corpus(tmp_path / "corpus")
    (data / "train.de").write_text("\n" + "satz\n" * 58 + "satz " * 300 + "\n")
    for steps in (2, 3):
        assert train(tmp_path / "run", "--data", data, *SIDES, steps) == 0
    err = capsys.readouterr().err
    assert err.count("left out 1 of 60 pairs, which have a blank side; the first is line 1") == 1
    assert err.count("1 of 59 training pairs looked at have a side of more than 200 tokens") == 1


def test_characters_may_be_chosen_for_files(tmp_path):
    assert train(tmp_path / "run", "--data", corpus(tmp_path / "c"), "--tokenizer", "characters", *SIDES, 2) == 0
    task = load_trained(Translate, Run.open(tmp_path / "run"), torch.device("cpu")).task
    assert not task.joint and task.target.pieces("sent") == list("sent")


def test_pairs_that_are_too_long_are_left_out_of_batches(tmp_path):
    data = corpus(tmp_path / "corpus")
    (data / "train.de").write_text("\n".join("satz " * (1 + number % 10) for number in range(60)) + "\n")
    options = ["--tokenizer", "characters", "--max-length", "20", "--batch-tokens", "100"]
    assert train(tmp_path / "run", "--data", data, *SIDES, 2, *options) == 0
    task = load_trained(Translate, Run.open(tmp_path / "run"), torch.device("cpu")).task
    sizes = {int(length) - 1 for step in range(32) for length in task.batch(step).lengths}  # their end not counted
    assert sizes == {4, 9, 14, 19}
    few = replace(task, settings=replace(task.settings, max_length=3))
    with pytest.raises(ArgumentError, match="--max-length: all of 60 training pairs have a side of more than 3 tokens"):
        few.batch(0)
