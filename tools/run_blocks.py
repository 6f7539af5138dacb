"""Run the Python blocks of pages, one after the other in one namespace, and compare the values that they state.

    python tools/run_blocks.py PAGE ...

The comment behind an expression is its value or output, and so are comment lines directly below it. `...` stands for
any text. Comment lines below a statement that raises hold the error. A value without a comment is not compared.
"""

import ast
import doctest
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
ERROR = re.compile(r"[\w.]*[A-Z]\w*(?:Error|Backend): ")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.REPORT_NDIFF


class Checker(doctest.OutputChecker):
    """Compare outputs that a page states."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """True if the page states no output or the right one."""
        return not want or super().check_output(want, got, optionflags)


def comments(code: str) -> dict[int, tuple[int, str]]:
    """Column and text of the comment of each line that has one."""
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return {
        token.start[0]: (token.start[1], token.string[1:].strip()) for token in tokens if token.type == tokenize.COMMENT
    }


def below(notes: dict[int, tuple[int, str]], line: int) -> Iterator[str]:
    """Comment lines that follow a line directly."""
    while line in notes and notes[line][0] == 0:
        yield notes[line][1]
        line += 1


def examples(code: str, line: int) -> Iterator[doctest.Example]:
    """Each statement of a block with its stated output; `line` is the block's first line in the page."""
    lines, notes = code.splitlines(), comments(code)
    for node in ast.parse(code).body:
        first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
        last = node.end_lineno or node.lineno
        outputs = [notes[last][1]] if last in notes else list(below(notes, last + 1))
        stated = "\n".join(outputs)
        error = stated if ERROR.match(stated) else None
        value = stated if isinstance(node, ast.Expr) or error else ""  # an error that is not raised differs
        source = "\n".join(lines[first - 1 : last])
        yield doctest.Example(source, value, exc_msg=error, lineno=line + first - 1)


def run(text: str, name: str) -> tuple[doctest.TestResults, dict[str, Any]]:
    """Run all blocks of a page: numbers of failures and examples, and the variables that remain."""
    statements = [
        example for block in BLOCK.finditer(text) for example in examples(block[1], text[: block.start(1)].count("\n"))
    ]
    test = doctest.DocTest(statements, {"__name__": "__main__"}, name, name, 0, text)
    results = doctest.DocTestRunner(Checker(), optionflags=FLAGS).run(test, clear_globs=False)
    return results, test.globs


def main(paths: list[str]) -> int:
    """Run pages; 1 if an example fails."""
    failures = [run(Path(path).read_text(encoding="utf-8"), path)[0].failed for path in paths]
    return int(any(failures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
