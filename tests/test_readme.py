"""Every command of the README, as it stands there, beside a small corpus: only the budgets are smaller."""

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import saccade.runs as runs
from saccade.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```bash\n(.*?)^```", README, flags=re.M | re.S)
COMMANDS = [line.split("   #")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
JOBS = [command for command in COMMANDS if "saccade " in command]
SCRIPTS = [command for command in COMMANDS if command.startswith("python benchmarks/")]
LITTLE = " --max-steps 20 --validation-examples 4"
SMALLER = {
    " train translate": f"{LITTLE} --hidden-dim 16",
    " train classify-text": f"{LITTLE} --hidden-dim 16",
    " train transcribe": f"{LITTLE} --hidden-dim 16",
    " train classify-image": f"{LITTLE} --widths 4,8",
    " train glimpse": f"{LITTLE} --hidden-dim 16",
    " train caption": f"{LITTLE} --hidden-dim 16 --widths 4,8",
    " train answer": f"{LITTLE} --hidden-dim 16 --widths 4,8",
    " train memorize": f"{LITTLE} --hidden-dim 8",
    " train regress": LITTLE,
    " report ": " --max-steps 2",
    " bench ": " --rows 'dot forward 2x4x16x16' --seconds 0.01",
    "--calls 10000": "--calls 40",
}
GERMAN, ENGLISH = ["eins", "zwei", "drei", "vier", "fünf", "sechs"], ["one", "two", "three", "four", "five", "six"]


def chain(command):
    """What commands have in common that build on one another: the run's folder, or else the verb."""
    found = re.search(r"runs/[\w-]+", command) or re.search(r"saccade \w+", command)
    return found[0]


CHAINS = {name: [command for command in JOBS if chain(command) == name] for name in dict.fromkeys(map(chain, JOBS))}


def corpus(folder):
    """Numbers of three digits, in words: a folder of aligned files, and the same as one file of pairs."""
    triples = list(itertools.product(range(6), repeat=3))
    (folder / "corpus").mkdir()
    for split, part in (("train", triples[:180]), ("val", triples[180:200]), ("test", triples[200:])):
        for side, names in (("de", GERMAN), ("en", ENGLISH)):
            text = "".join(" ".join(names[n] for n in triple) + "\n" for triple in part)
            (folder / "corpus" / f"{split}.{side}").write_text(text, encoding="utf-8")
    pairs = (f"{' '.join(GERMAN[n] for n in t)}\t{' '.join(ENGLISH[n] for n in t)}\n" for t in triples)
    (folder / "pairs.tsv").write_text("".join(pairs), encoding="utf-8")


def run(command, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    search = f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": search, "PYTHONWARNINGS": "default"}
    # the installed program, or the same as a module where the package is only on the path
    verbs = "train|eval|predict|look|data|list|report|bench"
    command = re.sub(rf"\bsaccade (?={verbs})", f"{sys.executable} -m saccade ", command)
    shell = ["bash", "-o", "pipefail", "-c", command]
    return subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def test_every_command_is_known():
    others = [command for command in COMMANDS if command not in JOBS + SCRIPTS]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
    for command in others:
        made = command.startswith("make ") and command.split()[1] in targets
        packages = (".", "'.[train]'", "'.[train,arrow]'")
        known = ("source .venv/bin/activate", *(f"pip install -e {package}" for package in packages))
        assert made or command in known, command
    assert len(JOBS) >= 6
    assert len(SCRIPTS) == 1


@pytest.mark.slow
@pytest.mark.parametrize("commands", CHAINS.values(), ids=CHAINS)
def test_jobs_run_one_after_the_other(commands, tmp_path, monkeypatch, capsys):
    """The commands that speak of one run, in their order; those with a pipe in a shell of their own."""
    corpus(tmp_path)
    (tmp_path / "docs").mkdir()
    for name in ("tones.wav", "shapes.png", "digit.png", "scene.png", "questions.txt"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    for size in ("caption.data.scenes.HELD_OUT", "answer.data.scenes.HELD_OUT", "image.dataset._SEEN"):
        monkeypatch.setattr(f"saccade.tasks.{size}", 40)
    for command in commands:
        small = command + "".join(less for verb, less in SMALLER.items() if verb in command)
        if "|" in command:
            done = run(small, tmp_path)
            code, out = done.returncode, done.stdout
        else:
            code, out = main(shlex.split(small)[1:]), capsys.readouterr().out
        assert code == 0 and out.strip(), command
        if " look " in command:
            assert list(tmp_path.rglob("*.png")), command


@pytest.mark.slow
def test_what_python_does_runs(tmp_path, monkeypatch):
    """The block of Python as it stands there, with fewer steps of a smaller model."""
    monkeypatch.chdir(tmp_path)
    [block] = re.findall(r"^```python\n(import .*?)^```", README, flags=re.M | re.S)
    names, train = {}, runs.train
    small = {"max_steps": 4, "hidden_dim": 16, "embedding_dim": 8, "validation_examples": 4, "threads": 1}
    monkeypatch.setattr(runs, "train", lambda task, **more: train(task, **{**more, **small}))
    exec(compile(block, "README.md", "exec"), names)
    assert names["run"].results["steps"] == 4
    assert (tmp_path / "runs/pairs-of-mine/results.json").exists() and list((tmp_path / "pictures").glob("*.png"))


@pytest.mark.slow
@pytest.mark.parametrize("command", SCRIPTS)
def test_scripts_run(command, tmp_path):
    short = command.replace("--calls 10000", SMALLER["--calls 10000"])
    done = run(short.replace("benchmarks/", f"{ROOT}/benchmarks/"), tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert len(done.stdout.splitlines()) >= 1
