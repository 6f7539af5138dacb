"""What reads images: files, folders and archives of them, the layouts of public data sets, and pictures drawn here.

Knows no job: every reader gives examples in three splits (`saccade.tasks.image.dataset`).
"""
