"""Pages of the command line have all that the parsers take."""

import re
from types import SimpleNamespace

import pytest

from commands import ROOT
from saccade.cli import VERBS, main
from saccade.cli.catalogue import tasks
from scripts import script

HOOK = script("tools/mkdocs_cli.py")
PAGE = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")


def test_every_verb_is_on_the_page():
    assert re.findall(r"^::: saccade (\w+)$", PAGE, flags=re.M) == sorted(VERBS, key=[*PAGE.split()].index)
    text = HOOK.on_page_markdown(PAGE)
    assert ":::" not in text and all(f"\n## {verb}\n" in text for verb in VERBS)
    assert "\n| `--port INT` | `8000` | Port to listen at. 0 picks a free one. " in text
    assert "\n| `length` | " in text and "[regress](cli/regress.md#look)" in text


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task["name"])
def test_the_page_of_a_job_has_the_options_of_every_model_and_verb(task):
    text = HOOK.job(task["name"], task["summary"])
    sections = dict(re.findall(r"^##+ (.+)\n\n((?:(?!##).*\n)*)", text, flags=re.M))
    assert {"train", "predict", "eval", "look", "data"} <= set(sections)
    shared = "".join(part for title, part in sections.items() if title.startswith("train") and "`" not in title)
    for model in task["models"]:
        specific = sections[f"train: `{model['name']}`"]
        for option in model["options"]:
            assert re.search(rf"^\| `--(\[no-\])?{option['name'].replace('_', '-')}[ `]", shared + specific, flags=re.M)


def test_an_option_has_the_default_of_the_recipe_and_its_help():
    text = HOOK.job("translate", "")
    assert "\n| `--learning-rate FLOAT` | `0.008` | Highest learning rate of Adam. |\n" in text
    assert "Its other defaults: `--max-steps 800`, `--learning-rate 0.005`" in text  # of the Transformer
    assert (
        "\n| `--by {attention,rollout,flow,gradient,grad-cam,jacobian,integrated-gradients}` |  | Method of the picture"
        in text
    )
    assert "\nsaccade predict RUN [INPUT] [OPTIONS]\n" in text


def test_options_are_those_of_the_help(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "10000")
    with pytest.raises(SystemExit):
        main(["data", "glimpse", "--help-all"])
    lines = re.findall(r"^  (\S.*?)(?:  +| *$)", capsys.readouterr().out, flags=re.M)
    data = HOOK.job("glimpse", "").partition("\n## data\n")[2]
    assert lines and re.findall(r"^\| `([^`]+)`", data, flags=re.M) == lines


def test_pages_of_jobs_follow_that_of_all_verbs():
    config = SimpleNamespace(nav=[{"Reference": ["glossary.md", "reference/cli.md", "reference/attend.md"]}])
    HOOK.on_config(config)
    [_, page, jobs, _] = config.nav[0]["Reference"]
    assert page == "reference/cli.md"
    assert jobs["Options of each job"] == [f"reference/cli/{task['name']}.md" for task in tasks()]


def test_signs_of_markdown_are_escaped():
    assert HOOK.cell("a|b `c_d` $x_1$") == r"a\|b `c_d` \$x\_1\$"
