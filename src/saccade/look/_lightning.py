"""Callback of Lightning for a `Monitor`.

Only `Monitor.callback` imports this file, since it imports Lightning.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer


class MonitorCallback(Callback):
    """Opens the monitor's block before a training batch, and closes it behind."""

    def __init__(self, step: Callable[..., AbstractContextManager[None]]) -> None:
        self._monitored, self._block = step, ExitStack()

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Open the block of a batch."""
        self._block.enter_context(self._monitored(pl_module, trainer.global_step, trainer.loggers))

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Close it, with the reading if one was due."""
        self._block.close()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Close it without a reading."""
        self._block.__exit__(type(exception), exception, exception.__traceback__)
