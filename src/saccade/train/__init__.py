"""The shared part of all tasks: Task protocol, run folders, checkpoints, trainer.

No module depends on a particular task. Only `engine` and `callback` import lightning.
"""
