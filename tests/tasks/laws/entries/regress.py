"""The laws' entry of `regress`."""

from collections.abc import Sequence

from saccade.tasks.regress.data import builtin
from tasks.laws.entry import HELD_OUT, LEARNED_FROM, Entry, repeated


def explained(predictions: Sequence[str], targets: Sequence[str]) -> float:
    """Return the share of the squared deviations of single numbers that predictions account for."""
    values, true = ([float(text) for text in part] for part in (predictions, targets))
    mean = sum(true) / len(true)
    missed = sum((value - other) ** 2 for value, other in zip(values, true, strict=True))
    return 1 - missed / sum((other - mean) ** 2 for other in true)


ENTRY = Entry(
    options={"batch_size": 6},
    models={
        "nadaraya-watson": {"metric": "diagonal"},
        "learned-kernel": {"hidden_dim": 6, "key_dim": 4},
        "set-transformer": {"hidden_dim": 8, "heads": 2, "layers": 1},
        "mlp": {"hidden_dim": 6, "layers": 1},
        "mean": {},
    },
    row=lambda example: (example.numbers, example.answers),
    columns=("x", "y"),
    by_hand=explained,
    small=((builtin, "HELD_OUT", HELD_OUT), (builtin, "TRAINED_ON", LEARNED_FROM)),
    group=lambda data, split, index: data.example(split, index).group,
    file="columns.json",
    formal=True,
    content="numbers",
    pad=None,
    baselines=("mean", "linear", "boosting"),
    unbounded=("mae", "mse", "r2"),
    asked=({"coverage": 0.5},),
    omitted=(("weights",),),
    joined={"weights": repeated},
)
