"""The Lightning side: one module that runs any task's steps, and the trainer that runs the module.

Lightning moves batches, differentiates, clips, steps, scales and talks to other processes. What a run is, when it is
measured and how it is kept is `saccade.train.callback`'s, because a resumed run must be the uninterrupted one.
"""

import copy
import itertools
import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from saccade._threads import own_filters
from saccade.train.balance import balances, with_balance
from saccade.train.callback import RunCallback
from saccade.train.checkpoint import Checkpoint
from saccade.train.environment import matmul_precision
from saccade.train.optimization import learning_rate, make_optimizer, restore_optimizer
from saccade.train.options import Options
from saccade.train.progress import Bar
from saccade.train.randomness import derive, python_and_numpy, reproducible, seeded
from saccade.train.ranks import Ranks
from saccade.train.results import TrainState
from saccade.train.run import Run
from saccade.train.task import Task
from saccade.train.tensorboard import TensorBoard

with python_and_numpy():  # as `saccade.train.callback` does
    import lightning.pytorch as pl
    from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
    from lightning.pytorch.strategies import DDPStrategy

__all__ = ["advance", "step_seconds"]

_HARMLESS = (
    ".*does not have many workers.*",  # batches are made in the main process: a step is a function of its number
    ".*GPU available but not used.*",  # --device cpu means it
    ".*isinstance.treespec, LeafSpec.*deprecated.*",  # Lightning calling torch
)
_LEAST = 2  # steps that are timed, and one before them, which is never like the others
_PRECISION: dict[str, Any] = {"32": "32-true", "bf16": "bf16-mixed", "16": "16-mixed"}


class _Steps(IterableDataset[Any]):
    """The task's batches from a step on: rank r of W processes takes every W-th, from the r-th on."""

    def __init__(self, task: Task, step: int, ranks: Ranks) -> None:
        self.task, self.step, self.ranks = task, step, ranks

    def __iter__(self) -> Iterator[Any]:
        rank, world = self.ranks.rank, self.ranks.world
        return map(self.task.batch, itertools.count(self.step * world + rank, world))


class _Stopwatch(pl.Callback):
    """Times the steps of a model that nobody keeps.

    Args:
        task: what is trained on.
        model: what is trained.
        options: of the run.
        seconds: after which it is enough.
    """

    def __init__(self, task: Task, model: nn.Module, options: Options, seconds: float) -> None:
        self.task, self.model, self.options, self.seconds = task, model, options, seconds
        self.state, self.ranks, self.count = TrainState(), Ranks(), 0
        self.times = list[float]()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Note when a step is done, which the device is when its loss is known."""
        float(outputs["loss"])
        self.times.append(time.perf_counter())
        self.state.step += 1
        trainer.should_stop = self.state.step > _LEAST and self.times[-1] - self.times[0] > self.seconds


class _Module(pl.LightningModule):
    """A task's model, as Lightning wants it."""

    def __init__(self, callback: RunCallback | _Stopwatch, checkpoint: Checkpoint | None) -> None:
        super().__init__()
        self.callback, self.model, self.checkpoint = callback, callback.model, checkpoint
        if callback.ranks.world > 1:
            self.idle = nn.Parameter(
                torch.zeros(())
            )  # one unused, lest torch warn that it looks for them: see _several

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Make the optimizer, in the state that it was saved in."""
        optimizer = make_optimizer(self.model, self.callback.options)
        if self.checkpoint is not None:
            restore_optimizer(optimizer, self.checkpoint.optimizer)
        return optimizer

    def on_train_start(self) -> None:
        """Scale the loss as it was scaled."""
        if self.checkpoint is not None:
            self.trainer.precision_plugin.load_state_dict(self.checkpoint.scalars["scaler"])

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the loss of one step, with everything random in it drawn from (seed, step, rank)."""
        callback, step, rank = self.callback, self.callback.state.step, self.callback.ranks.rank
        torch.manual_seed(derive(callback.options.seed, "step", step, *((rank,) if rank else ())))
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] = learning_rate(step, callback.options)
        with balances(self.model) as found:
            loss = callback.task.loss(self.model, batch)
        loss = with_balance(loss, found)
        callback.count = loss.count
        return loss.total


