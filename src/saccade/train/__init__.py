"""What every task shares: the Task protocol, run folders, checkpoints, and the trainer.

Nothing here knows a task, and nothing but `engine` and `callback` imports lightning.
"""

from saccade.train.options import Options
from saccade.train.run import Run, RunError
from saccade.train.task import Evaluation, Loss, Task

__all__ = ["Evaluation", "Loss", "Options", "Run", "RunError", "Task"]
