"""Run the notebooks of examples/ and keep their outputs, and write their pages.

python tools/notebooks.py                              # write the pages again
python tools/notebooks.py examples/notes/ylipaa.ipynb  # run this notebook before

The pages of examples/notes are in docs/notes, those of examples in docs/learn.
"""

import base64
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {ROOT / "examples": ROOT / "docs/learn", ROOT / "examples/notes": ROOT / "docs/notes"}


def run(path: Path) -> None:
    """Run a notebook in a new kernel and a temporary folder, and store its outputs."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=None, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the times of one run
        if cell.cell_type == "code":  # notes of progress are on standard error
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def files(path: Path) -> dict[str, bytes]:
    """The page of a notebook and its pictures, by their names in its folder."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    pictures: dict[str, bytes] = {}
    parts = [f"<!-- python tools/notebooks.py writes this page from {path.relative_to(ROOT).as_posix()} -->"]
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(linked(source, path.stem))
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [part for output in cell["outputs"] for part in shown(output, pictures, path.stem)]
    return {f"{path.stem}.md": ("\n\n".join(parts) + "\n").encode(), **pictures}


def linked(text: str, note: str) -> str:
    """Text with anchors of its rows, and with links as seen from a folder of docs."""

    def anchors(rows: re.Match[str]) -> str:
        names = re.findall(r"\w+", rows[1])
        return "Rows: " + ", ".join(f'<a id="{name.lower()}"></a>[{name}](../notes.md#{note})' for name in names)

    text = re.sub(r"\]\((?:\.\./)+docs/", "](../", text)
    return re.sub(r"^Rows: (.*)$", anchors, text, flags=re.M)


def shown(output: Mapping[str, Any], pictures: dict[str, bytes], stem: str) -> Iterator[str]:
    """The text or the picture of an output of a cell."""
    data = output.get("data", {})
    if "image/png" in data:
        name = f"{stem}-{len(pictures) + 1}.png"
        pictures[name] = base64.b64decode("".join(data["image/png"]))
        yield f"![The picture that this code draws]({name})"
    elif text := "".join(output.get("text", data.get("text/plain", ""))).rstrip():
        yield f"```text\n{text}\n```"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(Path(name).resolve())
    for notebooks, pages in FOLDERS.items():
        pages.mkdir(exist_ok=True)
        for notebook in sorted(notebooks.glob("*.ipynb")):
            for name, content in files(notebook).items():
                (pages / name).write_bytes(content)
