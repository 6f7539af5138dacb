import torch

from reports.conftest import run_of
from saccade.reports.memory.report import VARIANTS

SEQUENCES, WIDTH = 100, 8
LENGTHS = (20, 40, 80, 120)
NOTHING = (0.0, 0.0, 0.0, 0.0)
FAILS = (0.02, 0.3, 0.4, 0.45)


def group_of(share, length, numbers):
    """A group of sequences, each bit of which is wrong with some probability."""
    bits = WIDTH * length
    wrong = [int((torch.rand(bits, generator=numbers) < share).sum()) for _ in range(SEQUENCES)]
    asked = bits * SEQUENCES
    about = {"sequences": SEQUENCES, "asked": asked, "bit_error": sum(wrong) / asked, "bits": 2.0 * share * bits}
    return {**about, "wrong": " ".join(map(str, wrong))}


def made_up(ntm, lstm, seeds=3, **others):
    """A report of models that have shares of the bits wrong, by length; a row a seed."""
    shares = {one.name: FAILS for one in VARIANTS} | {"ntm": ntm, "lstm": lstm} | others
    rows, runs = [], {}
    for place, (name, by_length) in enumerate(shares.items()):
        for seed in range(1, seeds + 1):
            numbers = torch.Generator().manual_seed(seed + 100 * place)
            lengths = {"1-20": group_of(by_length[0], 10, numbers)}
            lengths |= {str(n): group_of(share, n, numbers) for n, share in zip(LENGTHS, by_length, strict=True)}
            rows.append({"model": name, "seed": seed, "measured": "lengths", "lengths": lengths})
            runs[f"{name}-{seed}"] = run_of(name, seed)
    return {"rows": rows, "runs": runs, "data": "copy", "arguments": {"seeds": seeds}, "command": "c"}


def holds(**changed):
    """A report whose claim holds."""
    return made_up(NOTHING, FAILS, **changed)
