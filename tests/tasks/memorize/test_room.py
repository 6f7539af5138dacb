"""Cells are bounded from below by what is asked, and from above by what there is memory for."""

import pytest
import torch

from saccade import runs
from saccade.cli import main
from saccade.errors import ArgumentError, SaccadeError
from saccade.models.dnc import DNC
from saccade.models.memorizer import Sizes
from saccade.models.ntm import NTM
from saccade.models.padded import Padded
from saccade.tasks.memorize import MEMORIZE, room
from tiers import every

SMALL = {"hidden_dim": 8, "cell_dim": 4, "max_steps": 2, "batch_size": 3, "warmup_steps": 2, "threads": 1, "longest": 3}
FIXED = {"least_cells": 6, "most_cells": 6}
MIB = 1 << 20


@pytest.fixture
def free(monkeypatch):
    """Says how much memory there is."""
    return lambda number: monkeypatch.setattr(room, "free_bytes", lambda device: number)


def prepared(model="dnc", **more):
    return MEMORIZE.prepare(runs.options(MEMORIZE, "copy", model, {**SMALL, **more}))


def refused(**more):
    with pytest.raises(ArgumentError) as error:
        prepared(**more)
    assert "\n" not in str(error.value)
    return str(error.value)


def all_of(cells):
    return dict.fromkeys(("cells", "least_cells", "most_cells"), cells)


@pytest.mark.slow
def test_more_cells_than_a_question_has_memory_for_are_refused(tmp_path, free):
    run = runs.train("memorize", data="copy", model="dnc", run=tmp_path / "run", device="cpu", cells=6, **SMALL)
    free(1 << 30)
    why = r"a question would take 11,444,\d* MiB, and 1,024 MiB are free"
    for verb in ("predict", "eval", "look"):
        with pytest.raises(SaccadeError, match=rf"^--cells: expected at most 9,4\d\d, got 1,000,000: {why}$"):
            run.request(verb, {"cells": 1_000_000})
    assert run.request("eval", {"cells": 9000}).cells == 9000
    free(None)
    assert run.request("eval", {"cells": 1_000_000}).cells == 1_000_000


def test_training_beyond_the_memory_is_refused(free):
    free(1 << 30)
    found = refused(**all_of(20_000))
    batches = [prepared(**FIXED, cells=6).sampler.batch(step) for step in range(2)]
    rows, steps = max((len(batch) * (batch[-1].order + 2), len(batch), batch[-1].order) for batch in batches)[1:]
    needed = rows * (steps + 2) * 4 * 20_000 * (20_000 + 2 + 4 + 3)
    told = f"training on {rows} sequences of {steps} steps at once would take at least {needed >> 20:,} MiB"
    expected, _, why = found.partition(": training")
    assert why == f"{told.removeprefix('training')}, and 1,024 MiB are free; a smaller --batch-size takes less"
    most = int(expected.removeprefix("--most-cells: expected at most ").partition(", got")[0].replace(",", ""))
    prepared(**all_of(most))
    assert refused(cells=6, least_cells=6, most_cells=most + 1).startswith(f"--most-cells: expected at most {most:,}, ")


@every(
    ("megabytes", "more", "message"),
    [
        (512, {"cells": 10_000, "least_cells": None, "most_cells": None}, "--cells: expected at most 2,"),
        (512, {"cells": 6, "least_cells": 10_000, "most_cells": None}, "--least-cells: expected at most 2,"),
        (512, {"cells": 6, "least_cells": 6, "most_cells": 10_000}, "--most-cells: expected at most 2,"),
        (1024, {"cells": 1_000_000, **FIXED}, "--cells: expected at most 9,4.*: a question would take 11,444,"),
        (600, {**all_of(3000), "batch_size": 20}, "--most-cells: .*; a smaller --batch-size takes less"),
        (64, all_of(10_000), "--most-cells: expected at most "),
    ],
)
def test_option_is_named_that_says_how_many_cells_there_are(megabytes, more, message, free):
    free(megabytes * MIB)
    with pytest.raises(ArgumentError, match=f"^{message}"):
        prepared(**more)


@pytest.mark.parametrize(
    ("megabytes", "model", "more"),
    [
        (600, "dnc", {**SMALL, **all_of(3000), "batch_size": 1}),
        (64, "ntm", {**SMALL, **all_of(10_000)}),  # without links
        *((0, model, {}) for model in ("lstm", "past-attention", "transformer")),
    ],
)
def test_what_fits_is_taken(megabytes, model, more, free):
    free(megabytes * MIB)
    MEMORIZE.prepare(runs.options(MEMORIZE, "copy", model, {"longest": 3, **more}))


def test_nothing_is_made_where_training_is_refused(tmp_path, free, capsys):
    free(MIB)
    flags = ["--model", "dnc", "--longest", "3", "--cells", "3000", "--device", "cpu", "--threads", "1"]
    many = ["--least-cells", "3000", "--most-cells", "3000"]
    assert main(["train", "memorize", "--data", "copy", "--run", str(tmp_path / "run"), *flags, *many]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[-1].startswith("error: --most-cells: expected at most ") and "Traceback" not in "".join(told)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [DNC, NTM])
def test_a_state_takes_the_bytes_that_are_counted(kind):
    more = {"write_heads": 3} if kind is NTM else {}
    options = kind.Options(hidden_dim=6, cells=7, cell_dim=5, read_heads=2, **more)
    model = kind(Sizes(9, 8), options)
    state = model.memory.start(1, 7)
    kept = sum(part.numel() for part in state if part is not None) - state.read.numel()
    assert model.training_bytes(options, 7, 11, 13) == 11 * (13 + 2) * 4 * kept and model.nbytes(7) == 3 * 4 * kept


@pytest.mark.parametrize("kind", [DNC, NTM])
def test_the_graph_of_a_step_keeps_no_less_than_is_counted(kind):
    options = kind.Options(hidden_dim=6, cells=40, cell_dim=5)
    model, source = kind(Sizes(9, 8), options), Padded(torch.randn(3, 8, 9), torch.tensor([8, 8, 5]))
    kept = dict[int, int]()

    def count(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        total = model(source).sum()
    assert sum(kept.values()) >= model.training_bytes(options, 40, 3, 8 - 2)  # the gradients of two come later
    total.backward()
