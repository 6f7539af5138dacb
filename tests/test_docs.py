"""Every example in the documentation runs, every page is reachable, and no page fetches anything from elsewhere."""

import doctest
import io
import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from saccade.cli import main
from saccade.tasks import TASKS, load_task
from saccade.tasks.classify_text import ClassifyText
from saccade.tasks.regress import Regress
from saccade.tasks.translate import Translate
from tiny import SMALL

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
TEXTS = [path for path in (ROOT / "README.md", *PAGES) if path.exists()]
EXAMPLES = [path for path in TEXTS if ">>> " in path.read_text(encoding="utf-8")]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.REPORT_NDIFF


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(page):
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert tried and not failed


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_python_is_written_as_examples_that_run(page):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert all(block.startswith(">>> ") and block.endswith("\n\n") for block in blocks)


@pytest.mark.parametrize("page", TEXTS, ids=lambda path: path.name)
def test_a_section_stands_once(page):
    headings = re.findall(r"^## .+$", page.read_text(encoding="utf-8"), flags=re.M)
    assert len(headings) == len(set(headings))


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"[\w-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert listed == {path.name for path in PAGES}


@pytest.mark.parametrize("page", TEXTS, ids=lambda path: path.stem)
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    assert all((page.parent / target).exists() for target in targets if "://" not in target)


MODELS_OF = [(task, model) for task in TASKS for model in load_task(task).models]


def compared(page, model):
    """The rows `(part, in the paper, here, because)` of the tables of a page that are of a model: of the table below a
    heading with its name, of one whose header names it, and those that begin with its name.
    """
    found, heading, columns = [], "", None
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        heading = line if line.startswith("#") else heading
        if cells and columns is None:
            columns = cells
        elif cells and cells[0].strip("-") and columns[-1] == "because":
            whose = cells.pop(0) if columns[0] == "model" else f"{heading} {columns[0]}"
            found += [cells] if f"`{model}`" in whose else []
        columns = columns if cells or line.startswith("|") else None
    return found


@pytest.mark.parametrize(("task", "model"), MODELS_OF, ids=map(" ".join, MODELS_OF))
def test_every_model_of_every_task_says_what_is_as_in_its_paper_and_what_otherwise_and_why(task, model):
    name = "models" if task == "translate" else task
    rows = compared((ROOT / f"docs/{name}.md").read_text(encoding="utf-8"), model)
    assert rows and all(len(row) == 4 for row in rows)
    for part, paper, here, because in rows:
        assert paper and here, (part, paper, here)
        assert because or here.startswith("the same"), (part, here)


def test_a_model_without_a_table_or_a_reason_would_be_found():
    page = "## `one`\n\n| part | in the paper | here | because |\n|---|---|---|---|\n| size | 9 | 3 | small |\n"
    assert compared(page, "one") == [["size", "9", "3", "small"]]
    assert compared(page, "other") == [] == compared(page.replace("`one`", "One"), "one")
    page = page.replace("| part |", "| model | part |").replace("| size |", "| `other` | size |")
    assert compared(page, "other") == [["size", "9", "3", "small"]] and compared(page, "one") == []


