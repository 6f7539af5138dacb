"""Lint the names and the prose of the project, by the rules of CONTRIBUTING.md.

    python tools/prose.py              # the paths of [tool.prose] in pyproject.toml, less its exceptions
    python tools/prose.py PATH ...     # these files and folders
    python tools/prose.py --all        # figures of all docstrings of src and of all pages of docs

The prose of a Python file is its docstrings, its comments and the messages of its `raise` statements.

Without arguments it also prints the lengths of the pages that [tool.prose.words] names, and compares them with their
limits. Of a file it counts each word. Of a folder it counts the words of sentences that a person wrote: neither tables
nor code, and nothing between a comment "tools/NAME writes ..." and the next comment.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
NAMES = re.compile(r"_*(found|ones?|own|given|wanted|known|told|places?|each|most|asked|said|shown|seen)_*", re.I)
LINE, SENTENCE, HALF = 80, 35, 12  # characters of a first line, words of a sentence, words beside a semicolon
HEADLESS = r"(?:what|whatever|who|whoever|those who|that of which)"
BEFORE = r"for|to|of|from|with|by|than|as|and|or"
RULES = {
    "verb": re.compile(r"\b(?:is|are|was|were|be|been|being|not) (?:told|said|asked|known|wanted)\b", re.I),
    "headless": re.compile(rf"(?:^whose|(?:^|[:;] ){HEADLESS})\b(?!.*\?$)|\b(?:{BEFORE}) {HEADLESS}\b", re.I),
}
OPENER = re.compile(r"(?:what|whatever|who|whoever|whose|where|how|which|why|when|that of|those of)\b", re.I)
RELATIVE = re.compile(r"\b(?:which|who|whose|whom|that (?:is|are|was|were|has|have|of))\b", re.I)
STOP = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!et al\.)(?<!e\.g\.)(?<!i\.e\.)[)\"'”*]*\s+(?=[^a-z]|code\b)")
BLOCKS = re.compile(r"^---\n.*?^---$|<!--.*?-->|^ *(```|~~~).*?^ *\1 *$|\$\$.*?\$\$|\\\[.*?\\\]", re.S | re.M)
GENERATED = re.compile(r"^<!-- tools/\S+ writes .*?(?=^<!--|\Z)", re.S | re.M)
SECTION = re.compile(r"[A-Z][a-z]+:$")
SKIP = {"page": re.compile(r"[#|!<]"), "docstring": re.compile(r"[A-Z][a-z]+:$|.*[─│├└▼▶]")}
ITEM = re.compile(r"([-*+·]|\d+\.) +")
ENTRY = re.compile(r"[\w, *]+: ")
WORD = re.compile(r"[^\W\d_]{2,}[^\s]*|\b[aAI]\b")


class Text(NamedTuple):
    """A run of prose: its first line, its kind, its characters."""

    line: int
    kind: str
    text: str


Fault = tuple[int, str, str]
"""A line, the rule that it breaks, and the text that breaks it."""


def paragraphs(text: str, line: int, kind: str) -> Iterator[Text]:
    """Split a docstring or a page into paragraphs, without code, tables and formulas."""
    text = BLOCKS.sub(lambda match: "\n" * match[0].count("\n"), text) if kind == "page" else text
    lines: list[str] = []
    first, code, section = line, False, False
    for number, raw in enumerate([*text.split("\n"), ""], line):
        stripped, indent = raw.strip(), len(raw) - len(raw.lstrip())
        code = bool(stripped) and (code or stripped.startswith((">>>", ".. math::")))
        section = bool(SECTION.match(raw)) or (section and (indent > 0 or not stripped))
        formula = kind == "docstring" and not section and not lines and indent >= 4
        skip = code or formula or not stripped or bool(SKIP[kind].match(stripped))
        item = (ITEM if kind == "page" or not section else ENTRY).match(stripped)
        if lines and (skip or item):
            yield Text(first, kind, " ".join(lines))
            lines = []
        if not skip:
            first = first if lines else number
            lines.append(stripped[item.end() if item else 0 :])


def clean(text: str) -> str:
    """Replace inline code, formulas and links by words."""
    text = re.sub(r"`+[^`]*`+|\\\(.*?\\\)|\$[^$\n]+\$", "code", text)
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)|https?://[^\s)]+", r"\1", text).replace("**", "")


def docstrings(nodes: list[ast.AST]) -> Iterator[Text]:
    """Docstrings of a module, its classes, functions and attributes."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield Text(node.lineno, "docstring", cleandoc(node.value.value))


def comments(source: str) -> Iterator[Text]:
    """Comments of a file; lines of comments alone that follow each other are one."""
    block: list[str] = []
    last = first = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or re.match(r"#!|# (noqa|type:|fmt:|mypy)", token.string):
            continue
        alone, text = not token.line[: token.start[1]].strip(), token.string.lstrip("#: ")
        if block and not (alone and token.start[0] == last + 1):
            yield Text(first, "comment", " ".join(block))
            block = []
        block, first, last = [*block, text], first if block else token.start[0], token.start[0] if alone else -1
    yield Text(first, "comment", " ".join(block))


def messages(nodes: list[ast.AST]) -> Iterator[Text]:
    """Texts of `raise` statements, with `code` for each value in them."""
    for node in nodes:
        for argument in node.exc.args if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) else ():
            parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
            texts = [str(part.value) if isinstance(part, ast.Constant) else "code" for part in parts]
            yield Text(argument.lineno, "message", "".join(texts))


