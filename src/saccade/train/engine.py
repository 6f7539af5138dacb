"""The Lightning side: one module that runs any task's steps, one callback that keeps the run's books.

Lightning moves batches, differentiates, clips and steps (and is told by its own flags to do so on many devices). What a
run is, when it is measured and how it is kept is here, because a resumed run must be the uninterrupted one.
"""

import itertools
import logging
import math
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from types import FrameType
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from saccade.errors import SaccadeError
from saccade.train.checkpoint import Checkpoint, prune, save
from saccade.train.optimization import learning_rate, make_optimizer, optimizer_tensors, restore_optimizer
from saccade.train.options import Options
from saccade.train.progress import Bar
from saccade.train.randomness import derive, reproducible
from saccade.train.results import Books, measure
from saccade.train.run import Run
from saccade.train.task import Task

__all__ = ["advance"]

_VALIDATION_EXAMPLES = 500  # measured along the way; the whole split is measured at the end
_LOOK_EVERY = 10  # steps between two looks at the loss: each waits for the device
_HARMLESS = (
    ".*does not have many workers.*",  # batches are made in the main process: a step is a function of its number
    ".*GPU available but not used.*",  # --device cpu means it
    ".*isinstance.treespec, LeafSpec.*deprecated.*",  # Lightning calling torch
)


class _Steps(IterableDataset[Any]):
    """The task's batches from a step on."""

    def __init__(self, task: Task, start: int) -> None:
        self.task, self.start = task, start

    def __iter__(self) -> Iterator[Any]:
        return map(self.task.batch, itertools.count(self.start))


class _Module(pl.LightningModule):
    """A task's model, as Lightning wants it."""

    def __init__(
        self, task: Task, model: nn.Module, options: Options, books: Books, optimizer_state: dict[str, Tensor]
    ) -> None:
        super().__init__()
        self.task, self.model, self.options, self.books = task, model, options, books
        self.optimizer_state = optimizer_state
        self.tokens = 0

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Make the optimizer, in the state that it was saved in."""
        optimizer = make_optimizer(self.model, self.options)
        if self.optimizer_state:
            restore_optimizer(optimizer, self.optimizer_state)
        return optimizer

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the loss of one step, with everything random in it drawn from (seed, step)."""
        step = self.books.step
        torch.manual_seed(derive(self.options.seed, "step", step))
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] = learning_rate(step, self.options)
        loss = self.task.loss(self.model, batch)
        self.tokens = loss.tokens
        return loss.total


class _Keeper(pl.Callback):
    """After every step: count, show, measure, save, and stop when the budget is spent or the user says so."""

    def __init__(self, module: _Module, run: Run, bar: Bar) -> None:
        self.module, self.run, self.bar = module, run, bar
        self.books, self.options = module.books, module.options
        self.saved = module.books.step
        self.stopped = False
        self.loss, self.measured = math.nan, ""
        self.mark = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock, and listen for Ctrl-C; Lightning puts the signals' handlers back when it is done."""
        self.mark = time.perf_counter()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self._stop)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Do what is due after a step."""
        books, options = self.books, self.options
        books.step += 1
        books.tokens += self.module.tokens
        validate, save_now = (books.step % every == 0 for every in (options.validation_steps, options.checkpoint_steps))
        write = validate or save_now or books.step % _LOOK_EVERY == 0
        if write or self.stopped or books.spent(options):  # before every checkpoint: none shall hold what is no number
            self._look(outputs["loss"])
        self._tick(training=True)
        speed = books.tokens / books.training_seconds
        self.bar.update(books.step, f"loss {self.loss:.4f}  {self.measured}  {speed:,.0f} tokens/s")
        metrics = self._validate() if validate else {}
        if write:
            rate, seconds = learning_rate(books.step - 1, options), round(books.seconds, 3)
            self.run.log(step=books.step, loss=self.loss, learning_rate=rate, seconds=seconds, **metrics)
        if save_now:
            self._save(trainer)
        trainer.should_stop = self.stopped or books.spent(options)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save the last step, wherever it fell."""
        if self.books.step != self.saved:
            self._save(trainer)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """The first Ctrl-C ends after this step, a second one at once."""
        self.stopped = True
        signal.signal(number, signal.default_int_handler)

    def _tick(self, *, training: bool) -> None:
        """Book the time since the last call."""
        now = time.perf_counter()
        self.books.seconds += now - self.mark
        self.books.training_seconds += (now - self.mark) * training
        self.mark = now

    def _look(self, loss: Tensor) -> None:
        self.loss = float(loss)
        if not math.isfinite(self.loss):
            way_out = "lower --learning-rate in a new run (the last checkpoint is kept)"
            raise SaccadeError(f"the loss is {self.loss} at step {self.books.step}; {way_out}")

    def _validate(self) -> dict[str, float]:
        """Measure on validation; returns what metrics.jsonl shall say of it."""
        task, step = self.module.task, self.books.step
        result = measure(task, self.module.model, "validation", self.options.seed, _VALIDATION_EXAMPLES)
        self.measured = f"{task.headline.replace('_', ' ')} {result.metrics[task.headline]:.4f}"
        self._tick(training=False)
        self.bar.note(f"step {step}: loss {self.loss:.4f}, {self.measured} on validation")
        return {f"validation_{name}": value for name, value in result.metrics.items()}

    def _save(self, trainer: pl.Trainer) -> None:
        self._tick(training=False)
        step, optimizer = self.books.step, optimizer_tensors(trainer.optimizers[0])
        scalars = {**asdict(self.books), "threads": torch.get_num_threads()}
        save(self.run.checkpoints, Checkpoint(step, self.module.model.state_dict(), optimizer, scalars))
        prune(self.run.checkpoints)
        self.saved = step
        self._tick(training=False)


def advance(
    task: Task,
    model: nn.Module,
    run: Run,
    options: Options,
    device: torch.device,
    books: Books,
    optimizer_state: dict[str, Tensor],
) -> bool:
    """Train until the budget is spent or the user stops it; the last step is always in a checkpoint.

    Args:
        task: what to train on.
        model: trained in place.
        run: where checkpoints and metrics go.
        options: of the run.
        device: where to compute.
        books: how far the run is; kept up to date in place.
        optimizer_state: of the checkpoint that `books` is of; empty at the beginning.

    Returns:
        Whether it went on to the end of the budget.
    """
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    with Bar(options.max_steps, books.step) as bar, warnings.catch_warnings(), reproducible():
        for message in _HARMLESS:
            warnings.filterwarnings("ignore", message)
        module = _Module(task, model, options, books, optimizer_state)
        keeper = _Keeper(module, run, bar)
        trainer = pl.Trainer(
            accelerator="gpu" if device.type == "cuda" else "cpu",
            devices=[device.index or 0] if device.type == "cuda" else 1,
            max_steps=-1 if options.max_steps is None else options.max_steps - books.step,
            max_epochs=-1,
            gradient_clip_val=options.clip,
            deterministic=True,
            callbacks=[keeper],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
        )
        model.train()
        loader = DataLoader(_Steps(task, books.step), batch_size=None)
        try:
            trainer.fit(module, loader)
        except SystemExit as stop:  # what Lightning makes of a second Ctrl-C
            raise KeyboardInterrupt from stop
    return not keeper.stopped or books.spent(options)
