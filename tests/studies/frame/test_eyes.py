import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.glimpse import GLIMPSE
from saccade.tasks.glimpse.options import EvalRequest
from saccade.train.results import measure
from saccade.train.task import options_class
from studies.frame.eyes import PATHS, Canvas, measured, open_canvas, wrong_shares

SMALL = {"glimpses": 2, "patch": 4, "hidden_dim": 16, "glimpse_dim": 8}


@pytest.mark.parametrize("model", ["ram", "ram-grid", "random", "whole"])
def test_paths_are_those_of_the_runs_own_evaluation(few_digits, model):
    kind = options_class(GLIMPSE, model)
    sizes = {} if model == "whole" else SMALL
    task = GLIMPSE.prepare(kind(model=model, data="translated", canvas=32, seed=3, **sizes))
    torch.manual_seed(0)
    eye = task.build()
    found = measured(task, eye, task.data, 3)
    own = measure(task, eye, "test", 3, request=EvalRequest(rollouts=PATHS)).metrics
    assert found["error_likeliest"] == pytest.approx(own["error_likeliest"])
    assert found["error_of_mean"] == pytest.approx(own[f"error_of_{PATHS}"])
    assert sum(wrong_shares(found)) / 30 == pytest.approx(found["error"]) and found["images"] == 30
    for name in ("entropy", "deviation"):
        assert found[name] == (pytest.approx(own[name], abs=1e-4) if name in own else None)


def test_strings_of_digits_are_rejected(few_digits):
    with pytest.raises(ArgumentError, match="--data: expected images of one label each, got strings"):
        open_canvas(Canvas(data="row", canvas=100))
