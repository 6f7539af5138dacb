"""The callback of a run: after each step it counts, reports, validates and saves.

It stops the run at its end.
"""

import math
import signal
import threading
import time
from dataclasses import asdict
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from saccade.errors import SaccadeError
from saccade.train.averaging import needed
from saccade.train.balance import expert_shares
from saccade.train.checkpoint import Checkpoint, list_steps, prune, save, save_best
from saccade.train.optimization import flat_from, learning_rate, optimizer_tensors
from saccade.train.options import origin
from saccade.train.pace import FOR_FINAL, Mark, Watch, progress
from saccade.train.progress import Bar, clock
from saccade.train.randomness import python_and_numpy
from saccade.train.results import Training, final_seconds, measure, sample, sizes, undisturbed, validation_loss
from saccade.train.task import value, values
from saccade.train.weights import not_finite, tensors

with python_and_numpy():  # Lightning imports rich, which draws from Python's generator as it is imported
    import lightning.pytorch as pl

_LOWER = "lower --learning-rate in a new run (the last checkpoint is kept)"
_LOOK_EVERY = 10  # steps between two reads of the loss: each waits for the device


class RunCallback(pl.Callback):
    """Keeps the state of one process; only the first measures, writes and reports."""

    def __init__(self, training: Training, bar: Bar) -> None:
        self.task, self.model, self.run, self.ranks = training.task, training.model, training.run, training.ranks
        self.options, self.state, self.bar = training.options, training.state, bar
        self.saved = self.began = self.state.step
        self.signalled = self.interrupted = False
        self.loss, self.measured = math.nan, ""
        self.mark, self.before = 0.0, self.state.seconds
        self.start, self.watch = training.began, _watch(training) if training.ticks and self.ranks.leads else None
        self.closing = 0.0 if self.watch is None else training.closing
        self.expected: tuple[float, float] | None = None  # seconds by the last validation, for the watch
        self.noted_final = False

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock, and handle Ctrl-C and similar signals.

        Lightning restores the handlers at the end. A model with a part that was fitted before is validated.
        """
        self.mark = time.perf_counter()
        if self.start is not None:
            self.state.seconds = self.before = self.mark - self.start
        if self.watch is not None:
            self.watch.seconds, self.state.reserve = self.state.seconds, self.watch.reserve
        if threading.current_thread() is threading.main_thread():
            hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
            for number in filter(None, (signal.SIGINT, signal.SIGTERM, hang_up)):
                if number != hang_up or signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
                    signal.signal(number, self._stop)
        if self.state.step == 0 and self.ranks.leads and getattr(self.model, "is_fitted", False):
            metrics, _ = self._validate()
            self.run.log(step=0, seconds=round(self.state.seconds, 3), **metrics)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count a step, and measure, show and save if it is time."""
        state, options = self.state, self.options
        state.step += 1
        validate, save_now = (state.is_due(name, options) for name in ("validation_steps", "checkpoint_steps"))
        write = validate or save_now or state.step % _LOOK_EVERY == 0
        if write:
            self._look(outputs["loss"])
        self._tick(training=True)
        at_last = options.max_steps is None and state.step == options.schedule_steps and "warmup" not in state.clock
        if self.ranks.leads and at_last and (note := flat_from(options)):
            self.bar.note(note)  # not before: a clock ends the run, perhaps earlier
        metrics, shares = self._validate() if validate and self.ranks.leads else ({}, {})
        stop, mark = self._agree(outputs["count"], self._pace())
        if (stop or mark) and not write:  # before every checkpoint: all are finite
            self._look(outputs["loss"])
        if self.ranks.leads:
            self._show(trainer, write or mark is not None, {**metrics, **_logged(mark)}, shares)
            if save_now:
                self._save(trainer)
        trainer.should_stop = stop

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save the last step, wherever it fell."""
        if self.ranks.leads and self.state.step != self.saved:
            self._save(trainer)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """The first Ctrl-C ends after this step, a second one at once."""
        self.signalled = True
        signal.signal(number, signal.default_int_handler)

    def _agree(self, count: int, pace: float) -> tuple[bool, Mark | None]:
        """Count the units of all processes, and decide for all of them whether to stop.

        The first process looks at the clock. Its pace becomes a mark of all of them, if it is not 0.
        """
        ended = self.ranks.leads and self.state.ended(self.options)  # one clock decides
        units, signals, ends, pace = self.ranks.sums(count, self.signalled, ended, pace)
        self.state.tokens += int(units)
        self.interrupted = signals > 0 and not ends
        mark = Mark(self.state.step, progress(self.state.marks, self.state.step), pace) if pace else None
        if mark is not None:
            self.state.marks.append(mark)
        return signals > 0 or ends > 0, mark

    def _pace(self) -> float:
        """Return the pace of a new mark, 0 if there is none.

        A mark is made at a validation, and whenever the watch says so. If the steps of a recipe are the end of a run,
        the first one is made once they do not fit any more.
        """
        watch, state, options = self.watch, self.state, self.options
        if watch is None:
            return 0.0
        share, expected = progress(state.marks, state.step), self.expected
        if expected is None and not watch.is_due(share, state.seconds):
            return 0.0
        watch.look(state.step, share, state.seconds, state.training_seconds)
        if expected is not None:
            watch.validated(*expected)
            self.expected = None
        state.reserve, state.step_seconds = watch.reserve, watch.per_step
        left = watch.steps_left()
        if options.max_steps is not None:
            if len(state.marks) == 1 and left >= options.max_steps - state.step:
                return 0.0
            if len(state.marks) == 1:
                self.bar.note(f"step {state.step}: slower than planned, so the schedule now ends with the minutes")
            left = max(1, min(left, options.max_steps - state.step))
        return max(0.0, 1 - share) / left

    def _tick(self, *, training: bool) -> None:
        """Book the time since the last call."""
        now = time.perf_counter()
        self.state.seconds += now - self.mark
        self.state.training_seconds += (now - self.mark) * training
        self.mark = now

    def _look(self, loss: Tensor) -> None:
        """Check that the loss, the mean over the processes, is finite."""
        first = math.isnan(self.loss)
        self.loss = self.ranks.sums(float(loss))[0] / self.ranks.world
        if not math.isfinite(self.loss):
            raise SaccadeError(f"the loss is {self.loss} at step {self.state.step}; {_LOWER}")
        if first and self.ranks.leads:  # not before: a run that fails at once reports nothing else
            self.bar.note(f"{'going on' if self.began else 'training'} in {self.run.folder} at step {self.began}")
            is_last = self.options.max_steps is not None or self.began >= (self.options.schedule_steps or 0)
            if is_last and "warmup" not in self.state.clock and (note := flat_from(self.options)):
                self.bar.note(note)

    def _show(
        self, trainer: pl.Trainer, write: bool, metrics: dict[str, float], shares: dict[str, dict[str, float]]
    ) -> None:
        state = self.state
        loss = "" if math.isnan(self.loss) else f"loss {self.loss:.4f}"
        speed = f"{state.tokens / state.training_seconds:,.0f} {self.task.unit}/s"
        self._update(loss, self.measured, speed)
        if write:
            rate = learning_rate(state.step - 1, self.options, *state.paced)
            measured = {"loss": self.loss, "learning_rate": rate}
            seconds = round(state.seconds, 3)
            self.run.log(step=state.step, **measured, seconds=seconds, **metrics, **shares)
            state.logged = {"step": state.step, "loss": self.loss, "seconds": seconds}
            for logger in trainer.loggers:
                logger.log_metrics({**measured, **metrics}, step=state.step)
                logger.save()  # a kill loses nothing that was shown

    def _update(self, *words: str) -> None:
        """Show the state of the run, and the time left at the pace of this process."""
        state = self.state
        pace = (state.seconds - self.before) / max(1, state.step - self.began)
        left = state.seconds_left(self.options, pace)
        text = "  ".join(filter(None, [*words, f"{clock(left)} left"]))
        self.bar.update(state.step, text, state.seconds / (state.seconds + left) if state.seconds else 0.0)

    def _validate(self) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        """Measure on validation and keep the best weights.

        Returns the metrics and the shares of experts.
        """
        task, state, options = self.task, self.state, self.options
        self._update("measuring on validation")
        began = time.perf_counter()
        result = measure(task, self.model, "validation", options.seed, options.validation_examples)
        example_seconds = (time.perf_counter() - began) / max(1, result.examples)
        loss = validation_loss(task, self.model, options.seed, options.validation_examples)
        headline, name = value(result.metrics[task.headline]), task.headline.replace("_", " ")
        self.measured = f"{name} {headline:.4f}"
        beside = "" if loss is None else f" and loss {loss:.4f}"
        trained = f"loss {self.loss:.4f}, " if state.step else ""
        self.bar.note(f"step {state.step}: {trained}{self.measured}{beside} on validation")
        with undisturbed(self.model, options.seed, "sample"):
            self.bar.note(f"  {sample(task, self.model, options.seed, state.step)}")
        if state.judge(headline, loss, result.examples):
            save_best(self.run.checkpoints, self._weights(), state.step, origin(self.run.config, options))
        if state.stops_early(options):
            was = f"{name} {state.best:.4f} at step {state.best_step} was the best"
            self.bar.note(f"stopping early at step {state.step}: {state.stale} validations without a better one; {was}")
        self._tick(training=False)
        self._expect(final_seconds(example_seconds, sizes(task, options), options), time.perf_counter() - began)
        numbers = {f"validation_{name}": number for name, number in values(result.metrics).items()}
        return {**numbers, **({} if loss is None else {"validation_loss": loss})}, expert_shares(result)

    def _expect(self, final: float, validation: float) -> None:
        """Keep the times of the final evaluation and of a validation for the budget."""
        if self.watch is None:
            limit = math.inf if self.options.max_minutes is None else 60 * FOR_FINAL * self.options.max_minutes
            self.state.reserve = min(final, limit)
            return
        if final > FOR_FINAL * self.watch.budget and not self.noted_final:
            self.noted_final = True
            of, all_of_it = f"{self.options.max_minutes:g} minutes", "the whole of validation and test is measured"
            self.bar.note(f"the last evaluation takes about {clock(final)}, more than half of {of}: {all_of_it}")
        self.expected = (final + self.closing, validation)

    def _weights(self) -> dict[str, Tensor]:
        """Return all weights. Raises SaccadeError if one is not finite.

        The loss is computed before the step, so it misses a NaN from this step.
        """
        if name := not_finite(weights := tensors(self.model)):
            raise SaccadeError(f"the weights {name} are not finite after step {self.state.step}; {_LOWER}")
        return weights

    def _save(self, trainer: pl.Trainer) -> None:
        self._tick(training=False)
        step, optimizer = self.state.step, optimizer_tensors(trainer.optimizers[0])
        scaler = trainer.precision_plugin.state_dict()  # of the loss, in half precision: numbers alone
        scalars = {**asdict(self.state), "threads": torch.get_num_threads(), "scaler": scaler}
        scalars["origin"] = origin(self.run.config, self.options)
        folder = self.run.checkpoints
        save(folder, Checkpoint(step, self._weights(), optimizer, scalars))
        prune(folder, needed(list_steps(folder), self.state, self.options))
        self.saved = step
        self._tick(training=False)


def _watch(training: Training) -> Watch:
    """Return the watch of a planned run, as it begins or goes on."""
    state, options, expected = training.state, training.options, training.run.config["plan"]["seconds"]
    assert options.max_minutes is not None
    per_step = state.step_seconds or expected["step"]
    slowdown = per_step / expected["step"] if expected["step"] else 1.0
    return Watch(
        60 * options.max_minutes,
        measured_final=state.reserve - per_step / 2 if state.step_seconds else state.reserve + training.closing,
        measured_validation=expected["validation"] * slowdown,
        per_step=per_step,
        usual=per_step,
        step=state.step,
        share=progress(state.marks, state.step),
        seconds=state.seconds,
        training=state.training_seconds,
        looked=state.step_seconds > 0,
    )


def _logged(mark: Mark | None) -> dict[str, float]:
    """A mark in metrics.jsonl, beside its step."""
    return {} if mark is None else {"progress": mark.share, "pace": mark.pace}
