"""The verbs that ask a run: where RUN stands, which options a run has, and what help says of them."""

import json
import shutil

import pytest

from saccade.cli import main
from saccade.train.fit import train
from tiny import Line, line_options, registered

POINT = "1 2 3 4"


@pytest.fixture(scope="module", autouse=True)
def known():
    with registered():
        yield


@pytest.fixture(scope="module")
def line(known, tmp_path_factory):
    """A run of a task that has options of its own."""
    folder = tmp_path_factory.mktemp("requests") / "line"
    train(Line, line_options(folder, max_steps=4))
    return folder


@pytest.fixture
def ask(capsys):
    """Runs the program in this process; returns the exit code, the lines of its output and of its complaints."""

    def asked(*words):
        try:
            code = main(list(map(str, words)))
        except SystemExit as stop:  # of --help
            code = stop.code
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out.splitlines(), err.splitlines()

    return asked


@pytest.mark.parametrize(
    ("before", "behind", "count"),
    [
        ("", "", 1),
        ("--rounded", "", 1),
        ("--no-rounded", "", 1),
        ("--nbest 2", "", 2),
        ("--nbest=2", "", 2),
        ("", "--nbest 2", 2),
        ("--device cpu", "--nbest 2 --rounded", 2),
        ("--raised-by -1", "", 1),
        ("--raised_by -1 --rounded", "--device=cpu", 1),
        ("--json", "", 1),
        ("--json --rounded --nbest 2", "", 1),
    ],
)
def test_a_run_is_found_wherever_it_stands_among_options(line, ask, before, behind, count):
    code, out, err = ask("predict", *before.split(), line, *behind.split(), POINT)
    assert (code, len(out), err) == (0, count, [])


def test_the_first_two_words_are_the_run_and_the_input(line, ask, tmp_path):
    shutil.copytree(line, tmp_path / "other")
    together = ask("predict", "--ensemble", tmp_path / "other", line, POINT)
    assert together[0] == 0 and together == ask("predict", line, POINT, "--ensemble", tmp_path / "other")
    code, out, err = ask("predict", line, line)  # the folder's name is no point
    assert code == 2 and out == [] and err == [f"error: line 1: expected numbers, got '{line}'"]
    code, _, err = ask("predict", line, POINT, "more")
    way_out = "quote texts that contain spaces, ask several by --input FILE, and see --help"
    assert code == 2 and err == [f"error: unexpected argument more; {way_out}"]


def test_value_of_a_mistyped_option_is_not_taken_for_a_run(line, ask):
    for words in (["--raised-bye", "3", line], [line, "--raised-bye", "3"]):
        code, out, err = ask("predict", *words, POINT)
        assert (code, out, err) == (2, [], ["error: unknown option --raised-bye; did you mean --raised-by?"])


@pytest.mark.parametrize(
    ("verb", "words", "tasks"),
    [
        ("predict", "--beam-size 3", "translate or transcribe or caption"),
        ("predict", "--sample", "translate or transcribe or caption"),
        ("predict", "--no-sample", "translate or transcribe or caption"),
        ("predict", "--replace-unknown", "translate"),
        ("predict", "--coverage_penalty=0.1", "translate or caption"),
        ("predict", "--ctc-rescoring 0.5", "transcribe"),
        ("eval", "--beam-size 3", "translate or transcribe or caption"),
        ("eval", "--coverage-penalty 0.1", "translate or caption"),
    ],
)
def test_options_of_other_tasks_are_refused_by_their_names(line, ask, verb, words, tasks):
    code, out, err = ask(verb, line, *words.split(), *([POINT] if verb == "predict" else []))
    option = words.split()[0].partition("=")[0].replace("_", "-")
    assert (code, out) == (2, [])
    assert err == [f"error: {option}: expected only with a run of {tasks}; leave it out"]


def test_options_of_another_verb_are_unknown(line, ask):
    for verb, option in (("eval", "--nbest"), ("look", "--rounded"), ("eval", "--json"), ("look", "--ensemble")):
        code, _, err = ask(verb, line, option)
        assert code == 2 and len(err) == 1 and f"unknown option {option}" in err[0]


def test_a_text_behind_two_dashes_may_begin_with_one(line, ask):
    heights = ask("predict", line, "-1 -2 -3 -4")[1]
    for words in ((line, "--"), ("--", line), ("--raised-by", "0", line, "--"), ("--raised-by", "0", "--", line)):
        assert ask("predict", *words, "-1 -2 -3 -4") == (0, heights, [])
    assert ask("predict", line, "--", "-a")[2] != ["error: unknown option -a; see --help"]


def test_help_is_of_the_run_or_of_all_tasks(line, ask, tmp_path):
    own = " ".join(ask("predict", line, "--help-all")[1])
    assert all(option in own for option in ("--raised-by", "--rounded", "--device", "--json"))
    assert "--beam-size" not in own and "Add this to each height" in own
    every = " ".join(ask("predict", "--help")[1])
    assert all(option in every for option in ("--raised-by", "--beam-size", "--ctc-rescoring", "--replace-unknown"))
    assert ask("predict", tmp_path / "nowhere", "--help")[0] == 0  # a folder that is not there has no options
    for verb in ("eval", "look"):
        assert ask(verb, line, "--help")[0] == ask(verb, "--help", line)[0] == 0


