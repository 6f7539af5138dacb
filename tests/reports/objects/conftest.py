import torch

from reports.conftest import run_of
from saccade.reports.difference import packed, packed_counts
from saccade.reports.objects.findings import ATTENTION, FIXED

IMAGES = 120  # of each number of things


def made_up(shares, seeds=3):
    """A report of models that name each thing with some probability, by the number of things; a row a seed."""
    rows, runs = [], {}
    things = [1 + place % 4 for place in range(4 * IMAGES)]
    for place, (name, share) in enumerate(zip((ATTENTION, *FIXED), shares, strict=True)):
        for seed in range(1, seeds + 1):
            numbers = torch.Generator().manual_seed(seed + 100 * place)
            named = [int((torch.rand(count, generator=numbers) < share(count)).sum()) for count in things]
            right = [one == count for one, count in zip(named, things, strict=True)]
            about = {"images": len(things), "exact_match": sum(right) / len(right), "things": packed_counts(things)}
            about |= {"named": packed_counts(named), "right": packed(right)}
            rows.append({"model": name, "seed": seed, "measured": "captions", **about})
            runs[f"{name}-{seed}"] = run_of(name, seed)
    return {"rows": rows, "runs": runs, "data": "scenes", "arguments": {"seeds": seeds}, "command": "c"}


def holds(**changed):
    """A report whose claim holds."""
    return made_up([lambda count: 0.95, lambda count: 1 - 0.15 * count, lambda count: 1 - 0.1 * count], **changed)
