"""The built-in scenes: coloured shapes on a dark ground, what can be said of them, and what can be asked.

`scene` draws them, `grammar` writes and reads sentences about them, `questions` asks. Everything is made of the numbers
of a generator, and the box of every thing is known, so that where a model looked can be judged.
"""
