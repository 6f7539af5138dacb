"""Lightning's module and trainer for the steps of any task.

Lightning moves batches, differentiates, clips, steps, scales, logs and talks to other processes. Validations and
checkpoints are `saccade.train.callback`'s, because a resumed run must equal the uninterrupted one.
"""

import copy
import itertools
import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from saccade._threads import own_filters
from saccade.errors import SaccadeError
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

with python_and_numpy():  # as `saccade.train.callback` does
    import lightning.pytorch as pl
    from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
    from lightning.pytorch.loggers import Logger, TensorBoardLogger
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
    """The task's batches from a step on: rank r of W processes takes those whose number is r modulo W."""

    def __init__(self, task: Task, step: int, ranks: Ranks) -> None:
        self.task, self.step, self.ranks = task, step, ranks

    def __iter__(self) -> Iterator[Any]:
        rank, world = self.ranks.rank, self.ranks.world
        return map(self.task.batch, itertools.count(self.step * world + rank, world))


class _Stopwatch(pl.Callback):
    """Times the steps of a copy of a model, for some seconds."""

    def __init__(self, task: Task, model: nn.Module, options: Options, seconds: float) -> None:
        self.task, self.model, self.options, self.seconds = task, model, options, seconds
        self.state, self.ranks, self.count = TrainState(), Ranks(), 0
        self.times = list[float]()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Note the end of a step."""
        float(outputs["loss"])  # waits for the device
        self.times.append(time.perf_counter())
        self.state.step += 1
        trainer.should_stop = self.state.step > _LEAST and self.times[-1] - self.times[0] > self.seconds


class _Module(pl.LightningModule):
    """A task's model as a Lightning module."""

    def __init__(self, callback: RunCallback | _Stopwatch, checkpoint: Checkpoint | None) -> None:
        super().__init__()
        self.callback, self.model, self.checkpoint = callback, callback.model, checkpoint
        if callback.ranks.world > 1:
            self.idle = nn.Parameter(torch.zeros(()))  # an unused one; without it torch warns, see _several

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Make the optimizer in its saved state."""
        optimizer = make_optimizer(self.model, self.callback.options)
        if self.checkpoint is not None:
            restore_optimizer(optimizer, self.checkpoint.optimizer)
        return optimizer

    def on_train_start(self) -> None:
        """Restore the scale of the loss."""
        if self.checkpoint is not None:
            self.trainer.precision_plugin.load_state_dict(self.checkpoint.scalars["scaler"])

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the loss of one step, with everything random in it drawn from (seed, step, rank)."""
        callback, step, rank = self.callback, self.callback.state.step, self.callback.ranks.rank
        torch.manual_seed(derive(callback.options.seed, "step", step, *((rank,) if rank else ())))
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] = learning_rate(step, callback.options)
        with balances(self.model) as collected:
            loss = callback.task.loss(self.model, batch)
        loss = with_balance(loss, collected)
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
    loggers: Sequence[Logger] = (),
) -> bool:
    """Train until the budget or the patience is spent or the user stops it; the last step is always in a checkpoint.

    With W processes, the gradient of step n is the mean of those of batches n·W to n·W + W − 1. Each is of the mean
    over its own batch's tokens, so batches weigh alike, as the steps of one process do.

    Args:
        task: of the run.
        model: trained in place.
        run: receives checkpoints and metrics.
        options: of the run.
        device: of the model.
        state: of the run; updated in place.
        checkpoint: of that state; None at the beginning.
        ranks: the processes that train together, all of which call this.
        loggers: Lightning's, for the same numbers as metrics.jsonl.

    Returns:
        Whether it went on to the end.
    """
    loggers = [*loggers, *_tensorboard(run, state)] if options.tensorboard else [*loggers]
    with Bar(options.max_steps, state.step, shown=ranks.leads) as bar, _surroundings(options):
        callback = RunCallback(task, model, run, options, state, ranks, bar)
        _fit(callback, device, checkpoint, loggers if ranks.leads else ())
    return not callback.interrupted


def _tensorboard(run: Run, state: TrainState) -> list[Logger]:
    """TensorBoard's log in the run's folder, without the steps that are taken again."""
    try:
        return [TensorBoardLogger(run.folder, name="", version="tensorboard", purge_step=state.step + 1)]
    except ImportError as error:
        raise SaccadeError(f"--tensorboard: expected the package tensorboard, got {error}") from error


def step_seconds(task: Task, model: nn.Module, options: Options, device: torch.device, seconds: float) -> float:
    """Return the median time of the first training steps, taken by a copy of the model.

    Batches and random numbers are functions of the step, so the timing has no effect on the run.

    Args:
        task: of the run.
        model: unchanged.
        options: of the run.
        device: of the training.
        seconds: that the timing may take, unless a few steps take longer.
    """
    with seeded(options.seed, "plan"), _surroundings(options):
        watch = _Stopwatch(task, copy.deepcopy(model).to(device), options, seconds)
        _fit(watch, device, None, ())
    return median(later - earlier for earlier, later in itertools.pairwise(watch.times))


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


def _fit(
    callback: RunCallback | _Stopwatch, device: torch.device, checkpoint: Checkpoint | None, loggers: Sequence[Logger]
) -> None:
    """Take steps until the callback stops them."""
    trainer = _trainer(callback, device, loggers)
    callback.model.train()
    loader = DataLoader(_Steps(callback.task, callback.state.step, callback.ranks), batch_size=None)
    try:
        trainer.fit(_Module(callback, checkpoint), loader)
    except SystemExit as stop:  # Lightning's form of a second Ctrl-C
        raise KeyboardInterrupt from stop


def _trainer(callback: RunCallback | _Stopwatch, device: torch.device, loggers: Sequence[Logger] = ()) -> pl.Trainer:
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
        logger=list(loggers),
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )


def _several(ranks: Ranks) -> dict[str, Any]:
    """Settings of the trainer for several processes that have met already.

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
