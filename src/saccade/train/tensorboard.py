"""TensorBoard's log of a run, for those who ask for it."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from saccade.errors import SaccadeError

__all__ = ["TensorBoard"]


class TensorBoard:
    """Writes scalars into a folder that `tensorboard --logdir` reads; none where there is no folder.

    Args:
        folder: where the events go.
        step: how many steps the run has taken: what was logged after it by a run that was killed is taken back.

    Raises:
        SaccadeError: if the package tensorboard is not there.
    """

    def __init__(self, folder: Path | None, step: int) -> None:
        self._writer = None
        if folder is not None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise SaccadeError(f"--tensorboard: expected the package tensorboard, got {error}") from error
            self._writer = SummaryWriter(str(folder), purge_step=step + 1)

    def __enter__(self) -> "TensorBoard":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        """Log scalars by name at a step."""
        if self._writer is not None:
            for name, number in scalars.items():
                self._writer.add_scalar(name, number, step)
            self._writer.flush()  # a kill loses nothing that was shown
