"""Lightning's module and trainer for the steps of any task.

Lightning moves batches, differentiates, clips, steps, scales, logs and runs collectives. Validations and
checkpoints are `saccade.train.callback`'s, because a resumed run must equal the uninterrupted one.
"""

import copy
import itertools
import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from saccade._system.environment import matmul_precision
from saccade._threads import own_filters
from saccade.errors import ArgumentError, SaccadeError
from saccade.train.balance import balances, with_balance
from saccade.train.callback import RunCallback
from saccade.train.optimization import learning_rate, make_optimizer, restore_optimizer
from saccade.train.options import Options
from saccade.train.progress import Bar
from saccade.train.randomness import derive, python_and_numpy, reproducible, seeded
from saccade.train.ranks import Ranks
from saccade.train.results import Training, TrainState
from saccade.train.run import Run
from saccade.train.task import Task

with python_and_numpy():  # as `saccade.train.callback` does
    import lightning.pytorch as pl
    from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
    from lightning.pytorch.loggers import Logger, TensorBoardLogger
    from lightning.pytorch.strategies import DDPStrategy

_HARMLESS = (
    ".*does not have many workers.*",  # batches are made in the main process: a step is a function of its number
    ".*GPU available but not used.*",  # --device cpu means it
    ".*in eval mode at the start of training.*",  # a frozen network stays in it
    ".*isinstance.treespec, LeafSpec.*deprecated.*",  # Lightning calling torch
)
_FIRST = 5  # times the seconds of a timing, up to which a first step is followed by others
_PRECISION: dict[str, Any] = {"32": "32-true", "bf16": "bf16-mixed", "16": "16-mixed"}


class _Steps(IterableDataset[Any]):
    """The task's batches from a step on.

    Rank r of W processes takes the batches with a number equal to r modulo W.
    """

    def __init__(self, training: Training) -> None:
        self.training = training

    def __iter__(self) -> Iterator[Any]:
        rank, world = self.training.ranks.rank, self.training.ranks.world
        return map(self.training.task.batch, itertools.count(self.training.state.step * world + rank, world))


class _Stopwatch(pl.Callback):
    """Times steps for some seconds, one step at least."""

    def __init__(self, state: TrainState, seconds: float) -> None:
        self.state, self.seconds, self.times = state, seconds, list[float]()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Note the beginning."""
        self.times.append(time.perf_counter())

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Note the end of a step."""
        float(outputs["loss"])  # waits for the device
        self.times.append(time.perf_counter())
        self.state.step += 1
        enough = self.seconds if self.state.step > 1 else _FIRST * self.seconds
        trainer.should_stop = self.times[-1] - self.times[0] > enough


class _Module(pl.LightningModule):
    """A task's model as a Lightning module."""

    def __init__(self, training: Training) -> None:
        super().__init__()
        self.training_run, self.model = training, training.model
        if training.ranks.world > 1:
            self.idle = nn.Parameter(torch.zeros(()))  # an unused one; without it torch warns, see _several

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Make the optimizer, and restore its state and the scale of the loss."""
        optimizer = make_optimizer(self.model, self.training_run.options)
        if (checkpoint := self.training_run.checkpoint) is not None:
            restore_optimizer(optimizer, checkpoint.optimizer)
            self.trainer.precision_plugin.load_state_dict(checkpoint.scalars["scaler"])
        return optimizer

    def training_step(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        """Return the loss of one step.

        All its random numbers are drawn from (seed, step, rank).
        """
        options, step, rank = self.training_run.options, self.training_run.state.step, self.training_run.ranks.rank
        torch.manual_seed(derive(options.seed, "step", step, *((rank,) if rank else ())))
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] = learning_rate(step, options, *self.training_run.state.paced)
        with balances(self.model) as collected:
            loss = self.training_run.task.loss(self.model, batch)
        return {"loss": with_balance(loss, collected).total, "count": loss.count}


def advance(training: Training) -> bool:
    """Train to the end of the budget, an early stop or an interruption by the user.

    The last step has a checkpoint. Returns whether the training reached its end.

    With W processes, the gradient of step n is the mean of the gradients of batches n·W to n·W + W − 1. Each is of the
    mean over its own batch's tokens, so all batches have the same weight.
    """
    options, leads = training.options, training.ranks.leads
    loggers = [*training.loggers, *([_tensorboard(training)] if options.tensorboard else ())] if leads else []
    with Bar(options.max_steps, training.state.step, shown=leads) as bar, _surroundings(options):
        callback = RunCallback(training, bar)
        _fit(training, callback, loggers)
    return not callback.interrupted


def check_loggers(loggers: Sequence[Any]) -> None:
    """Reject loggers of other classes than Lightning's, before there is a run."""
    for logger in loggers:
        if not isinstance(logger, Logger):
            got = type(logger).__name__
            raise ArgumentError(f"loggers: expected loggers of lightning.pytorch.loggers, got {got}")


def _tensorboard(training: Training) -> Logger:
    """Return TensorBoard's log in the run's folder, without steps that run again."""
    folder, step = training.run.folder, training.state.step
    try:
        return TensorBoardLogger(folder, name="", version="tensorboard", purge_step=step + 1)
    except ImportError as error:
        raise SaccadeError(f"--tensorboard: expected the package tensorboard, got {error}") from error


def step_seconds(task: Task, model: nn.Module, options: Options, device: torch.device, seconds: float) -> float:
    """Return the median time of the first training steps.

    A copy of the model takes these steps for some seconds. The first one, which has other costs, counts only if it is
    alone. Batches and random numbers are functions of the step, so the
    timing has no effect on the run.
    """
    with seeded(options.seed, "plan"), _surroundings(options):
        copied = copy.deepcopy(model).to(device)
        training = Training(Run(Path(), {}), task, options, device, model=copied)
        watch = _Stopwatch(training.state, seconds)
        _fit(training, watch, [])
    times = [later - earlier for earlier, later in itertools.pairwise(watch.times)]
    return median(times[1:] or times)


@contextmanager
def _surroundings(options: Options) -> Iterator[None]:
    """Steps are deterministic, and harmless warnings are hidden."""
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


def _fit(training: Training, callback: pl.Callback, loggers: list[Logger]) -> None:
    """Take steps until the callback stops them."""
    options, ranks, device = training.options, training.ranks, training.device
    alone = {"devices": [device.index or 0] if device.type == "cuda" else 1}
    trainer = pl.Trainer(
        accelerator="gpu" if device.type == "cuda" else "cpu",
        **(alone if ranks.world == 1 else _several(ranks)),
        precision=_PRECISION[options.precision],
        max_steps=-1 if options.max_steps is None else options.max_steps - training.state.step,
        max_epochs=-1,
        gradient_clip_val=options.clip,
        deterministic=True,
        callbacks=[callback],
        logger=loggers,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    training.model.train()
    loader = DataLoader(_Steps(training), batch_size=None)
    try:
        trainer.fit(_Module(training), loader)
    except SystemExit as stop:  # Lightning's form of a second Ctrl-C
        raise KeyboardInterrupt from stop


def _several(ranks: Ranks) -> dict[str, Any]:
    """Settings of the trainer for several processes after their rendezvous.

    Looking for unused parameters costs little, and keeps torch from sorting gradients anew after the first step: sums
    would then be rounded differently in a resumed run.
    """
    return {
        "devices": ranks.here,
        "num_nodes": ranks.world // ranks.here,
        "strategy": DDPStrategy(find_unused_parameters=True),
        "plugins": [TorchElasticEnvironment()],
        "use_distributed_sampler": False,  # batches are a function of step and rank already
    }
