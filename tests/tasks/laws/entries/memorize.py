"""The laws' entry of `memorize`."""

from statistics import fmean

from saccade.tasks.memorize import problem, problems, task
from tasks.laws.checks import is_near
from tasks.laws.entry import HELD_OUT, LEARNED_FROM, Entry, longer


def right_bits(prediction: str, label: str) -> float:
    """Return the share of bits that are right."""
    pairs = list(zip(prediction.replace(" ", ""), label.replace(" ", ""), strict=False))
    return sum(bit == other for bit, other in pairs) / len(pairs)


ENTRY = Entry(
    options={"batch_size": 4},
    models={
        "ntm": {"hidden_dim": 6, "cells": 5, "cell_dim": 4},
        "dnc": {"hidden_dim": 6, "cells": 4, "cell_dim": 3, "read_heads": 2},
        "lstm": {"hidden_dim": 6},
        "past-attention": {"hidden_dim": 6, "attention_dim": 4},
        "transformer": {"hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 12},
    },
    row=lambda item: (item.text, item.answer),
    columns=("input", "output"),
    by_hand=lambda predictions, labels: fmean(map(right_bits, predictions, labels)),
    small=((problem, "HELD_OUT", HELD_OUT), (task, "_ENDLESS", LEARNED_FROM), (problems.Copy, "usual", 3)),
    group=lambda data, split, index: data.example(split, index).group,
    blank=" ",
    formal=True,
    content="inputs",
    pad=lambda batch: type(batch)(*map(longer, batch)),
    baselines=("constant",),
    unbounded=("bits",),
    asked=({"nbest": 2, "cells": 7},),
    joined={  # each member's own, named by its number
        "memory": lambda both, alone: is_near(
            both, {f"{number}: {name}": rows for number in (1, 2) for name, rows in alone.items()}
        )
    },
)