def names(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Names of variables, arguments, attributes, functions and classes."""
    for node in nodes:
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def first_line(doc: Text) -> str | None:
    """A docstring's first line if it is too long, unfinished or a relative clause."""
    first, _, rest = doc.text.partition("\n")
    following = rest.partition("\n")[0].strip()
    unfinished = following and not re.search(r"[.:!?](?= |$)|`$", clean(first))
    sentence = STOP.split(clean(first))[0]
    return first if len(first) > LINE or unfinished or OPENER.match(first) or RELATIVE.search(sentence) else None


def prose(text: Text) -> Iterator[Fault]:
    """Faults in the sentences of one run of prose."""
    for sentence in STOP.split(clean(text.text)):
        if len(WORD.findall(sentence)) > SENTENCE:
            yield (text.line, "long-sentence", sentence)
        for rule, pattern in RULES.items():
            if pattern.search(sentence):
                yield (text.line, rule, sentence)
        if ";" in sentence and max(len(WORD.findall(half)) for half in sentence.split(";")) > HALF:
            yield (text.line, "semicolon", sentence)


def read(path: Path) -> tuple[list[Text], list[Fault]]:
    """The runs of prose of a file, and all its faults."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        texts, faults = list(paragraphs(source, 1, "page")), []
    else:
        nodes = list(ast.walk(ast.parse(source)))
        docs = list(docstrings(nodes))
        faults = [(line, "name", name) for line, name in names(nodes) if NAMES.fullmatch(name)]
        faults += [(doc.line, "first-line", line) for doc in docs if (line := first_line(doc))]
        texts = [text for doc in docs for text in paragraphs(doc.text, doc.line, "docstring")]
        texts += [*comments(source), *messages(nodes)]
    return texts, sorted(faults + [fault for text in texts for fault in prose(text)])


def files(paths: list[str]) -> list[Path]:
    """Python files and pages at and below some paths."""
    roots = [ROOT / path for path in paths]
    below = [path for root in roots for path in ([root] if root.is_file() else root.rglob("*"))]
    return sorted(path for path in below if path.suffix in (".py", ".md"))


def sentence_lengths(texts: Iterable[Text]) -> list[int]:
    """Words of each sentence of some runs of prose."""
    counts = [len(WORD.findall(sentence)) for text in texts for sentence in STOP.split(clean(text.text))]
    return [count for count in counts if count]


def page_lengths(limits: Mapping[str, int], mean: float) -> tuple[list[str], list[str]]:
    """Lengths of pages and folders as lines of a table, and a line for each excess."""
    table, faults = [], []
    for name, limit in limits.items():
        pages = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in files([name])}
        lengths = {
            path: sentence_lengths(paragraphs(GENERATED.sub("", text), 1, "page")) for path, text in pages.items()
        }
        sentences = [length for page in lengths.values() for length in page]
        single = pages.get(Path(name))
        words = sum(sentences) if single is None else len(re.findall(r"\S*\w\S*", single))
        table.append(f"{name:<16} {words:>6,} of {limit:>6,} words, {fmean(sentences):4.1f} a sentence")
        faults += [f"{name}: {words:,} words, more than {limit:,}"] * (words > limit)
        means = {path: fmean(page) for path, page in lengths.items() if page}
        faults += [
            f"{path}: {average:.1f} words a sentence, more than {mean:g}"
            for path, average in means.items()
            if average > mean
        ]
    return table, faults


def figures(title: str, paths: list[Path], kinds: tuple[str, ...]) -> None:
    """Print length of sentences, semicolons and faults of the files."""
    texts, faults = [], Counter[str]()
    for path in paths:
        runs, broken = read(path)
        texts += [run for run in runs if run.kind in kinds]
        faults.update(rule for _, rule, _ in broken)
    lengths = sentence_lengths(texts)
    words, semicolons = sum(lengths), sum(clean(text.text).count(";") for text in texts)
    mean, share = words / max(len(lengths), 1), 1000 * semicolons / max(words, 1)
    print(f"{title}: {len(paths)} files, {words} words, {mean:.1f} words a sentence, {share:.1f} semicolons a thousand")
    print("  " + ", ".join(f"{rule} {count}" for rule, count in sorted(faults.items())))


def main(arguments: list[str]) -> int:
    """Print lengths of pages and all faults; 1 if there is a fault."""
    if arguments == ["--all"]:
        figures("docstrings of src", files(["src"]), ("docstring",))
        figures("pages of docs", files(["docs"]), ("page",))
        return 0
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["prose"]
    lines, used = [], set()
    for path in files(arguments or settings["paths"]):
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
        for line, rule, text in read(path)[1]:
            exception = f"{name}: {rule}: {text}"
            if exception in settings["exceptions"]:
                used.add(exception)
            else:
                lines.append(f"{name}:{line}: {rule}: {text}")
    unused = [] if arguments else [text for text in settings["exceptions"] if text not in used]
    lines += [f"pyproject.toml: exception that excuses nothing: {text}" for text in unused]
    table, exceeded = ([], []) if arguments else page_lengths(settings.get("words", {}), settings.get("mean", 0))
    lines += exceeded
    print("\n".join([*table, *lines]), end="\n" if table or lines else "")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
