"""One forward by hand: a model takes what `Run.encode` gives, as docs/export.md has it."""

import re
from pathlib import Path

import pytest
import torch

from saccade.errors import SaccadeError
from tasks.laws.table import FIRST, TABLE, each_task

PAGE = Path(__file__).resolve().parents[3] / "docs" / "export.md"
ROW = re.compile(r"^\| `([a-z-]+)` \| `\((.*?),?\)` \| .* \| `([^`]*)` \|$", re.M)
DESCRIBED = {task: (arguments.split(", "), tokenizer) for task, arguments, tokenizer in ROW.findall(PAGE.read_text())}


def outputs(run, inputs):
    """The outputs of a model, the mean of numbers."""
    with torch.inference_mode():
        output = run.model(*run.encode(inputs))
    return output if isinstance(output, torch.Tensor) else output.mean


@each_task
def test_a_model_takes_encoded_inputs_in_any_batch(run, asked):
    batch = run.encode(asked)
    assert [type(part).__name__ for part in batch] == DESCRIBED[run.task.name][0]
    together, alone = outputs(run, asked), outputs(run, asked[:1])
    first = together[: len(alone)]  # of all words, or of the first of padded steps
    steps = tuple(map(slice, alone.shape))
    torch.testing.assert_close(first[steps], alone, atol=1e-4, rtol=1e-4)


@each_task
def test_probabilities_are_those_of_the_forward(run, asked):
    answers = [answer.to_json() for answer in run.answers(asked, run.request("predict", {}), "json")]
    if run.task.name == "regress":
        assert outputs(run, asked).flatten().tolist() == pytest.approx([answer["answer"][0] for answer in answers])
    elif TABLE[run.task.name].classes and run.task.name != "glimpse":  # a glimpse draws paths
        largest = outputs(run, asked).softmax(-1).amax(-1).tolist()
        assert largest == pytest.approx([max(answer["probabilities"].values()) for answer in answers], abs=1e-5)


@each_task
def test_blank_and_missing_inputs_are_refused(run, asked):
    with pytest.raises(SaccadeError, match="^inputs: expected one or more, got none$"):
        run.encode([])
    if TABLE[run.task.name].blank is not None:
        with pytest.raises(SaccadeError, match="^inputs: expected none that is blank, got number 2; leave it out$"):
            run.encode([asked[0], TABLE[run.task.name].blank])


@each_task
def test_the_page_has_the_tokenizer_of_each_task(run):
    kinds = DESCRIBED[run.task.name][1].split(" or ")
    if kinds != ["none"]:
        assert type(run.tokenizer).__name__ in kinds
        return
    with pytest.raises(
        SaccadeError, match="^tokenizer: expected a run with a tokenizer, got one of .*, which has none"
    ):
        run.tokenizer


def test_the_page_has_every_task():
    assert [*DESCRIBED] == [task for task, _ in FIRST]
