from dataclasses import dataclass, fields

import pytest

from saccade.errors import ArgumentError
from saccade.tasks import load_task
from saccade.train.options import Options, before, check_types, flat, identity, select
from saccade.train.task import options_class
from tiers import every


@dataclass(frozen=True, kw_only=True)
class Size:
    width: int = 3

    def __post_init__(self):
        if self.width < 1:
            raise ArgumentError("--width: too small")


def test_parts_make_one_dataclass_with_their_checks():
    both = flat(Size, Options)
    assert {"width", "seed", "max_steps"} <= {field.name for field in fields(both)}
    assert flat(Size, Options) is both
    assert select(both(width=5), Size) == Size(width=5)
    with pytest.raises(ArgumentError, match="--width"):
        both(width=0)
    with pytest.raises(ArgumentError, match="--max-steps"):
        both(max_steps=0)


def test_budgets_devices_and_folders_are_no_part_of_what_a_run_is():
    budget = {"run", "resume", "data", "max_steps", "max_minutes", "checkpoint_steps", "validation_steps", "device"}
    assert not budget & set(identity(Options()))
    assert {"seed", "learning_rate", "model", "clip"} <= set(identity(Options()))


def test_values_out_of_a_file_are_of_the_options_types():
    check_types(Options, {"seed": 3, "learning_rate": 1, "max_minutes": None, "resume": False, "unknown": 7})
    for name, value in {"seed": "3", "max_steps": 1.5, "resume": 1, "threads": True, "data": None}.items():
        with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}: expected .*, got {value!r}"):
            check_types(Options, {name: value})


def test_one_of_the_budgets_is_enough():
    assert Options(max_steps=None, max_minutes=1).max_steps is None


COUNTS = ("max_steps", "checkpoint_steps", "validation_steps", "clip", "max_minutes", "patience", "average")


@every(
    ("changed", "words"),
    [
        *(({name: -1}, f"--{name.replace('_', '-')}: expected a number above 0, got -1") for name in COUNTS),
        ({"learning_rate": float("nan")}, "--learning-rate: expected a number above 0, got nan"),
        ({"learning_rate": float("inf")}, "--learning-rate: expected a finite number above 0, got inf"),
        ({"threads": 100_000_000}, "--threads: expected at most 1024, got 100000000"),
        ({"max_steps": None}, "--max-steps: expected a number, or --max-minutes, got neither"),
        ({"schedule": "cosin"}, "--schedule: expected one of inverse-sqrt, constant, linear, cosine, got cosin"),
        (
            {"schedule": "cosine"},
            r"--schedule-steps: expected, for cosine, more than 1000 \(--warmup-steps\), got none",
        ),
        ({"schedule": "linear", "schedule_steps": 1000}, "more than 1000"),
        ({"schedule_steps": 5000}, "--schedule-steps: expected only with --schedule linear or cosine"),
        ({"final_rate": 0.1}, "--final-rate: expected only with"),
        ({"schedule": "linear", "schedule_steps": 5000, "final_rate": 2.0}, "--final-rate: expected a share"),
        ({"beta2": 1.0}, "--beta2: expected 0 <= beta2 < 1, got 1.0"),
        ({"weight_decay": -1.0}, "--weight-decay: expected a finite number from 0 on, got -1.0"),
        ({"precision": "8"}, "--precision: expected one of 32, bf16, 16, got 8"),
    ],
)
def test_values_without_a_meaning_are_rejected_by_name(changed, words):
    with pytest.raises(ArgumentError, match=words):
        Options(**changed)


@pytest.mark.parametrize(
    ("task", "model", "name"),
    [
        ("translate", "rnnsearch", "query"),
        ("glimpse", "ram", "first"),
        ("classify-text", "fixed", "own_projections"),
        ("classify-text", "self-attention", "self_read"),
        ("translate", "transformer", "samples"),
        ("regress", "mlp", "decimal"),
    ],
)
def test_runs_made_before_an_option_keep_their_weights(task, model, name):
    options = options_class(load_task(task), model, checked=False)
    [default] = [field.default for field in fields(options) if field.name == name]
    assert before(options)[name] == default
