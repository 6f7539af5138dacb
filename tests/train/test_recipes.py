"""What a run's options are where nobody says otherwise."""

import json

import pytest
import torch

from saccade._system import environment
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.runs import train
from saccade.tasks import TASKS, load_task
from saccade.train import fit
from saccade.train.recipes import data_of, defaults, resolve, suit, usual
from saccade.train.run import Run, RunError
from saccade.train.schedules import FALLING, SCHEDULES
from saccade.train.task import Suited, options_class, recipe
from tiers import every
from tiny import Line, Opened, line_options, registered

EVERY = [
    (task, model, data)
    for task in TASKS
    for model in load_task(task).models
    for data in (*load_task(task).builtin, "a/folder")
]


@every(("task", "model", "data"), EVERY)
def test_defaults_of_models_and_data_are_valid_options(task, model, data):
    kind = load_task(task)
    found = defaults(kind, model, data, {})
    chosen = options_class(kind, model)(**found)
    assert (chosen.model, chosen.data) == (model, data)
    assert chosen.max_steps is not None or chosen.max_minutes is not None


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_builtin_data_hold_nothing_out(share):
    with pytest.raises(ArgumentError, match="^--held-out: expected none for dates, whose splits are fixed; leave it"):
        suit(load_task("translate"), "rnnsearch", "dates", {"held_out": share})


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_data_with_all_splits_hold_nothing_out(share):
    pairs = [(f"source {n}", f"target {n}") for n in range(9)]
    kind, splits = load_task("translate"), dict.fromkeys(("train", "validation", "test"), pairs)
    with pytest.raises(ArgumentError, match="^--held-out: expected none for data, which has all splits; leave it out"):
        suit(kind, "rnnsearch", "objects", {"held_out": share}, splits).data.get()
    assert suit(kind, "rnnsearch", "objects", {"held_out": share}, {"train": pairs}).options


@every("schedule", SCHEDULES)
@every("given", [{}, {"max_minutes": 3.0}, {"max_minutes": "3", "max_steps": "7"}, {"max_steps": 7}])
def test_whatever_is_given_of_those_that_decide_the_rest_fits_them(schedule, given):
    kind = load_task("translate")
    for data in (*kind.builtin, "a/folder"):
        found = defaults(kind, "rnnsearch", data, {**given, "schedule": schedule})
        horizon = {"schedule_steps": 90_000, **found} if schedule in FALLING else found
        chosen = options_class(kind, "rnnsearch")(**{**horizon, "schedule": schedule})
        assert schedule in FALLING or (chosen.schedule_steps is None and chosen.final_rate == 0)


def test_minutes_alone_lift_the_limit_of_steps():
    assert defaults(Line, "linear", "points", {})["max_steps"] == 30
    assert defaults(Line, "linear", "points", {"max_steps": 9})["max_steps"] == 30  # what is given replaces it later
    assert "max_minutes" not in defaults(Line, "linear", "points", {"max_steps": 9}, Suited({"max_minutes": 3.0}))
    lifted = defaults(Line, "linear", "points", {"max_minutes": 5})
    assert lifted["max_steps"] is None and lifted["max_minutes"] > 0
    assert defaults(Line, "linear", "points", {"max_minutes": 5, "max_steps": 9})["max_steps"] == 30


@every("task", TASKS)
def test_a_path_beside_you_comes_before_built_in_data(task, tmp_path, monkeypatch, capsys):
    kind = load_task(task)
    folder = tmp_path / task
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in kind.builtin:
        assert (data_of(kind, name), capsys.readouterr().err) == (name, "")
        (folder / name).mkdir()
        assert data_of(kind, name) == f"./{name}"
        assert capsys.readouterr().err.startswith(f"--data {name}: taking ./{name}, ")
    assert (data_of(kind, "./x"), usual(kind, None)[1]) == ("./x", next(iter(kind.builtin)))
    assert capsys.readouterr().err == ""


@pytest.fixture
def machine(monkeypatch):
    """Have a machine with some units, whose products of bfloat16 and rounded products take so many seconds."""

    def forget():
        for measured in (environment.bfloat16_speedup, environment.rounding_speedup):
            measured.cache_clear()

    def set_up(unit, bfloat16, rounded=1.0):
        forget()
        monkeypatch.setattr("torch.cuda.is_available", lambda: "gpu" in unit)
        monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda including_emulation: unit == "gpu")
        monkeypatch.setattr("platform.machine", lambda: "x86_64")
        monkeypatch.setattr("torch.ops.mkldnn._is_mkldnn_bf16_supported", lambda: rounded != 1.0)
        for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
            monkeypatch.setattr(f"torch.cpu.{name}", lambda name=name: name == unit, raising=False)
        seconds = {(torch.bfloat16, "highest"): bfloat16, (torch.float32, "medium"): rounded}
        monkeypatch.setattr(environment, "_product_seconds", lambda *product: seconds.get(product, 1.0))

    yield set_up
    forget()


