"""Count the lines that stand alike in the folders of two tasks: runs of six or more equal lines.

    python tools/alike.py            # the share of src/saccade/tasks, and where the runs are

Lines are compared without the white space around them; blank lines count for nothing.
"""

import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path

TASKS = Path(__file__).resolve().parents[1] / "src" / "saccade" / "tasks"
SHARED = {"audio", "generate", "image", "labels", "text"}  # folders that are of no task alone
LEAST = 6  # lines of a run


def lines(path: Path) -> list[tuple[int, str]]:
    """The lines of a file that are not blank, with their numbers."""
    read = path.read_text(encoding="utf-8").splitlines()
    return [(number, line.strip()) for number, line in enumerate(read, 1) if line.strip()]


def runs(one: list[tuple[int, str]], other: list[tuple[int, str]]) -> list[tuple[int, int, int]]:
    """Where runs of equal lines begin in two files, each as long as it can be, and how many lines they have."""
    places = defaultdict(list)
    for place, (_, line) in enumerate(other):
        places[line].append(place)
    found, seen = [], set()
    for first, (_, line) in enumerate(one):
        for second in places[line]:
            if (first, second) in seen:
                continue
            length = 0
            while first + length < len(one) and second + length < len(other):
                if one[first + length][1] != other[second + length][1]:
                    break
                seen.add((first + length, second + length))
                length += 1
            if length >= LEAST:
                found.append((first, second, length))
    return found


def main() -> int:
    """Print each run and the share of lines that are in one."""
    files = {path: lines(path) for path in sorted(TASKS.rglob("*.py"))}
    task = {path: path.relative_to(TASKS).parts[0] for path in files if len(path.relative_to(TASKS).parts) > 1}
    alike: set[tuple[Path, int]] = set()
    for one, other in combinations([path for path in task if task[path] not in SHARED], 2):
        if task[one] == task[other]:
            continue
        for first, second, length in runs(files[one], files[other]):
            alike |= {(path, start + step) for path, start in ((one, first), (other, second)) for step in range(length)}
            begins = [f"{path.relative_to(TASKS)}:{files[path][at][0]}" for path, at in ((one, first), (other, second))]
            print(f"{length:3} lines  {begins[0]}  {begins[1]}")
    whole = sum(map(len, files.values()))
    print(f"{len(alike)} of {whole} lines of tasks/ ({len(alike) / whole:.1%}) stand alike in two tasks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
