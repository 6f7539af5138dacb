"""Python's door to runs: what the shell does, and in what Python alone differs from it."""

import base64
import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, load_file, save

from saccade import runs
from saccade.cli import main
from saccade.data.objects import OBJECTS
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks import load_task
from saccade.train.fit import Outcome
from saccade.train.recipes import defaults
from saccade.train.run import Run as Folder
from saccade.train.run import RunError
from tiny import SMALL, Line, equal, registered, weights
from tiny import few as few

TINY = {"hidden_dim": 32, "embedding_dim": 16, "batch_tokens": 600, "checkpoint_steps": 10, "device": "cpu"}
TEXTS = ["mercredi 18 juin 2025", "February 15, 2019", "", "15. März 1999"]


@pytest.fixture(scope="module")
def known():
    with registered():
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A translator that Python trained."""
    return runs.train("translate", data="dates", run=tmp_path_factory.mktemp("runs") / "dates", max_steps=6, **TINY)


@pytest.fixture
def line(known, tmp_path):
    return runs.train("line", run=tmp_path / "line", max_steps=4, device="cpu")


def shell(capsys, *words):
    assert main(list(map(str, words))) == 0
    return capsys.readouterr().out


def test_the_shell_trains_the_same_model_to_the_last_bit(trained, tmp_path, capsys):
    shell(capsys, "train", "translate", "--run", tmp_path / "a", "--max-steps", 6, *SMALL, "--device", "cpu")
    assert (tmp_path / "a/model.safetensors").read_bytes() == (trained.folder / "model.safetensors").read_bytes()
    one, other = (json.loads((place / "results.json").read_text()) for place in (tmp_path / "a", trained.folder))
    assert one["metrics"] == other["metrics"] == trained.results["metrics"]
    own, typed = ({**found["config"]["options"], "run": ""} for found in (one, other))
    assert own == typed


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, []),
        ({"nbest": 3}, ["--nbest", "3"]),
        ({"beam_size": 2, "length_penalty": 0}, ["--beam-size", "2", "--length-penalty", "0"]),
        ({"sample": True, "seed": 5, "nbest": 2}, ["--sample", "--seed", "5", "--nbest", "2"]),
        ({"prefix": "20"}, ["--prefix", "20"]),
    ],
)
def test_answers_are_the_lines_that_the_shell_prints(trained, asked, words, tmp_path, capsys):
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    printed = shell(capsys, "predict", trained.folder, "--input", tmp_path / "in.txt", *words)
    answers = trained.predict(TEXTS, **asked)
    assert "".join(f"{answer}\n" for answer in answers) == printed
    assert [line for answer in answers for line in answer.lines()] == printed.splitlines()


def test_alignments_are_the_objects_that_the_shell_prints(trained, capsys):
    [told] = trained.align(TEXTS[0], nbest=2)
    printed = json.loads(shell(capsys, "predict", trained.folder, TEXTS[0], "--json", "--nbest", 2))
    assert len(told["translations"]) == 2 and told["source"] == printed["source"] == TEXTS[0]
    assert told.keys() == printed.keys() and told["source_tokens"] == printed["source_tokens"]
    for own, other in zip(told["translations"], printed["translations"], strict=True):
        assert (own["text"], own["tokens"]) == (other["text"], other["tokens"])
        assert own["score"] == pytest.approx(other["score"], abs=1e-4)
        assert torch.allclose(torch.tensor(own["weights"]), torch.tensor(other["weights"]), atol=1e-4)


def test_eight_threads_align_as_one_does(trained):
    texts = [f"{day} mars 1999" for day in range(1, 5)]
    expected = [trained.align(text, beam_size=1) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        alignments = list(pool.map(lambda text: trained.align(text, beam_size=1), texts * 4))
    assert alignments == expected * 4


def test_the_state_of_a_loaded_model_is_its_file_bit_for_bit(trained):
    found, kept = load(save(trained.model.state_dict())), load_file(trained.folder / "model.safetensors")
    assert kept and all(torch.equal(found[name], held) for name, held in kept.items())
    assert found.keys() == trained.model.state_dict().keys()


def test_one_text_is_one_answer_and_an_iterable_is_read_but_once(trained):
    assert len(trained.predict(TEXTS[0])) == 1 and trained.predict([]) == []
    found = trained.predict(text for text in TEXTS)
    assert list(map(str, found)) == list(map(str, trained.predict(tuple(TEXTS)))) and str(found[2]) == ""


def test_a_list_of_answers_is_short_to_look_at(trained):
    [answer] = found = trained.predict(TEXTS[0])
    assert repr(found) == f"[{type(answer).__name__}({str(answer)!r})]"


@pytest.mark.parametrize("wrong", [3, None, [3], [b"text"], ["text", None], [["text"]]])
def test_what_is_no_text_and_no_path_is_refused(trained, wrong):
    for verb in (trained.predict, trained.align, trained.draw):
        with pytest.raises(ArgumentError, match=r"^inputs: expected a text or a path, or several, got "):
            verb(wrong)


def test_pictures_are_in_their_folder_and_in_notebooks(trained, tmp_path):
    drawn = trained.draw(TEXTS[0], tmp_path / "pictures")
    assert isinstance(drawn, list) and [path.suffix for path in drawn] == [".png", ".svg"]
    assert all(path.parent == tmp_path / "pictures" and path.stat().st_size for path in drawn)
    shown = drawn._repr_html_()
    assert shown.count("<img ") == 1 and base64.b64encode(drawn[0].read_bytes()).decode() in shown
    assert {path.parent for path in trained.draw(TEXTS[1])} == {trained.folder / "pictures"}
    drawn[0].unlink()
    assert drawn._repr_html_() == "" == runs.Pictures()._repr_html_()  # a picture that is gone is not shown


def test_measuring_is_what_eval_prints_and_writes_nothing(trained, capsys):
    before = sorted(trained.folder.iterdir())
    found = trained.evaluate("validation")
    assert sorted(trained.folder.iterdir()) == before
    assert f"exact match on validation: {found.metrics['exact_match']:.4f}" in shell(
        capsys, "eval", trained.folder, "--split", "validation"
    )
    assert trained.evaluate("test").metrics == trained.results["metrics"]
    for split in ("train", "tset", ""):
        with pytest.raises(ArgumentError, match=f"split: there is no {split};"):
            trained.evaluate(split)


def test_what_was_measured_can_be_kept_as_shell_keeps_it(line):
    asked = line.request("eval", {"rounded": True})
    path = line.save_results("test", line.measure("test", asked), asked)
    assert path == line.folder / "results-test-rounded.json"
    assert json.loads(path.read_text())["asked"] == {"rounded": True}
    assert line.save_results("test", line.measure("test")).name == "results-test.json"


def test_a_run_says_what_it_is(trained):
    assert repr(trained) == f"<run {trained.folder}: translate by rnnsearch>"
    assert trained.task.name == "translate" and not trained.model.training and trained.ensemble == ()
    assert not any(parameter.grad is not None for parameter in trained.model.parameters())


def test_a_run_goes_on_and_is_left_alone_at_its_end(line, tmp_path):
    again = runs.train("line", run=str(line.folder), max_steps=4, device="cpu")
    assert torch.equal(again.model[0].weight, line.model[0].weight)
    longer = runs.train("line", run=line.folder, max_steps=6, device="cpu")
    assert longer.results["steps"] == 6 and not torch.equal(longer.model[0].weight, line.model[0].weight)
    runs.train("line", run=tmp_path / "whole", max_steps=6, device="cpu")
    assert equal(tmp_path / "whole", line.folder)
    with pytest.raises(RunError, match="--seed 1, not 2"):
        runs.train("line", run=line.folder, max_steps=6, seed=2, device="cpu")


def test_without_a_folder_it_is_the_shells(known, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert runs.train("line", max_steps=1, device="cpu").folder == Path("runs/line-points-linear")


def test_built_in_data_that_nobody_named_are_said_once(known, tmp_path, capsys):
    runs.train("line", data=None, run=tmp_path / "run", max_steps=1, device="cpu")
    assert "data: got none, so points is taken, which is built in\n" in capsys.readouterr().err
    for more in ({"run": tmp_path / "run"}, {"run": tmp_path / "named", "data": "points"}):
        runs.train("line", max_steps=1, device="cpu", **more)
        assert "got none" not in capsys.readouterr().err


def test_threads_are_those_of_the_caller_afterwards(known, tmp_path, monkeypatch):
    seen, original = [], Line.loss
    monkeypatch.setattr(Line, "loss", lambda self, *rest: seen.append(torch.get_num_threads()) or original(self, *rest))
    before = torch.get_num_threads()
    runs.train("line", run=tmp_path / "a", max_steps=1, threads=before + 1, device="cpu")
    assert set(seen) == {before + 1} and torch.get_num_threads() == before
    with pytest.raises(SaccadeError, match="the loss is"):
        runs.train("line", run=tmp_path / "b", max_steps=1, threads=before + 1, scale=float("inf"), device="cpu")
    assert torch.get_num_threads() == before


def test_interruption_is_pythons_own_and_same_call_goes_on(known, tmp_path, monkeypatch):
    original = Line.loss

    def interrupted(self, model, batch):
        if torch.equal(batch, self.batch(2)):
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, model, batch)

    monkeypatch.setattr(Line, "loss", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runs.train("line", run=tmp_path / "a", max_steps=5, device="cpu")
    monkeypatch.setattr(Line, "loss", original)
    assert runs.train("line", run=tmp_path / "a", max_steps=5, device="cpu").results["steps"] == 5
    runs.train("line", run=tmp_path / "whole", max_steps=5, device="cpu")
    assert equal(tmp_path / "a", tmp_path / "whole")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: runs.train("trnslate"), "task: there is no trnslate; did you mean translate?"),
        (lambda: runs.train("translate", model="luon"), "model: there is no luon; did you mean luong?"),
        (
            lambda: runs.train("translate", hiden_dim=3),
            "hiden_dim: translate with the model rnnsearch has no such option; did you mean hidden_dim?",
        ),
        (
            lambda: runs.train("translate", model="transformer", embedding_dim=3),
            "embedding_dim: translate with the model transformer has no such option",
        ),
        (lambda: runs.train("translate", **{"max-steps": 3}), "did you mean max_steps?"),
        (lambda: runs.train("translate", max_steps="3"), "--max-steps: expected int | None, got '3'"),
        (lambda: runs.train("translate", seed=1.5), "--seed: expected int, got 1.5"),
        (lambda: runs.train("translate", resume=1), "--resume: expected bool, got 1"),
        (lambda: runs.train("translate", max_steps=0), "--max-steps: expected a number above 0, got 0"),
        (lambda: runs.train("translate", data="dats"), "--data: no data set dats"),
        (lambda: runs.train("translate", device="gpu7"), "--device: expected one of auto, cpu"),
        (lambda: runs.train("translate", data=[], processes=2), "processes: expected 1 where data are Python objects"),
        (lambda: runs.load("nowhere"), "nowhere: no such run"),
        (lambda: runs.load(""), "RUN: expected the folder of a run, got an empty name"),
        (lambda: runs.examples("translate", "tset", 3), "split"),
    ],
)
def test_useless_options_are_an_error_that_writes_nothing(call, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SaccadeError) as error:
        call()
    assert words in str(error.value) and "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("verb", "asked", "words"),
    [
        ("predict", {"beam": 3}, "beam: saccade predict with a run of translate has no such option; did you mean"),
        ("predict", {"by": "gradient"}, "by: saccade predict with a run of translate has no such option"),
        ("predict", {"nbest": "3"}, "--nbest: expected int, got '3'"),
        ("predict", {"nbest": True}, "--nbest: expected int, got True"),
        ("predict", {"nbest": 0}, "--nbest: expected a number from 1 to 10000, got 0"),
        ("predict", {"temperature": 2.0}, "--temperature: expected only with --sample"),
        ("align", {"alignments": True}, "alignments: saccade predict with a run of translate has no such option"),
        ("draw", {"nbest": 2}, "nbest: saccade look with a run of translate has no such option"),
        ("evaluate", {"nbest": 2}, "nbest: saccade eval with a run of translate has no such option"),
    ],
)
def test_a_bad_request_is_refused_before_anything_is_read(trained, verb, asked, words):
    def unread():
        raise AssertionError("read")
        yield

    given = ["validation"] if verb == "evaluate" else [unread()]
    with pytest.raises(SaccadeError) as error:
        getattr(trained, verb)(*given, **asked)
    assert words in str(error.value)


def test_several_runs_are_one(trained, tmp_path):
    for name in ("twin", "third"):
        shutil.copytree(trained.folder, tmp_path / name)
    together = runs.load(trained.folder, device="cpu", ensemble=[tmp_path / "twin", str(tmp_path / "third")])
    assert together.folder == trained.folder and together.ensemble == (str(tmp_path / "twin"), str(tmp_path / "third"))
    alone, several = trained.align(TEXTS[0])[0], together.align(TEXTS[0])[0]
    assert alone["translations"][0]["text"] == several["translations"][0]["text"]
    assert "ensemble" in together.save_results("test", together.measure("test")).name
    (trained.folder / "linked").symlink_to(trained.folder)
    for again in (trained.folder, trained.folder / "linked"):
        with pytest.raises(ArgumentError, match="expected each run once, got it again"):
            runs.load(trained.folder, ensemble=[again])
    with pytest.raises(ArgumentError, match="--ensemble: expected the folder of a run, got an empty name"):
        runs.load(trained.folder, ensemble=[""])


def test_runs_of_different_tasks_are_not_one(trained, line):
    with pytest.raises(ArgumentError, match="expected a run of translate, got one of line"):
        runs.load(trained.folder, device="cpu", ensemble=[line.folder])


PAIRS = [(f"satz {number}", f"line {number}") for number in range(60)]


def translator(run, data, **more):
    settings = {**TINY, "max_steps": 2, "tokenizer": "characters", **more}
    return runs.train("translate", data=data, run=run, **settings)


def test_rows_columns_and_splits_are_the_same_data(tmp_path):
    found = {
        "pairs": PAIRS,
        "generated": (pair for pair in PAIRS),
        "columns": [{"source": source, "target": target} for source, target in PAIRS],
        "nested": {"train": [{"translation": {"source": source, "target": target}} for source, target in PAIRS]},
    }
    for name, data in found.items():
        run = translator(tmp_path / name, data)
        assert run.trained.run.config["options"]["data"] == OBJECTS and run.results["metrics"]
        assert equal(tmp_path / name, tmp_path / "pairs")


def test_a_mapping_of_splits_is_taken_as_it_is(tmp_path):
    data = {"train": PAIRS[:50], "valid": PAIRS[50:53], "test": PAIRS[53:]}
    run = translator(tmp_path / "a", data)
    assert [run.task.data.size(split) for split in ("train", "validation", "test")] == [50, 3, 7]
    shown = list(runs.examples("translate", "test", 100, data=data))
    assert [(example.text, example.answer) for example in shown] == PAIRS[53:]


def test_a_run_of_objects_is_measured_with_them_alone(tmp_path):
    run = translator(tmp_path / "a", PAIRS)
    alone = runs.load(tmp_path / "a", device="cpu")
    assert list(map(str, alone.predict(["satz 3"]))) == list(map(str, run.predict(["satz 3"])))
    with pytest.raises(ArgumentError, match="data: expected the Python objects that this run was trained on"):
        alone.evaluate()
    again = runs.load(tmp_path / "a", device="cpu", data=PAIRS)
    assert again.evaluate().metrics == run.results["metrics"]


def test_other_objects_are_refused_or_measured_with_a_note(tmp_path, capsys):
    translator(tmp_path / "a", PAIRS)
    before = weights(tmp_path / "a")
    with pytest.raises(RunError, match="this run was made with --data train 42, .*, not train 42, "):
        translator(tmp_path / "a", [*PAIRS[:-1], ("satz 59", "another line")], max_steps=3)
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(tmp_path / "a").items())
    capsys.readouterr()
    run = runs.load(tmp_path / "a", device="cpu", data=PAIRS[:50])
    assert run.evaluate().examples == run.evaluate("validation").examples == 50
    note = "no baselines: they learn from the data of training, which are not here\n"
    assert capsys.readouterr().err == 2 * note


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "data: expected rows of train, got none"),
        (PAIRS[:2], "data: expected 3 different pairs or more, to validate, test and train, got 2"),
        ([("a", "b"), ("a",)], "data: train, row 2: expected source and target, got"),
        ([("a", 1.5)], "data: train, row 1: expected a text, got float"),
        (["ab"], "data: train, row 1: expected source and target, got 'ab'"),
        ({"test": PAIRS}, "data: expected rows of train, got test"),
        ({"train": PAIRS, "test": []}, "data: expected rows of test, got none"),
        ([{"source": "a", "tgt": "b"}], "data: train, row 1: expected a column"),
    ],
)
def test_objects_that_are_no_data_are_named_by_split_and_row(data, words, tmp_path):
    with pytest.raises(ArgumentError) as error:
        translator(tmp_path / "a", data)
    assert words in str(error.value) and "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A run with relative paths, made in a folder that is not the working folder."""
    home = tmp_path_factory.mktemp("home")
    rows = [("a good film", "good"), ("a bad film", "bad")] * 20
    (home / "texts.tsv").write_text("".join(f"{text} {n}\t{label}\n" for n, (text, label) in enumerate(rows)))
    (home / "vectors.txt").write_text("good 1 0 0 0\nbad 0 1 0 0\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        words = ["--data", "texts.tsv", "--vectors", "vectors.txt", "--model", "sum", "--embedding-dim", "4"]
        assert main(["train", "classify-text", *words, "--run", "run", "--max-steps", "3", "--device", "cpu"]) == 0
    return home / "run"


def test_a_run_finds_its_relative_data_from_any_folder(elsewhere, tmp_path, monkeypatch, capsys):
    config = json.loads((elsewhere / "config.json").read_text())
    assert (config["options"]["data"], config["folder"]) == ("texts.tsv", str(elsewhere.parent))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.tsv").write_text("other\tgood\n" * 9)
    results = json.loads((elsewhere / "results.json").read_text())
    run = runs.load(elsewhere, device="cpu")
    assert run.evaluate().metrics == results["metrics"] and run.predict("a good film")[0].lines()
    assert main(["eval", str(elsewhere), "--device", "cpu"]) == 0
    stored = json.loads((elsewhere / "results-test.json").read_text())
    assert (stored["metrics"], stored["config"]["options"]["data"]) == (results["metrics"], "texts.tsv")
    assert "the data are not those" not in capsys.readouterr().err


def test_a_run_goes_on_from_any_folder(elsewhere, tmp_path, monkeypatch):
    words = ["train", "classify-text", "--device", "cpu", "--max-steps", "5"]
    shutil.copytree(elsewhere, tmp_path / "copy")
    with monkeypatch.context() as patch:
        patch.chdir(elsewhere.parent)
        shutil.copytree(elsewhere, tmp_path / "there")
        assert main([*words, "--run", str(tmp_path / "there")]) == 0
    monkeypatch.chdir(tmp_path)
    assert main([*words, "--run", "copy"]) == 0 and equal("copy", "there")
    assert runs.train("classify-text", run="copy", device="cpu", max_steps=6).results["steps"] == 6
    assert main([*words, "--config", "there/config.json", "--run", "again"]) == 0 and equal("again", "there")
    data = str(elsewhere.parent / "texts.tsv")
    assert json.loads(Path("again/config.json").read_text())["options"]["data"] == data


def test_a_moved_run_finds_data_beside_it(elsewhere, tmp_path, monkeypatch):
    config = json.loads((elsewhere / "config.json").read_text())
    shutil.copytree(elsewhere, tmp_path / "run")
    (tmp_path / "run/config.json").write_text(json.dumps({**config, "folder": str(tmp_path / "gone")}))
    shutil.copy(elsewhere.parent / "texts.tsv", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert runs.load("run", device="cpu").evaluate().metrics
    (tmp_path / "texts.tsv").unlink()
    place = tmp_path / "gone" / "texts.tsv"
    with pytest.raises(ArgumentError, match=f"--data: expected the data of this run at {place}, got nothing there"):
        runs.load("run", device="cpu").evaluate()


def test_labelled_texts_of_python_are_classified(tmp_path):
    rows = [{"text": f"{word} film number {n}", "label": word} for n in range(30) for word in ("good", "bad")]
    small = {"embedding_dim": 8, "max_steps": 3, "device": "cpu"}
    run = runs.train("classify-text", data=rows, run=tmp_path / "a", model="sum", **small)
    assert set(run.align("a good film")[0]["probabilities"]) == {"good", "bad"}
    assert {line.split("\t")[0] for line in run.predict("a good film", nbest=2)[0].lines()} == {"good", "bad"}
    with pytest.raises(ArgumentError, match="--nbest: expected at most 2"):
        run.predict("a good film", nbest=3)


def test_options_are_recipes_but_for_those_that_are_given():
    kind = load_task("translate")
    found = runs.options(kind, "dates", None, {"seed": 7, "max_minutes": 2})
    assert (found.model, found.data, found.seed, found.max_steps, found.max_minutes) == (
        "rnnsearch",
        "dates",
        7,
        None,
        2,
    )
    usual = defaults(kind, "luong", "corpus", {})
    chosen = runs.options(kind, "corpus", "luong", {})
    assert all(getattr(chosen, name) == value for name, value in usual.items())
    assert runs.options(kind, None, None, {}).data == next(iter(kind.builtin))


def test_a_file_beside_you_is_taken_as_in_the_shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dates").write_text("".join(f"a{n}\tb{n}\n" for n in range(40)))
    assert {example.text[0] for example in runs.examples("translate", "train", 9, data=Path("dates"))} == {"a"}
    assert "taking ./dates" in capsys.readouterr().err
    taken, stopped = [], Outcome(None, 0, None, fresh=True)
    monkeypatch.setattr(runs, "fit", lambda kind, options, *more, **named: taken.append(options.data) or stopped)
    with pytest.raises(KeyboardInterrupt):  # as after training that was interrupted
        runs.train("translate", data="dates")
    assert taken == ["./dates"]


def test_examples_are_those_of_the_shell_and_as_many_as_there_are(capsys):
    shown = [f"{example.text}\t{example.answer}" for example in runs.examples("translate", "test", 3, data="dates")]
    assert "\n".join(shown) + "\n" == shell(capsys, "data", "translate", "--data", "dates", "--count", 3)
    assert list(runs.examples("translate", "train", 0)) == []
    assert len(list(runs.examples(load_task("classify-text"), "train", 700))) == 700  # endless: as many as are wanted


def test_iterators_are_read_once_for_all(tmp_path):
    run = translator(tmp_path / "a", iter(PAIRS))
    assert run.evaluate().metrics == run.results["metrics"]
    run = translator(tmp_path / "b", {"train": iter(PAIRS[:50]), "valid": iter(PAIRS[50:53]), "test": iter(PAIRS[53:])})
    assert run.evaluate("validation").metrics and run.task.data.size("test") == 7


def test_random_numbers_of_the_caller_are_those_without_a_training(known, tmp_path):
    before = torch.get_rng_state()
    runs.train("line", run=tmp_path / "a", max_steps=3, device="cpu")
    assert torch.equal(torch.get_rng_state(), before)


def test_a_process_that_trains_beside_the_first_ends_without_an_error(known, tmp_path, monkeypatch):
    beside, loggers = Outcome(Folder(tmp_path, {}), 3, None, fresh=True, follows=True), [object()]
    monkeypatch.setattr(runs, "fit", lambda *given, **named: beside if named["loggers"] is loggers else None)
    with pytest.raises(SystemExit) as ended:
        runs.train("line", run=tmp_path / "a", max_steps=3, device="cpu", loggers=loggers)
    assert ended.value.code == 0


def test_the_name_of_a_run_may_be_no_text(line, tmp_path):
    other = tmp_path / os.fsdecode(b"caf\xe9")
    shutil.copytree(line.folder, other)
    both = runs.load(line.folder, device="cpu", ensemble=[other])
    for more in ("", "x" * 200):
        found = replace(both, ensemble=(f"{other}{more}",))
        assert json.loads(found.save_results("test", both.measure("test")).read_text())["asked"]["ensemble"]
