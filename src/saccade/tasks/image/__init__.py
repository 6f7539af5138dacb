"""What reads images: files, folders and archives of them, the layouts of public data sets, and pictures drawn here.

`sources` gives labelled images and `pictures` images that texts are about, from rows of `saccade.data`. The parts that
all tasks on images share lie beside them (`task`, `options`, `sight`, `shown`).
"""