@pytest.mark.parametrize(("verb", "words"), [("predict", "RUN [INPUT]"), ("look", "RUN [INPUT]"), ("eval", "RUN")])
def test_usage_names_the_run_with_and_without_one(verb, words, line, ask, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    for command in ([verb, "--help"], [verb, line, "--help"]):
        _, out, _ = ask(*command)
        assert out[0] == f"usage: saccade {verb} {words} [OPTIONS]"
        assert any("RUN " in text and "Folder of the run." in text for text in out)


def test_help_without_a_run_names_the_tasks_of_an_option(ask, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    every = " ".join(" ".join(ask("look", "--help-all")[1]).split())
    assert "--by {attention,rollout,flow,gradient,grad-cam,jacobian,integrated-gradients} " in every
    assert " answer: Method of the picture: attention, gradients by pixels and words" in every
    assert " caption: Method of the maps: attention weights" in every
    assert " classify-text: With --layer: " in every and "--output TEXT Folder for the pictures" in every


def test_paragraphs_of_help_are_not_indented(ask):
    assert "Baselines follow, such as the most frequent answer." in " ".join(
        text for text in ask("eval", "--help")[1] if not text.startswith(" ")
    )


@pytest.mark.parametrize("verb", ["predict", "eval", "look"])
def test_what_is_no_run_is_one_line(verb, line, ask, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    shutil.copytree(line, tmp_path / "strange")
    config = json.loads((line / "config.json").read_text())
    (tmp_path / "strange/config.json").write_text(json.dumps({**config, "task": "lime"}))
    for words, said in (
        ([], f"RUN: expected the folder of a run, got none; see saccade {verb} --help"),
        ([""], "RUN: expected the folder of a run, got an empty name"),
        ([tmp_path / "nowhere"], f"{tmp_path / 'nowhere'}: no such run; `saccade train` makes one"),
        ([tmp_path / "file"], f"{tmp_path / 'file'}: expected the folder of a run, got a file"),
        ([tmp_path / "empty"], f"{tmp_path / 'empty'}: not a run (it has no config.json)"),
        ([tmp_path / "strange"], f"{tmp_path / 'strange'}: there is no lime; did you mean line?"),
    ):
        assert ask(verb, *words) == (2, [], [f"error: {said}"])


def test_a_refused_request_is_one_line_before_answers(line, ask):
    for words, said in (
        (["--nbest", "0"], "--nbest: expected a number above 0, got 0"),
        (["--nbest", "many"], "--nbest: expected a whole number, got many; see saccade predict --help"),
        (["--raised-by", "101"], "--raised-by: expected at most 100"),
        (["--device", "gpu7"], "--device: expected one of auto, cpu"),
    ):
        code, out, err = ask("predict", line, POINT, *words)
        assert code == 2 and out == [] and len(err) == 1 and err[0].startswith(f"error: {said}")


def test_inputs_are_found_before_a_model_is_loaded(line, ask, tmp_path, monkeypatch):
    def loading(*arguments, **options):
        raise AssertionError("loaded")

    monkeypatch.setattr("saccade.cli.requests.load", loading)
    missing = tmp_path / "no.txt"
    for verb in ("predict", "look"):
        code, _, err = ask(verb, line, POINT, "--input", missing)
        assert code == 2 and err == ["error: --input: expected INPUT or --input FILE, got both"]
        code, _, err = ask(verb, line, "--input", missing)
        expected = f"{missing}: expected a file or a folder, got nothing there; correct the name"
        assert code == 2 and err == [f"error: {expected}"]
        assert ask(verb, line, "", "--input=") == (2, [], ["error: --input: expected INPUT or --input FILE, got both"])


def test_an_evaluation_with_options_has_its_own_file(line, ask):
    assert ask("eval", line)[0] == ask("eval", "--rounded", line, "--split", "validation")[0] == 0
    assert json.loads((line / "results-test.json").read_text())["asked"] == {}
    assert json.loads((line / "results-validation-rounded.json").read_text())["asked"] == {"rounded": True}
    code, _, err = ask("eval", line, "--split", "tests")
    assert code == 2 and err == [
        "error: --split: expected test or validation, got tests; did you mean test?; see saccade eval --help"
    ]


def test_runs_that_cannot_be_one_are_refused(line, ask, tmp_path, capsys):
    train(Line, line_options(tmp_path / "wide", width=5, max_steps=1))
    capsys.readouterr()
    for other, said in (
        (tmp_path / "wide", "--ensemble: expected 4 numbers, got 5"),
        (line, f"--ensemble {line}: expected each run once, got it again"),
        ("", "--ensemble: expected the folder of a run, got an empty name"),
        (tmp_path / "nowhere", f"{tmp_path / 'nowhere'}: no such run; `saccade train` makes one"),
    ):
        assert ask("predict", line, POINT, "--ensemble", other) == (2, [], [f"error: {said}"])


def test_a_line_that_cannot_be_read_has_a_blank_answer_and_is_said(line, ask, tmp_path):
    (tmp_path / "points.txt").write_text("1 1 1 1\none\n2 2\n0 0 0 0\n")
    code, out, err = ask("predict", line, "--input", tmp_path / "points.txt", "--nbest", "2")
    assert code == 2 and len(out) == 8 and out[2:6] == [""] * 4 and "" not in out[:2] + out[6:]
    assert err == [
        "line 2: expected numbers, got 'one'",
        "line 3: expected 4 numbers, got 2",
        "error: 2 of 4 inputs could not be read, as said above; their answers are blank",
    ]
    code, out, err = ask("predict", line, "--input", tmp_path / "points.txt", "--json")
    assert [json.loads(text)["height"] is None for text in out] == [False, True, True, False]
