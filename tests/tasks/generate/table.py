"""A model that can be enumerated, for the tests of all that decodes."""

import torch

BEGIN, END, WORDS = 0, 1, 5


class Table:
    """A model whose next token depends on the last two and on the example: everything about it can be enumerated."""

    def __init__(self, examples, seed):
        numbers = torch.Generator().manual_seed(seed)
        self.logits = torch.randn(examples, WORDS, WORDS, WORDS, generator=numbers, dtype=torch.double) * 2

    def start(self, rows):
        return Memory(rows, torch.full_like(rows, BEGIN))

    def step(self, token, state):
        return self.logits[state.example, state.before, token], Memory(state.example, token)

    def score(self, example, tokens, ended=True):
        total, before, last = 0.0, BEGIN, BEGIN
        for token in [*tokens, END] if ended else tokens:
            total += float(self.logits[example, before, last].log_softmax(-1)[token])
            before, last = last, token
        return total


class Memory:
    def __init__(self, example, before):
        self.example, self.before = example, before

    def select(self, rows, examples):
        chosen = rows.flatten()
        return Memory(self.example[chosen], self.before[chosen])
