"""The most frequent text, as a model has to beat it."""

from saccade.tasks.generate.baselines import most_frequent


def test_the_most_frequent_text_wins_ties_by_alphabet():
    asked = []

    def measure(text):
        asked.append(text)
        return {"length": float(len(text))}

    found = most_frequent(["b  c", "a", "b c ", "d"], measure)
    assert asked == ["b c"] and found.metrics == {"length": 3.0} and found.about == "always 'b c'"
    assert most_frequent(["b", "a"], measure).about == "always 'a'"