@every(
    ("unit", "seconds", "precision"),
    [
        ("", 0.1, "32"),  # it is emulated, whatever was measured
        ("_is_avx512_bf16_supported", 0.5, "bf16"),
        ("_is_amx_tile_supported", 0.1, "bf16"),
        ("_is_avx512_bf16_supported", 11.5, "32"),  # the processor reports units that are slow
        ("_is_avx512_bf16_supported", 0.95, "32"),
        ("no gpu", 0.1, "32"),
        ("gpu", 9.0, "bf16"),
    ],
)
def test_a_recipe_has_bf16_where_it_is_faster(unit, seconds, precision, machine):
    machine(unit, seconds)
    assert recipe(load_task("classify-image"), "cnn", "a/folder")["precision"] == precision
    assert defaults(load_task("classify-image"), "cnn", "a/folder", {})["precision"] == precision


@every(("seconds", "rounding"), [(1.0, "medium"), (0.3, "medium"), (1.1, "medium"), (4.0, "highest")])
def test_a_recipe_rounds_products_where_that_is_no_slower(seconds, rounding, machine):
    machine("", 9.0, seconds)
    assert recipe(load_task("translate"), "rnnsearch", "a/folder")["matmul_precision"] == rounding


def test_precision_is_that_of_the_device_the_user_or_the_run(tmp_path, machine, monkeypatch):
    smaller = Suited({"precision": "bf16", "width": 2})
    suits = Suited({"precision": "bf16", "width": 3}, "many", smaller=smaller)
    monkeypatch.setattr(Line, "suited", lambda model, given, objects=None: suits)
    machine("gpu", 9.0)
    found = suit(Line, "linear", "a/folder", {"device": "cuda:0"})
    assert (found.options["precision"], found.smaller.options["precision"]) == ("bf16", "bf16")
    found = suit(Line, "linear", "a/folder", {"device": "cpu"})  # its processor has no units
    assert (found.options["precision"], found.smaller.options["precision"]) == ("32", "32")
    given = {"device": "cpu", "precision": "bf16"}
    assert resolve(Line, "linear", "a/folder", given, suit(Line, "linear", "a/folder", given)).precision == "bf16"
    fit.train(Line, line_options(tmp_path / "run", precision="bf16", max_steps=2))
    again = suit(Line, "linear", "points", {"run": str(tmp_path / "run")})
    assert again.options["precision"] == "bf16"


def test_an_unknown_schedule_is_left_to_the_options():
    kind = load_task("translate")
    plain = defaults(kind, "rnnsearch", "a/folder", {})
    assert defaults(kind, "rnnsearch", "a/folder", {"schedule": "cosin"}) == plain
    assert defaults(kind, "rnnsearch", "a/folder", {"schedule": None}) == plain


def test_the_model_has_the_last_word_and_what_it_has_not_is_left_out():
    assert recipe(Line, "linear", "elsewhere") == {"scale": 2.0, "width": 3}
    assert "unknown_to_some_models" in recipe(Line, "linear", "points")
    assert "unknown_to_some_models" not in defaults(Line, "linear", "points", {})


def test_what_suits_the_data_takes_the_place_of_the_recipe_by_their_name():
    suited = Suited({"width": 9, "max_steps": 40, "unknown_to_some_models": 1, "schedule_steps": 40})
    found = defaults(Line, "linear", "elsewhere", {"schedule": "constant"}, suited)
    assert found == {"model": "linear", "data": "elsewhere", "width": 9, "max_steps": 40, "schedule": "constant"}
    assert suit(Line, "linear", "points", {}) == Suited(recipe(Line, "linear", "points"))


@pytest.fixture
def made(tmp_path, capsys):
    """A run whose recipe was chosen by what was read of the data."""
    Opened.opened.clear()
    with registered():
        assert main(["train", "opened", "--data", "300-points", "--run", str(tmp_path / "a"), "--device", "cpu"]) == 0
        yield tmp_path / "a"


def options_of(run):
    return Run.open(run).config["options"]


def write_config(run, **options):
    """Change options in a config.json."""
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, "options": {**config["options"], **options}}))