@pytest.mark.slow
def test_what_transcribe_says_runs(tmp_path, capsys, monkeypatch):
    """Every command of the page, with fewer steps."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/tones.wav", tmp_path / "docs")
    rows = "".join(f"docs/tones.wav,9 2 6 3 7,{split}\n" for split in ("train", "dev", "test"))
    (tmp_path / "manifest.csv").write_text(f"path,text,split\n{rows}")
    blocks = re.findall(
        r"^```bash\n(.*?)^```", (ROOT / "docs/transcribe.md").read_text(encoding="utf-8"), flags=re.M | re.S
    )
    lines = [line.split("   #")[0].strip() for block in blocks for line in block.splitlines()]
    commands = [line for line in lines if not line.startswith("python benchmarks/")]  # which tests of their own run
    assert len(commands) >= 10
    for command in commands:
        sound, _, rest = command.rpartition(" | ")
        if sound:
            recording = io.BytesIO((tmp_path / sound.removeprefix("cat ")).read_bytes())
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(recording)))
        less = ["--max-steps", "10", *SMALL] if " train " in command else []
        assert main([*shlex.split(rest)[1:], *less]) == 0, command
        assert capsys.readouterr().out


@pytest.mark.slow
def test_sentences_are_parsed_by_the_commands_of_the_page(tmp_path, capsys, monkeypatch):
    """The section on trees, as it stands there, with fewer steps."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/translate.md").read_text(encoding="utf-8")
    commands = re.findall(r"^saccade (.+)$", page.split("\n## Sentences to trees\n")[1].split("\n## ")[0], flags=re.M)
    assert len(commands) == 5
    for command in commands:
        less = ["--max-steps", "4", *SMALL] if command.startswith("train ") else []
        assert main([*shlex.split(command), *less]) == 0, command
        assert capsys.readouterr().out


@pytest.mark.slow
def test_all_that_decoding_offers_runs(tmp_path, capsys, monkeypatch):
    """The commands of the section, as they stand there, beside two runs of a few steps."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/dates.txt", tmp_path / "docs")
    section = (ROOT / "docs/translate.md").read_text(encoding="utf-8").split("\n## Decoding\n")[1].split("\n## ")[0]
    commands = re.findall(r"^saccade (.+)$", section, flags=re.M)
    assert len(commands) >= 11
    for model in ("rnnsearch", "transformer"):
        sizes = SMALL if model == "rnnsearch" else ["--hidden-dim", "32", "--layers", "1", "--feedforward-dim", "48"]
        name = "runs/dates" if model == "rnnsearch" else "runs/dates-transformer"
        words = ["--data", "dates", "--model", model, "--run", name, "--max-steps", "10", *sizes]
        assert main(["train", "translate", *words]) == 0
    for command in commands:
        assert main(shlex.split(command)) == 0, command
        assert capsys.readouterr().out


TINY = {
    "transformer": ["--hidden-dim", "32", "--layers", "1", "--feedforward-dim", "48"],
    "bytenet": ["--hidden-dim", "16", "--max-dilation", "2"],
    **{name: ["--embedding-dim", "8"] for name in ClassifyText.models},
}
MODELS = {"models.md": (Translate, 2), "classify-text.md": (ClassifyText, 0)}  # beside them local and hard attention


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_every_model_trains_and_is_looked_at_in_two_commands(name, tmp_path, capsys, monkeypatch):
    """The commands of the page, as they stand there, for a few steps of small models."""
    monkeypatch.chdir(tmp_path)
    kind, more = MODELS[name]
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash\n((?:saccade .*\n)+)```\n\n!\[[^]]+\]\((\S+)\)", page, flags=re.M)
    trained = set()
    for block, picture in blocks:
        train, look = (shlex.split(line)[1:] for line in block.splitlines())
        model = train[train.index("--model") + 1]
        assert main([*train, "--max-steps", "4", *TINY.get(model, SMALL)]) == 0, train
        capsys.readouterr()
        assert main(look) == 0, look
        drawn = [path for path in capsys.readouterr().out.splitlines() if path.endswith(".png")]
        assert len(drawn) == 1 and Path(drawn[0]).stat().st_size > 0
        assert look[look.index("--output") + 1] == picture.removesuffix(".png")
        trained.add(model)
    assert trained == set(kind.models) and len(blocks) == len(trained) + more


@pytest.mark.slow
def test_hard_attention_is_trained_as_its_paper_trains_by_one_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall(r"^saccade (train .*--charge whole.*)$", (ROOT / "docs/models.md").read_text(), flags=re.M)
    assert main([*shlex.split(command), "--max-steps", "4", *SMALL]) == 0
    options = json.loads((tmp_path / "runs/as-the-paper-trains/config.json").read_text())["options"]
    told = {name: options[name] for name in ("baseline", "charge", "soft_share")}
    assert told == {"baseline": "moving-average", "charge": "whole", "soft_share": 0.5}


@pytest.mark.slow
def test_all_that_classifies_runs(tmp_path, capsys, monkeypatch):
    """The commands of the page in their order, for a few steps, beside texts and vectors made here."""
    monkeypatch.chdir(tmp_path)
    texts = [(f"{'good' if n % 2 else 'bad'} film number {n}", n % 2) for n in range(60)]
    (tmp_path / "sentiment").mkdir()
    for name in (
        "stsa.binary.train",
        "stsa.binary.phrases.train",
        "stsa.binary.dev",
        "stsa.binary.test",
        "TREC.train.all",
        "TREC.test.all",
        "subj.all",
    ):
        (tmp_path / "sentiment" / name).write_text("".join(f"{label} {text}\n" for text, label in texts))
    (tmp_path / "texts.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in texts))
    (tmp_path / "lines.txt").write_text("a good film\n\nbad\n")
    (tmp_path / "glove.txt").write_text("good 1 2 3\nfilm 4 5 6\n")
    page = (ROOT / "docs/classify-text.md").read_text(encoding="utf-8")
    commands = re.findall(r"^saccade (.+)$", page, flags=re.M)
    assert len(commands) >= 20
    for command in commands:
        less = ["--max-steps", "3"] if command.startswith("train") else []
        assert main([*shlex.split(command), *less]) == 0, command
        assert capsys.readouterr().out


@pytest.mark.slow
def test_all_that_experts_says_runs(tmp_path, capsys, monkeypatch):
    """The commands of the page, for a few steps: a picture of each mixture, or its numbers."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/experts.md").read_text(encoding="utf-8")
    commands = re.findall(r"^(saccade (?:train|look) .+)$", page, flags=re.M)
    assert len(commands) == 4
    for command in commands:
        words = shlex.split(command)[1:]
        less = ["--max-steps", "4", "--hidden-dim", "32", "--layers", "2"] if words[0] == "train" else []
        assert main([*words, *less]) == 0, command
        out = capsys.readouterr().out
        assert words[0] == "train" or out.count("-experts.png") == (2 if "runs/experts" in command else 1)
    assert "expert_load_encoder.1" in (tmp_path / "runs/experts/results.json").read_text()


