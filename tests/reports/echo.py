"""A task that translates everything into the same, for tests of what is made of translations."""

from types import SimpleNamespace


class Characters:
    """A tokenizer of nothing but lengths."""

    def encode_batch(self, texts):
        return [[4] * len(text) for text in texts]


class Echo:
    """Answers every source with one text."""

    most = 100
    vocabulary = SimpleNamespace(source=Characters())

    def __init__(self, text, data, target=None):
        self.text, self.settings = text, SimpleNamespace(data=data, target=target)
        self.headline = "exact_match" if data == "dates" else "bleu"

    def answer(self, model, inputs, request):
        assert request is None  # as the run itself answers
        return [SimpleNamespace(outputs=[SimpleNamespace(text=self.text)]) for _ in inputs]
