"""Answers that are classes: which there are, and how probable each should be; what models make of them: test_answers.py
of all tasks.
"""

from saccade.tasks.labels.answers import ClassAnswers


def test_shares_stand_in_the_columns_of_their_answers():
    answers = ClassAnswers(("2", "no", "yes"))
    assert answers.numbers == {"2": 0, "no": 1, "yes": 2} and answers.knows("no") and not answers.knows("maybe")
    assert answers.wanted([{"yes": 0.25, "no": 0.75}, {}]).tolist() == [[0, 0.75, 0.25], [0, 0, 0]]
    assert answers.told == "the run's 3"
