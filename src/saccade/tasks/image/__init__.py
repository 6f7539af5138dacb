"""What reads images: files, folders and archives of them, the layouts of public data sets, and pictures drawn here.

Every reader gives examples in three splits (`saccade.tasks.image.dataset`) and knows no job. What all tasks that speak
of images share lies beside them (`task`, `options`, `sight`, `shown`).
"""
