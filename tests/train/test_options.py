from dataclasses import dataclass, fields

import pytest

from saccade.errors import ArgumentError
from saccade.train.options import Options, check_types, flat, identity, select
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


@every("name", ["max_steps", "checkpoint_steps", "validation_steps", "learning_rate", "clip", "max_minutes"])
def test_what_means_nothing_is_refused_by_its_name(name):
    with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}: expected a number above 0, got -1"):
        Options(**{name: -1})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(ArgumentError, match=f"--learning-rate: expected a (finite )?number above 0, got {value}"):
        Options(learning_rate=value)


def test_values_out_of_a_file_are_of_the_options_types():
    check_types(Options, {"seed": 3, "learning_rate": 1, "max_minutes": None, "resume": False, "unknown": 7})
    for name, value in {"seed": "3", "max_steps": 1.5, "resume": 1, "threads": True, "data": None}.items():
        with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}: expected .*, got {value!r}"):
            check_types(Options, {name: value})


def test_threads_that_no_machine_has_are_refused():
    with pytest.raises(ArgumentError, match="--threads: expected at most 1024, got 100000000"):
        Options(threads=100_000_000)


def test_one_of_the_budgets_is_enough():
    assert Options(max_steps=None, max_minutes=1).max_steps is None
    with pytest.raises(ArgumentError, match="--max-steps: expected a number, or --max-minutes, got neither"):
        Options(max_steps=None)