def advance(
    task: Task,
    model: nn.Module,
    run: Run,
    options: Options,
    device: torch.device,
    state: TrainState,
    checkpoint: Checkpoint | None,
    ranks: Ranks,
) -> bool:
    """Train until the budget or the patience is spent or the user stops it; the last step is always in a checkpoint.

    With W processes, the gradient of step n is the mean of those of batches n·W to n·W + W − 1. Each is of the mean
    over its own batch's tokens, so that batches weigh alike, as the steps of one process do: a token in a batch of
    fewer counts a little more than it would in one mean over all of them.

    Args:
        task: what to train on.
        model: trained in place.
        run: where checkpoints and metrics go.
        options: of the run.
        device: where to compute.
        state: how far the run is; kept up to date in place.
        checkpoint: that `state` is of; None at the beginning.
        ranks: the processes that train together, all of which call this.

    Returns:
        Whether it went on to the end.
    """
    tensorboard = run.folder / "tensorboard" if options.tensorboard and ranks.leads else None
    with (
        Bar(options.max_steps, state.step, shown=ranks.leads) as bar,
        TensorBoard(tensorboard, state.step) as board,
        _surroundings(options),
    ):
        callback = RunCallback(task, model, run, options, state, ranks, bar, board)
        _fit(callback, device, checkpoint)
    return not callback.interrupted


def step_seconds(task: Task, model: nn.Module, options: Options, device: torch.device, seconds: float) -> float:
    """Return how long a training step takes: the median of some first ones, taken by a copy of the model.

    Batches and all that is random are functions of the step, so that the run that follows takes the same steps as if
    nothing had been timed.

    Args:
        task: what to train on.
        model: left as it is.
        options: of the run.
        device: where to compute.
        seconds: that the timing may take, unless a few steps take longer.
    """
    with seeded(options.seed, "plan"), _surroundings(options):
        watch = _Stopwatch(task, copy.deepcopy(model).to(device), options, seconds)
        _fit(watch, device, None)
    return median(later - earlier for earlier, later in itertools.pairwise(watch.times))


@contextmanager
def _surroundings(options: Options) -> Iterator[None]:
    """What steps are taken in: torch is deterministic, and nobody is told of what is harmless."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    with own_filters(), reproducible(), matmul_precision(options.matmul_precision):
        for message in _HARMLESS:
            warnings.filterwarnings("ignore", message)
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)


def _fit(callback: RunCallback | _Stopwatch, device: torch.device, checkpoint: Checkpoint | None) -> None:
    """Take steps until the callback has it otherwise."""
    trainer = _trainer(callback, device)
    callback.model.train()
    loader = DataLoader(_Steps(callback.task, callback.state.step, callback.ranks), batch_size=None)
    try:
        trainer.fit(_Module(callback, checkpoint), loader)
    except SystemExit as stop:  # what Lightning makes of a second Ctrl-C
        raise KeyboardInterrupt from stop


def _trainer(callback: RunCallback | _Stopwatch, device: torch.device) -> pl.Trainer:
    """Lightning's trainer for this process."""
    options, done, ranks = callback.options, callback.state.step, callback.ranks
    alone = {"devices": [device.index or 0] if device.type == "cuda" else 1}
    return pl.Trainer(
        accelerator="gpu" if device.type == "cuda" else "cpu",
        **(alone if ranks.world == 1 else _several(ranks)),
        precision=_PRECISION[options.precision],
        max_steps=-1 if options.max_steps is None else options.max_steps - done,
        max_epochs=-1,
        gradient_clip_val=options.clip,
        deterministic=True,
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )


def _several(ranks: Ranks) -> dict[str, Any]:
    """What Lightning has to know of several processes that have met already.

    Looking for unused parameters costs little, and keeps torch from sorting gradients anew after the first step: sums
    would then be rounded otherwise in a run that was resumed.
    """
    return {
        "devices": ranks.here,
        "num_nodes": ranks.world // ranks.here,
        "strategy": DDPStrategy(find_unused_parameters=True),
        "plugins": [TorchElasticEnvironment()],
        "use_distributed_sampler": False,  # batches are a function of step and rank already
    }