def test_the_recipe_follows_from_the_data_with_a_reason(made, capsys):
    assert capsys.readouterr().err.splitlines()[0] == "300 points: a width of 5"
    assert Opened.opened == ["300-points"]  # once
    own = options_of(made)
    assert (own["width"], own["max_steps"], own["warmup_steps"]) == (5, 4, 2)


def test_given_options_win_and_are_checked_together(made, tmp_path, capsys):
    words = ["train", "opened", "--data", "300-points", "--run", str(tmp_path / "b"), "--device", "cpu"]
    falling = ["--schedule", "linear", "--schedule-steps", "4"]  # beside 1,000 steps of warmup it would be refused
    assert main([*words, *falling, "--width", "3"]) == 0
    assert (options_of(tmp_path / "b")["width"], options_of(tmp_path / "b")["schedule_steps"]) == (3, 4)
    capsys.readouterr()
    assert main([*words[:-3], str(tmp_path / "c"), "--schedule", "linear", "--schedule-steps", "1"]) == 2
    refused = "--schedule-steps: expected, for linear, more than 2 (--warmup-steps), got 1"
    assert f"error: {refused}\n" == capsys.readouterr().err.splitlines(keepends=True)[-1]


def test_a_run_goes_on_by_its_own_recipe_and_reads_nothing_for_it(made, capsys):
    Opened.opened.clear()
    words = ["train", "opened", "--data", "300-points", "--run", str(made), "--device", "cpu"]
    assert main(words) == 0 and "is at its end, step 4, already" in capsys.readouterr().err
    assert main([*words, "--max-steps", "6"]) == 0 and Opened.opened == []
    assert "a width of" not in capsys.readouterr().err
    assert main([*words, "--width", "7"]) == 2 and "made with --width 5, not 7" in capsys.readouterr().err
    assert main([*words, "--no-resume"]) == 0 and Opened.opened == ["300-points"]


def test_a_run_goes_on_by_its_own_options(made, capsys):
    write_config(made, learning_rate=0.5, warmup_steps=7, validation_steps=2)
    (made / "checkpoints").rename(made / "elsewhere")
    (made / "results.json").unlink()
    words = ["train", "opened", "--data", "300-points", "--run", str(made), "--device", "cpu"]
    assert main([*words, "--learning-rate", "2"]) == 2
    assert "made with --learning-rate 0.5, not 2.0" in capsys.readouterr().err
    assert main([*words, "--max-steps", "3"]) == 0
    results = json.loads((made / "results.json").read_text())
    chosen = results["config"]["options"]
    assert (results["steps"], chosen["learning_rate"], chosen["validation_steps"]) == (3, 0.5, 2)


def test_a_resumed_run_keeps_its_budget_but_not_its_place(made):
    again = suit(Opened, "linear", "300-points", {"run": str(made)})
    assert (again.options["max_steps"], again.options["width"], again.reason) == (4, 5, "")
    assert not again.options.keys() & {"run", "device", "threads", "resume", "data"}
    write_config(made, max_steps="many")
    with pytest.raises(RunError, match="config.json: --max-steps: expected int | None, got 'many'"):
        suit(Opened, "linear", "300-points", {"run": str(made)})


def test_a_run_names_its_model_and_data(made, tmp_path):
    assert usual(Opened, str(made)) == ("linear", "300-points")
    assert usual(Opened, None) == usual(Opened, str(tmp_path / "nowhere")) == ("linear", "points")
    other = load_task("translate")
    assert usual(other, str(made)) == (next(iter(other.models)), "dates")


def test_help_reads_no_data_and_errors_are_one_line(capsys):
    Opened.opened.clear()
    with registered():
        with pytest.raises(SystemExit):
            main(["train", "opened", "--data", "300-points", "--help"])
        told = " ".join(capsys.readouterr().out.split())
        assert Opened.opened == [] and "--width" in told and "training may choose others by what it reads" in told
        assert main(["train", "opened", "--data", "unreadable"]) == 2
    assert capsys.readouterr().err == "error: unreadable: expected points, got none\n"


def test_the_door_of_python_chooses_alike(made, tmp_path, capsys):
    found = train("opened", data="300-points", run=tmp_path / "b", device="cpu")
    assert found.results["steps"] == 4
    assert options_of(tmp_path / "b") == {**options_of(made), "run": str(tmp_path / "b")}
    assert "300 points: a width of 5" in capsys.readouterr().err
    train("opened", data="300-points", run=tmp_path / "b", device="cpu", max_steps=6)
    with pytest.raises(RunError, match="made with --width 5, not 4"):
        train("opened", data="300-points", run=tmp_path / "b", device="cpu", width=4)
