"""Pages of the command line, written from the parsers of the program.

`::: saccade VERB` on a page becomes the usage and the options of a verb. Each job has a page in reference/cli.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from saccade.cli import VERBS
from saccade.cli.catalogue import expanded, load
from saccade.cli.help import Form, Option
from saccade.tasks import load_task

ROOT, FOLDER = Path(__file__).resolve().parents[1], "reference/cli"
TASKS = expanded(load())


def on_config(config: MkDocsConfig) -> None:
    """Add the pages of jobs behind the page of all verbs."""
    [reference] = [part["Reference"] for part in config.nav or () if "Reference" in part]
    behind = reference.index("reference/cli.md") + 1
    reference.insert(behind, {"Options of each job": [f"{FOLDER}/{task['name']}.md" for task in TASKS]})


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of jobs."""
    for task in TASKS:
        name = task["name"]
        files.append(File.generated(config, f"{FOLDER}/{name}.md", content=job(name, task["summary"])))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Write the options of a verb in the place of `::: saccade VERB`."""
    return re.sub(r"^::: saccade (\w+)$", lambda line: verb(line[1]), markdown, flags=re.M)


def verb(name: str) -> str:
    """Usage and options of a verb, or the words that may follow it."""
    title = f"## {name}\n\n{capital(VERBS[name].partition(':')[0])}."
    if name == "report":
        return f"{title}\n\n`saccade report NAME [OPTIONS]`\n\n{studies()}"
    if name in ("train", "data"):
        return f"{title}\n\n`saccade {name} TASK [OPTIONS]`\n\n{jobs(name)}"
    options = import_module(f"saccade.cli.{name}").Arguments
    text = f"{title}\n\n{body(Form(options, f'saccade {name}', options.__doc__ or ''))}"
    return f"{text}\n\nFurther options belong to a job. {jobs(name)}" if name in ("eval", "predict", "look") else text


def jobs(verb: str) -> str:
    """Links to the options of a verb for each job."""
    links = [f"[{task['name']}](cli/{task['name']}.md#{verb})" for task in TASKS]
    return f"Jobs: {', '.join(links)}."


def studies() -> str:
    """The studies with their claims, and the options that all of them share."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from studies.frame.options import Shared
    from studies.frame.study import load, names

    shared = {field.name for field in fields(Shared)}
    rows = []
    for name in names():
        study = load(name)
        specific = [option.head for option in described(Form(study.options, "", "")) if option.name not in shared]
        rows.append(f"| `{name}` | {cell(study.sentence)} | {', '.join(f'`{head}`' for head in specific)} |")
    listed = "\n".join(["| study | subject | options of its own |", "|---|---|---|", *rows])
    return f"{listed}\n\nOptions of every study:\n\n{table(described(Form(Shared, '', '')))}"


def job(name: str, summary: str) -> str:
    """The page of a job: its options for each verb, and those of each model."""
    kind = load_task(name)
    parts = [f"# {name}", f"{summary} [{name}](../../{name}.md) explains this job.", "## train"]
    data = next(iter(kind.builtin))
    train = import_module("saccade.cli.train")
    forms = {model: train.form_of(kind, model, data) for model in kind.models}
    first = next(iter(forms))
    for title, options in forms[first].described().items():
        if title == "options":
            parts += [usage(forms[first]), f"Defaults are those of `{first}` on `{data}`.", table(options)]
        elif title != first:
            parts += [f"### train: {title}", table(options)]
    for model, form in forms.items():
        parts += [f"### train: `{model}`", *model_options(model, form, forms[first])]
    requests = import_module("saccade.cli.requests")
    for verb in ("predict", "eval", "look"):
        options = import_module(f"saccade.cli.{verb}").Arguments
        parts += [f"## {verb}", body(requests.form_of(kind, verb, options))]
    parts += ["## data", body(import_module("saccade.cli.data").form_of(kind))]
    return "\n\n".join(parts) + "\n"


def model_options(model: str, form: Form, first: Form) -> Iterator[str]:
    """Options of a model, and its defaults that the first model lacks."""
    groups = form.described()
    options = groups.pop(model, [])
    others = {option.name: option.default for option in described(first)}
    changed = [
        f"`{option.head.split()[0]} {option.default}`"
        for group in groups.values()
        for option in group
        if option.name != "model" and option.name in others and option.default != others[option.name]
    ]
    if changed:
        yield f"Its other defaults: {', '.join(changed)}."
    yield table(options) if options else "It has no options of its own."


def body(form: Form) -> str:
    """Usage, description and options of a program."""
    groups = form.described()
    parts = [usage(form), cleandoc(form.description)]
    for title, options in groups.items():
        if title != "options":
            parts.append(f"Options for {title}:")
        parts.append(table(options))
    return "\n\n".join(parts)


def usage(form: Form) -> str:
    """The usage of a program, as code."""
    return f"```text\n{form.usage}\n```"


def described(form: Form) -> list[Option]:
    """All options of a form."""
    return [option for group in form.described().values() for option in group]


def table(options: Iterable[Option]) -> str:
    """A table of options."""
    rows = [f"| `{option.head}` | {default(option)} | {cell(option.text)} |" for option in options]
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])


def default(option: Option) -> str:
    """The default of an option, as code."""
    if isinstance(option.default, bool):
        return "yes" if option.default else "no"
    return f"`{option.shown_default}`" if option.shown_default else ""


def cell(text: str) -> str:
    """A text for a cell of a table."""
    pieces = re.split(r"(`[^`]*`)", " ".join(text.split()).replace("|", "\\|"))
    return "".join(piece if piece.startswith("`") else re.sub(r"([*_<$])", r"\\\1", piece) for piece in pieces)


def capital(text: str) -> str:
    """A text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]
