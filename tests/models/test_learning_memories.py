"""What a trained memory guarantees: it holds more than it was trained to, in as many cells as it is given."""

import pytest
import torch

from saccade import runs
from saccade.tasks.memorize import problem
from saccade.tasks.memorize.episode import pad

SMALL = {"longest": 8, "cells": 20, "least_cells": 9, "most_cells": 16, "cell_dim": 12}
BUDGET = {"max_steps": 1300, "schedule_steps": 1300, "validation_steps": 2000, "checkpoint_steps": 2000, "threads": 1}


@pytest.mark.slow
def test_a_memory_copies_more_than_it_was_trained_to(tmp_path, monkeypatch):
    monkeypatch.setattr(problem, "HELD_OUT", 40)
    own = {**SMALL, **BUDGET, "patience": None, "seed": 1, "device": "cpu"}
    run = runs.train("memorize", data="copy", model="ntm", run=tmp_path / "run", **own)
    assert run.model.options.training_cells == (9, 16)
    few, many = (run.evaluate("test", **more).groups["bit_error"] for more in ({}, {"cells": 200}))
    for found in (few, many):
        assert found["8"] < 0.05 and found["16"] < 0.1  # twice what was trained; a constant is wrong half the time
    with torch.inference_mode():
        write = run.model.trace(pad([run.task.example("test", 1).input.episode]).source)["write"]
    assert float(write.max(0).values[:8].mean()) > 0.7 and len(set(write.argmax(0)[:8].tolist())) > 5  # a cell each
