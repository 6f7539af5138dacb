"""Data of images: files, folders, archives, public data sets and generated images.

`sources` makes labelled images and `pictures` makes images with texts, both from rows of `saccade.data`. The other
modules are shared by all tasks on images, for example `options`, `sight` and `shown`.
"""
