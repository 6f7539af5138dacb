"""Examples of the documentation run, its commands parse, its pages are reachable, and none fetches from elsewhere."""

import re
import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from commands import PAGES as TEXT_OF
from commands import PUBLISHED, ROOT, accept, accept_other, commands, cut_short, loaded, plan, quoted, words
from saccade.cli import main
from saccade.errors import SaccadeError
from saccade.tasks import TASKS, load_task
from saccade.tasks.classify_text import CLASSIFY_TEXT
from saccade.tasks.regress import REGRESS
from saccade.tasks.translate import TRANSLATE
from scripts import script
from tiers import every

PAGES = sorted((ROOT / "docs").rglob("*.md"))
TEXTS = [ROOT / name for name in TEXT_OF]
LONG = ("classify-image", "classify-text", "tag-words", "memorize", "training", "translate", "masks-as-work")
"""Pages whose examples train a model or take seconds."""
EXAMPLES = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in LONG else [])
    for path in TEXTS
    if "```python\n" in path.read_text(encoding="utf-8") and path.parent.name not in ("learn", "notes")
]
PLANS = {name: plan(text) for name, text in TEXT_OF.items() if name not in PUBLISHED}
GUIDES = [name for name, steps in PLANS.items() if any(why_not is None for _, why_not in steps)]
RUN = script("tools/run_blocks.py")


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # torch's, of its own decompositions
@pytest.mark.parametrize("page", [case for case in EXAMPLES if not loaded(case.values[0].read_text(encoding="utf-8"))])
def test_examples_run(page):
    results, _ = RUN.run(page.read_text(encoding="utf-8"), page.name)
    assert results.attempted and not results.failed


@pytest.mark.parametrize(
    "block",
    [
        "1 + 1  # 3",
        "1 + 1\n# 3",
        "print(1)  # 2",
        "int('x')\n# ValueError: another",
        "int('1')\n# ValueError: invalid literal for int() ...",
        "x = int('1')\n# ValueError: invalid literal for int() ...",
        "1 / 0",
        "x = 1 / 0  # fine",
    ],
)
def test_a_wrong_value_or_error_is_noticed(block, capsys):
    results, _ = RUN.run(f"```python\n{block}\n```\n", "page")
    assert results == (1, 1)


def test_values_outputs_and_errors_are_compared_and_blocks_share_variables():
    page = """```python
x = 2  # not compared

# a comment of its own
x + 1  # 3
print(x, x)
# 2 2

"a" * 9  # 'a...a'
int("x")
# ValueError: invalid literal for int() ...
```

```python
x + x  # 4
```
"""
    results, variables = RUN.run(page, "page")
    assert results == (0, 6) and variables["x"] == 2


@pytest.mark.parametrize("name", [name for name, text in TEXT_OF.items() if commands(text) or quoted(text)])
def test_commands_are_accepted_by_their_parsers(name):
    for command in [*commands(TEXT_OF[name]), *quoted(TEXT_OF[name])]:
        arguments = words(command)
        if arguments is None:
            accept_other(command)
        else:
            accept(arguments)


def test_commands_of_jobs_run_or_have_an_obstacle():
    """Each page of a job runs four verbs, and most commands run. `pytest -rP` shows the counts of obstacles."""
    for name in GUIDES:
        print(name, dict(Counter(why_not or "run" for _, why_not in PLANS[name])))  # noqa: T201
    pages = {task: PLANS[f"docs/{task}.md"] for task in TASKS}
    for task, steps in pages.items():
        verbs = {command.split()[1] for command, why_not in steps if why_not is None}
        assert verbs >= {"train", "predict", "look", "eval"}, task
    obstacles = [why_not for steps in pages.values() for _, why_not in steps]
    assert obstacles.count(None) > len(obstacles) / 2


def test_obstacles_of_commands_are_found():
    text = """```bash
pip install .
saccade predict runs/dates "a line."
saccade train translate --data dates --run runs/dates
saccade predict runs/dates "a line."
saccade predict runs/dates --input docs/dates.txt
saccade predict runs/dates --input lines.txt
saccade data translate --data dates --output lines
saccade predict runs/dates --input lines/inputs.txt --ensemble runs/other
saccade predict runs/dates --input lines/inputs.txt
saccade export runs/dates dates.onnx
saccade train translate --data pairs.tsv
saccade report length
```"""
    run, data, files = None, "own data", "own files"
    expected = ["another program", files, run, run, run, files, run, files, run, run, data, "minutes"]
    assert [why_not for _, why_not in plan(text)] == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
