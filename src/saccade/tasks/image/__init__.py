"""What reads images: files, folders and archives of them, the layouts of public data sets, and pictures drawn here.

`sources` gives labelled images and `pictures` images that texts are about, each from the rows of `saccade.data`. What all tasks that speak
of images share lies beside them (`task`, `options`, `sight`, `shown`).
"""
