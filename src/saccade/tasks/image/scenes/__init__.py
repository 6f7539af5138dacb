"""Built-in scenes: coloured shapes on a dark ground, with sentences and questions.

`scene` draws scenes, `grammar` writes and parses sentences about them, and `questions` draws questions about them. All
data follow from the numbers of a random generator. Each thing has a box, with which attention over the image is judged.
"""
