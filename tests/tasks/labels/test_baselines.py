from saccade.tasks.labels.baselines import majority, timed, usual


def test_the_majority_is_that_of_training_whatever_is_asked():
    found = majority([2, 0, 2, 1, 2, 1], [0, 1, 2, 2, 0], ["a", "b", "c"])
    assert found.metrics["accuracy"] == 0.4 and found.about == "always c"
    assert list(found.metrics) == ["accuracy", "macro_f1"]


def test_of_classes_that_as_many_have_the_lowest_counts():
    assert majority([1, 0, 1, 0], [0], ["a", "b"]).about == "always a"


def test_any_way_of_answering_is_measured_and_timed():
    found = timed(lambda: [0, 1], [0, 0], ["a", "b"], "a guess")
    assert (found.metrics["accuracy"], found.about) == (0.5, "a guess") and found.seconds >= 0


def test_a_new_question_gets_the_most_frequent_answer():
    train = [("Is it?", ["yes"])] * 3 + [("how many?", ["2"])] * 2
    baselines = usual(train, ["is it ?", "how many?", "why?"], lambda answers: {"score": "".join(answers)})
    assert baselines["majority"].metrics == {"score": "yesyesyes"}
    assert baselines["question"].metrics == {"score": "yes2yes"}


def test_questions_may_be_words_with_tags():
    train = [("May", ["NAME"]), ("left", ["O"]), (".", ["O"])]
    found = usual(train, ["May", "."], lambda tags: {"score": " ".join(tags)}, "word", "the usual tag")
    assert (found["word"].metrics, found["word"].about) == ({"score": "NAME O"}, "the usual tag")
    assert found["majority"].metrics == {"score": "O O"}
