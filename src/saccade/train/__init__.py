"""The shared part of all tasks: Task protocol, run folders, checkpoints, trainer.

Nothing here knows a task, and nothing but `engine` and `callback` imports lightning.
"""
