"""Equal lines in the folders of two tasks, in runs of six or more.

    python tools/alike.py            # the share of src/saccade/tasks, and where the runs are

Lines are compared without the white space around them; blank lines count for nothing.
"""

import sys
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path

TASKS = Path(__file__).resolve().parents[1] / "src" / "saccade" / "tasks"
SHARED = {"audio", "generate", "image", "labels", "text"}  # folders that are of no task alone
LEAST = 6  # lines of a run


def lines(path: Path) -> list[tuple[int, str]]:
    """Numbers and texts of the lines of a file, without blank lines."""
    texts = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return [(number, text.strip()) for number, text in texts if text.strip()]


def main() -> int:
    """Print each run, and the share of lines in runs."""
    files = {path: lines(path) for path in sorted(TASKS.rglob("*.py"))}
    task = {path: path.relative_to(TASKS).parts[0] for path in files}
    paths = [path for path in files if path.parent != TASKS and task[path] not in SHARED]
    alike: set[tuple[Path, int]] = set()
    for pair in combinations(paths, 2):
        if task[pair[0]] == task[pair[1]]:
            continue
        first, second = ([text for _, text in files[path]] for path in pair)
        for run in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks():
            if run.size >= LEAST:
                starts = list(zip(pair, (run.a, run.b), strict=True))
                alike |= {(path, start + step) for path, start in starts for step in range(run.size)}
                begins = [f"{path.relative_to(TASKS)}:{files[path][start][0]}" for path, start in starts]
                print(f"{run.size:3} lines  {'  '.join(begins)}")
    total = sum(map(len, files.values()))
    print(f"{len(alike)} of {total} lines of tasks/ ({len(alike) / total:.1%}) stand alike in two tasks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