@pytest.mark.parametrize("name", GUIDES)
def test_commands_of_a_page_run(name, tmp_path, monkeypatch, capsys):
    """Run in their order in one folder, with trainings of two steps on few examples.

    Python blocks follow if one of them loads a run. Such a run trains to its end.
    """
    from tasks.laws.table import shrink  # imports all tasks

    shrink(monkeypatch.setattr)
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    for path in (ROOT / "docs").glob("*.*"):
        if path.suffix != ".md":
            shutil.copy(path, "docs")
    for command in [command for command, why_not in PLANS[name] if why_not is None]:
        assert main(cut_short(command, loaded(TEXT_OF[name]))) == 0, command
        assert capsys.readouterr().out.strip(), command
    if loaded(TEXT_OF[name]):
        results, _ = RUN.run(TEXT_OF[name], name)
        assert results.attempted and not results.failed


def test_a_wrong_command_is_noticed():
    for wrong in (
        "train translate --beem-size 2",
        "look runs/untrained x",
        "report lenght",
        "predict runs/dates --beam 2 x",
    ):
        with pytest.raises((ValueError, KeyError, SaccadeError)):
            accept(wrong.split())
    with pytest.raises(AssertionError):
        accept_other("make demonstration")


@every("page", TEXTS)
def test_python_can_be_copied(page):
    assert ">>> " not in page.read_text(encoding="utf-8")


@every("page", TEXTS)
def test_a_section_stands_once(page):
    headings = re.findall(r"^## .+$", page.read_text(encoding="utf-8"), flags=re.M)
    assert len(headings) == len(set(headings))


def test_every_page_is_in_the_navigation():
    config = SimpleNamespace(nav=yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    for hook in ("tasks", "cli"):
        script(f"tools/mkdocs_{hook}.py").on_config(config)
    listed = re.findall(r"[\w/-]+\.md", repr(config.nav))
    written = {path.relative_to(ROOT / "docs").as_posix() for path in PAGES}
    assert sorted(listed) == sorted(written | {f"reference/cli/{task}.md" for task in TASKS})


def test_the_site_has_five_parts():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert [*map(str, nav[:1]), *(name for part in nav[1:] for name in part)] == [
        "index.md", "Learn", "Do", "Reference", "Understand", "Evidence"
    ]  # fmt: skip


@every("page", TEXTS)
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


@every("task, model", MODELS_OF)
def test_a_model_is_compared_with_its_paper(task, model):
    name = "models" if task == "translate" else task
    rows = compared((ROOT / f"docs/{name}.md").read_text(encoding="utf-8"), model)
    assert rows and all(len(row) == 4 for row in rows)
    for part, paper, here, because in rows:
        assert paper and here, (part, paper, here)
        assert because or here.startswith("the same"), (part, here)


def test_a_model_without_a_table_is_noticed():
    page = "## `one`\n\n| part | in the paper | here | because |\n|---|---|---|---|\n| size | 9 | 3 | small |\n"
    assert compared(page, "one") == [["size", "9", "3", "small"]]
    assert compared(page, "other") == [] == compared(page.replace("`one`", "One"), "one")
    page = page.replace("| part |", "| model | part |").replace("| size |", "| `other` | size |")
    assert compared(page, "other") == [["size", "9", "3", "small"]] and compared(page, "one") == []


PAIRS = re.compile(r"^```bash\n(saccade train .*)\n(saccade look .*)\n```\n\n!\[[^]]+\]\((\S+)\)", flags=re.M)


@pytest.mark.parametrize(("name", "kind", "more"), [("models", TRANSLATE, 2), ("classify-text", CLASSIFY_TEXT, 0)])
def test_every_model_has_two_commands_and_their_picture(name, kind, more):
    """Beside the models of `translate` stand local and hard attention."""
    pairs = PAIRS.findall(TEXT_OF[f"docs/{name}.md"])
    models = [accept(words(train)).model for train, _, _ in pairs]
    assert set(models) == set(kind.models) and len(models) == len(set(models)) + more
    assert all(accept(words(look)).output == picture.removesuffix(".png") for _, look, picture in pairs)


def test_one_command_trains_hard_attention_as_its_paper():
    [command] = re.findall(r"^saccade (train .*--charge whole.*)$", TEXT_OF["docs/models.md"], flags=re.M)
    options = accept(words(f"saccade {command}"))
    assert (options.baseline, options.charge, options.soft_share) == ("moving-average", "whole", 0.5)


def test_every_model_of_numbers_is_in_its_table():
    assert [name for name in REGRESS.models if f"\n| `{name}` | " not in TEXT_OF["docs/regress.md"]] == []