@pytest.mark.slow
def test_all_that_glimpses_runs(tmp_path, capsys, monkeypatch):
    """The commands of the page in their order, for a step or two of small eyes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/digit.png", tmp_path / "docs")
    commands = re.findall(r"^saccade (.+)$", (ROOT / "docs/glimpse.md").read_text(encoding="utf-8"), flags=re.M)
    assert len(commands) >= 11
    for command in commands:
        less = ["--max-steps", "2", "--hidden-dim", "8"] if command.startswith("train") else []
        assert main([*shlex.split(command), *less]) == 0, command
        assert capsys.readouterr().out


@pytest.mark.slow
def test_all_that_writes_about_images_runs(tmp_path, capsys, monkeypatch):
    """The commands of the page in their order, for a step or two of small networks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("saccade.tasks.caption.data.scenes.HELD_OUT", 20)
    monkeypatch.setattr("saccade.tasks.image.dataset._SEEN", 40)
    monkeypatch.setattr("saccade.tasks.batches._LOOKED_AT", 50)
    commands = re.findall(r"^saccade (.+)$", (ROOT / "docs/caption.md").read_text(encoding="utf-8"), flags=re.M)
    assert len(commands) >= 13
    less = ["--max-steps", "2", "--widths", "4,8", "--hidden-dim", "8", "--cell-dim", "8"]
    for command in commands:
        words = shlex.split(command)
        assert main([*words, *(less if words[0] == "train" else [])]) == 0, command
        assert capsys.readouterr().out


