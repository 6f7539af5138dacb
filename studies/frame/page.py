"""The page of a report: a Markdown template for all studies, and its HTML file."""

import math
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import markdown

from saccade import look
from saccade._system.files import write
from saccade.look import Curve, Dots
from saccade.train.task import value
from studies.frame.claims import Estimate

if TYPE_CHECKING:
    from studies.frame.study import Study

_TEMPLATE = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
COSTS = ("seeds", "steps", "seconds", "parameters")
"""Columns of `costs` behind the name."""
SPEED = "tokens/s in training"
NAMES = ("index.md", "index.html")
_PICTURE = re.compile(r'<p><img alt="([^"]*)" src="([^"]*)\.png" /></p>')
_STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #22223a; background: #fff; max-width: 52rem; margin: 2rem auto;
  padding: 0 1rem; }
h1, h2 { line-height: 1.25; } h2 { margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; display: block;
  overflow-x: auto; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid #d9dce8; }
pre { background: #f4f5fa; padding: 0.8rem; overflow-x: auto; } code { font-size: 0.88rem; }
svg { max-width: 100%; height: auto; }
"""


def publish(study: "Study", content: Mapping[str, Any], folder: Path) -> None:
    """Write index.md, index.html and the pictures of both, from report.json alone."""
    text = markdown_of(study, content, folder)
    for name, page in zip(NAMES, (text, _html(text, folder)), strict=True):
        write(folder / name, page.encode())


def markdown_of(study: "Study", content: Mapping[str, Any], folder: Path) -> str:
    """Draw the pictures into a folder, and return the page in Markdown."""
    compared = study.compare(content)
    fields = {
        **{name: getattr(study, name) for name in ("title", "claim", "source")},
        "verdict": compared.verdict,
        "command": content["command"],
        "clock": f"**{sentence(caution)}**." if (caution := clock(content)) else "",
        "arguments": content["arguments"],
        "runs": "" if "hardware" in content else runs(content),
        "where": where(content) if "hardware" in content else "",
        **compared.fields(),
        **study.plot(compared, folder),
    }
    texts = {name: table(field) if isinstance(field, list) else field for name, field in fields.items()}
    text = _TEMPLATE.format(**texts, body=_unwrapped(study.body).format(**texts))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def summary(folder: Path) -> str:
    """Return the results of a page for a terminal, and the verdict."""
    page = (folder / NAMES[0]).read_text(encoding="utf-8")
    head, _, rest = page.partition("\n```bash\n")
    results = re.split(r"^## How it was m.*", rest.partition("\n```\n")[2], flags=re.M)[0]
    lead, _, sections = results.partition("## ")
    lines = list[str]()
    for block in f"## {sections}".strip().split("\n\n"):
        if block.startswith("|"):
            rows = [re.split(r" (?<!\\)\| ", row[2:-2]) for row in block.splitlines() if not row.startswith("|--")]
            columns = [[cell.replace(r"\|", "|") for cell in column] for column in zip(*rows, strict=True)]
            widths = [max(map(len, column)) for column in columns]
            columns[0] = [cell.ljust(widths[0]) for cell in columns[0]]
            columns[1:] = [[cell.rjust(n) for cell in column] for n, column in zip(widths, columns, strict=True)][1:]
            lines += [*("  ".join(row).rstrip() for row in zip(*columns, strict=True)), ""]
        elif block.startswith(("## ", "± ")):
            lines.append(block.removeprefix("## "))
    verdict = [block.replace("**", "") for block in head.strip().split("\n\n")[2:]]
    verdict = [block for block in lead.strip().split("\n\n") if not block.startswith("![")] + verdict
    return "\n".join([*lines, *filter(None, verdict)])


def table(rows: Sequence[Sequence[str]]) -> str:
    r"""Return a table in Markdown, with a header, a column of text, and numbers.

    >>> print(table([["model", "score"], ["a|b", "1.0"]]))
    | model | score |
    |---|---:|
    | a\|b | 1.0 |
    """
    header, *body = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
    return "\n".join([header, "|" + "|".join(["---", *["---:"] * (len(rows[0]) - 1)]) + "|", *body])


def paragraphs(*texts: str) -> str:
    """Return texts with an empty line between them; empty texts are left out."""
    return "\n\n".join(filter(None, texts))


def picture(drawn: Sequence[Path], caption: str) -> str:
    """Return a picture in Markdown: the PNG. The HTML page embeds the SVG beside it."""
    return f"![{caption}]({drawn[0].name})"


def curve(
    name: str,
    x: Sequence[float],
    heights: Sequence[Estimate],
    scale: float = 1.0,
    trend: tuple[float, float] | None = None,
) -> Curve:
    """Return estimates as a line of a plot, with 95% intervals as bars.

    >>> from studies.frame.claims import Source
    >>> line = curve("a", [1.0], [Estimate(0.5, (Source("seeds", 0.1, 2, 3),))], scale=100)
    >>> line.y, round(line.errors[0], 1)
    ([50.0], 43.0)
    """
    values, halves = [scale * y.value for y in heights], [scale * y.measured.half() for y in heights]
    return Curve(name, x, values, halves, trend=trend)


def dots(shares: Mapping[str, Sequence[float]], path: Path, of: str, title: str) -> str:
    """Draw means of shares in percent with deviations as bars; return the picture."""
    label = f"{of} on test, %; bars: the standard deviation over seeds"
    return picture(
        look.dots(list(shares), [Dots(of, *deviations(shares.values(), 100))], path, label=label, title=title), title
    )


def deviations(groups: Iterable[Sequence[float]], scale: float = 1.0) -> tuple[list[float], list[float]]:
    """Return means of numbers, one a seed, and their standard deviations."""
    numbers = [[scale * number for number in group] for group in groups]
    bars = [statistics.stdev(group) if len(group) > 1 else 0.0 for group in numbers]
    return [*map(statistics.fmean, numbers)], bars


def clock(content: Mapping[str, Any]) -> str:
    """Return a caution if minutes ended a training before its steps; else "".

    >>> clock({"runs": {"a-1": {"model": "a", "steps": 9, "budget": {"max_steps": 20, "max_minutes": 1}}}})
    'the clock ended training, after 9 (a) to 9 (a) steps: what is compared is what was learned by then'
    """
    every = content["runs"].values()
    steps = sorted((run["steps"], run["model"]) for run in every)
    limits = [(run["steps"], run["budget"]) for run in every if "budget" in run and not run.get("patient")]
    if not any(limit["max_minutes"] and count < (limit["max_steps"] or math.inf) for count, limit in limits):
        return ""
    few, many = (f"{count} ({model})" for count, model in (steps[0], steps[-1]))
    return f"the clock ended training, after {few} to {many} steps: what is compared is what was learned by then"


def about_data(content: Mapping[str, Any], sentences: int, more: str = "") -> str:
    """Return paragraphs about the corpus and the seeds of translators."""
    arguments, every = content["arguments"], content["runs"].values()
    pair = f", {arguments['source']} to {arguments['target']}" if arguments["source"] else ""
    seeds = ", ".join(map(str, sorted({run["seed"] for run in every})))
    data = f"Data: `{content['data']}`{pair}, test split, {sentences} sentences{more}."
    return paragraphs(data, f"Seeds: {seeds}. Scores are means over them.")


def signatures(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a paragraph for each signature of a score."""
    return paragraphs(*(f"Signature: `{text}`" for text in sorted({row["signature"] for row in rows} - {None})))


def runs(content: Mapping[str, Any]) -> str:
    """Return a section about all runs: scores, costs, machine and commands."""
    every = list(content["runs"].values())
    rows = [["model", "seed", "whole test split", "steps", "seconds", "parameters"]]
    for run in every:
        name, metric = next(iter(run["metrics"].items()))
        score = f"{name.replace('_', ' ')} {value(metric):.{2 if isinstance(metric, dict) else 4}f}"
        rows.append([run["model"], str(run["seed"]), score, str(run["steps"]), f"{run['seconds']:.0f}"])
        rows[-1].append(f"{run['parameters']:,}")
    commands = "\n".join(["```bash", *(run["command"] for run in every), "```"])
    return paragraphs("## Runs", table(rows), where(every[-1]), "Each run, by itself:", commands)


def where(about: Mapping[str, Any]) -> str:
    """Return paragraphs about the machine and the versions of packages."""
    machine = ", ".join(f"{key} {text}" for key, text in about["hardware"].items())
    versions = ", ".join(f"{package} {version}" for package, version in about["versions"].items())
    return paragraphs(f"Machine: {machine}.", f"Versions: {versions}.")


def costs(
    content: Mapping[str, Any], models: Iterable[str], name: str = "model", columns: Sequence[str] = COSTS
) -> list[list[str]]:
    """Return a table of models: seeds, mean steps, mean seconds, and parameters.

    >>> run = {"model": "a", "seed": 1, "steps": 9, "seconds": 1.6, "parameters": 1000}
    >>> costs({"runs": {"a-1": run, "b-1": {**run, "model": "b"}}}, ["a"])[1]
    ['a', '1', '9', '2', '1,000']
    """
    cells: dict[str, Callable[[Sequence[Mapping[str, Any]]], str]] = {
        "seeds": lambda runs: str(len({run["seed"] for run in runs})),
        "steps": lambda runs: f"{statistics.fmean(run['steps'] for run in runs):.0f}",
        "seconds": lambda runs: f"{statistics.fmean(run['seconds'] for run in runs):.0f}",
        SPEED: lambda runs: f"{statistics.fmean(run['tokens_per_second']['train'] for run in runs):,.0f}",
        "parameters": lambda runs: f"{runs[0]['parameters']:,}",
    }
    rows = [[name, *columns]]
    for model in models:
        of_model = [run for run in content["runs"].values() if run["model"] == model]
        rows.append([model, *(cells[column](of_model) for column in columns)])
    return rows


def sentence(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def _html(text: str, folder: Path) -> str:
    """The page as one HTML file without scripts and remote files. Pictures are SVG."""
    linked = re.sub(r"(?<![<`\w])(https?://[^\s<)]+[\w/])", r"<\1>", text)
    body = markdown.markdown(linked, extensions=["tables", "fenced_code"], output_format="xhtml")

    def embedded(match: re.Match[str]) -> str:
        svg = (folder / f"{match[2]}.svg").read_text(encoding="utf-8")
        return f"<figure>{svg[svg.index('<svg') :]}<figcaption>{match[1]}</figcaption></figure>"

    title = escape(text.partition("\n")[0].removeprefix("# "))
    viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{viewport}<title>{title}</title><style>{_STYLE}</style>'
    body = _PICTURE.sub(embedded, body)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _unwrapped(body: str) -> str:
    """A template's paragraphs, each on a line."""
    blocks = re.split(r"\n{2,}", body.strip())
    return "\n\n".join(block if block.startswith(("|", "```", "- ")) else " ".join(block.split()) for block in blocks)
