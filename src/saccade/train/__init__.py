"""What every task shares: the Task protocol, run folders, checkpoints, and the trainer.

Nothing here knows a task, and nothing but `engine` and `callback` imports lightning.
"""