@pytest.mark.slow
def test_all_that_memorizes_runs(tmp_path, capsys, monkeypatch):
    """The commands of the page in their order, for a step or two of small networks, beside stories and pairs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("saccade.tasks.memorize.data.made.HELD_OUT", 10)
    (tmp_path / "babi/en-10k").mkdir(parents=True)
    for split in ("train", "test"):
        stories = (f"1 Mary moved to the room{n}.\n2 Where is Mary?\troom{n}\t1\n" for n in range(30))
        (tmp_path / f"babi/en-10k/qa1_one_{split}.txt").write_text("".join(stories))
    (tmp_path / "pairs.tsv").write_text("".join(f"a b{n}\tb{n} a\n" for n in range(30)))
    page = (ROOT / "docs/memorize.md").read_text(encoding="utf-8")
    commands = re.findall(r"^saccade (.+)$", page, flags=re.M)
    assert len(commands) >= 20
    for command in commands:
        less = ["--max-steps", "2", "--hidden-dim", "8"] if command.startswith("train") else []
        assert main([*shlex.split(command), *less]) == 0, command
        assert capsys.readouterr().out


@pytest.mark.slow
def test_all_that_answers_about_images_runs(tmp_path, capsys, monkeypatch):
    """The commands of the page in their order, for a step or two of small networks, and images of one's own."""
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("saccade.tasks.answer.data.scenes.HELD_OUT", 40)
    colours = ("red", "green", "blue")
    for index in range(12):
        Image.new("RGB", (24, 32), colours[index % 3]).save(f"{index}.png")
    Image.new("RGB", (24, 32), "red").save("photo.png")
    lines = [f"{index}.png\twhat colour is it?\t{colours[index % 3]}\n" for index in range(12)]
    (tmp_path / "questions.tsv").write_text("".join(lines), encoding="utf-8")
    commands = re.findall(r"^saccade (.+)$", (ROOT / "docs/answer.md").read_text(encoding="utf-8"), flags=re.M)
    assert len(commands) >= 12
    for command in commands:
        words = shlex.split(command.replace("$'\\t'", "'\t'"))  # as a shell has it
        sees = "question-only" not in command
        less = ["--max-steps", "2", "--hidden-dim", "8", *(["--widths", "4,8", "--cell-dim", "8"] if sees else [])]
        assert main([*words, *(less if words[0] == "train" else [])]) == 0, command
        assert capsys.readouterr().out


@pytest.mark.slow
def test_all_that_classifies_images_runs(tmp_path, capsys, monkeypatch):
    """The commands of the page in their order, for a few steps of small networks."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/shapes.png", tmp_path / "docs")
    page = (ROOT / "docs/classify-image.md").read_text(encoding="utf-8")
    commands = re.findall(r"^saccade (?!report)(.+)$", page, flags=re.M)
    assert len(commands) >= 9
    for command in commands:
        less = ["--max-steps", "3", "--widths", "4,8"] if command.startswith("train") else []
        assert main([*shlex.split(command), *less]) == 0, command
        assert capsys.readouterr().out


@pytest.mark.slow
def test_all_that_regresses_runs(tmp_path, capsys, monkeypatch):
    """The commands of the page in their order, for a few steps, beside tables made here."""
    monkeypatch.chdir(tmp_path)
    houses = "".join(f"{n % 5},{n},{100 * n + n % 7}\n" for n in range(60))
    (tmp_path / "houses.csv").write_text(f"rooms,age,price\n{houses}")
    bags = "".join(f"{n % 4},{n if n % 2 else ''},{n % 4 + n}\n" for n in range(60))
    (tmp_path / "bags.csv").write_text(f"first,second,sum\n{bags}")
    page = (ROOT / "docs/regress.md").read_text(encoding="utf-8")
    commands = re.findall(r"^saccade (?!report)(.+)$", page, flags=re.M)
    assert len(commands) >= 18
    for command in commands:
        less = ["--max-steps", "3"] if command.startswith("train") else []
        assert main([*shlex.split(command), *less]) == 0, command
        assert capsys.readouterr().out


def test_every_model_of_numbers_is_told_of():
    page = (ROOT / "docs/regress.md").read_text(encoding="utf-8")
    assert [name for name in Regress.models if f"\n| `{name}` | " not in page] == []
