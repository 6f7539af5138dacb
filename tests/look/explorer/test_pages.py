"""Pages hold every number and nothing from elsewhere."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest
import torch

from look.explorer.books import HOSTILE, Tags, book, encoded, numbers, plane, planes, texts, unpacked
from saccade import AuxRequest
from saccade.errors import ArgumentError
from saccade.look._explorer.pages import exported, module, server_page, style
from saccade.look._explorer.sheets import Book, Sheet

PARTS = sorted(path.name for path in files("saccade.look._explorer").joinpath("page").iterdir() if path.is_file())


@pytest.fixture(params=["file", "server"])
def page(request):
    return exported(book(encoded(layers=1))) if request.param == "file" else server_page("A model")


def test_a_page_loads_nothing_from_elsewhere(page):
    tags = Tags(page).tags
    assert {tag for tag, _ in tags} == {"html", "head", "meta", "title", "style", "body", "main", "script"}
    loading = {"src", "href", "srcset", "data", "action", "poster", "background", "style"}
    assert not [about for _, about in tags if loading & set(about)]
    urls = set(re.findall(r"https?://[^\s\"'`)<]+", page))
    assert urls <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/1998/Math/MathML",
        "http://www.w3.org/1999/xhtml",
    }
    assert not re.search(r"@import|url\(", style())


def test_the_policy_allows_the_script_alone(page):
    [policy] = [about["content"] for tag, about in Tags(page).tags if about.get("http-equiv")]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    [script] = [text for about, text in texts(page, "script") if about.get("type") == "module"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'" and rules["default-src"] == "'none'"
    assert rules["connect-src"] in ("'none'", "'self'")


def test_the_module_holds_each_part_once_and_no_import():
    source = module("file", "server")
    assert not re.search(r"^(import|export (?!default))", source, re.M)
    for name in PARTS:
        if name.endswith(".js"):
            assert source.count(f"const {name.removesuffix('.js')} = (() => {{") == 1, f"{name} is in no module"
    assert not re.search(r"</script|<!--", source, re.I)


@pytest.mark.parametrize("batch", [1, 3])
def test_an_exported_page_holds_all_numbers(batch):
    made = book(encoded(batch=batch), title="A <model> & more")
    page = exported(made)
    manifest, values = unpacked(page)
    [described], [sheet] = manifest["sheets"], made.sheets
    data = described.pop("data")
    assert described == json.loads(json.dumps(made.manifest()["sheets"][0]))
    size = 12 * 12
    for example in range(batch):
        for layer in range(3):
            for head in range(4):
                place = {"example": example, "layer": layer, "head": head}
                number = (example * 3 + layer) * 4 + head
                start = data["matrix"] + number * size
                assert np.array_equal(values[start : start + size].reshape(12, 12), plane(made, **place))
                for name, at in data["lines"].items():
                    line = values[at + number * 12 : at + (number + 1) * 12]
                    assert np.array_equal(line, numbers(made, piece="line", name=name, **place)[1])
    assert values.size == batch * 12 * (size + len(sheet.lines) * 12)
    assert texts(page, "title")[0][1] == "A <model> & more"


def test_a_page_of_lines_alone_has_no_matrix():
    manifest, values = unpacked(exported(book(encoded(aux=AuxRequest(entropy=True)))))
    assert "matrix" not in manifest["sheets"][0]["data"] and values.size == 2 * 3 * 4 * 12


def test_the_same_book_is_the_same_page():
    assert exported(book(encoded(layers=1))) == exported(book(encoded(layers=1)))


def test_hostile_tokens_stay_tokens(tmp_path):
    made = book(encoded(tokens=len(HOSTILE), layers=1), HOSTILE, title="".join(HOSTILE))
    page = exported(made)
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    manifest, _ = unpacked((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert manifest["sheets"][0]["rows"] == manifest["sheets"][0]["columns"] == HOSTILE
    assert [tag for tag, _ in Tags(page).tags].count("script") == 3
    assert "\x00" not in page and "broken" not in re.sub(r"<title>.*?</title>", "", page, flags=re.S)


def test_too_many_numbers_are_refused_before_they_are_read():
    def matrix(place):
        raise AssertionError("read")

    sheet = Sheet("attention", "", [""] * 4096, [""] * 4096, matrix, [""] * 2)
    with pytest.raises(ArgumentError, match=r"page: expected at most 100 MiB of numbers, got 128 MiB"):
        exported(Book("", [sheet]))


def test_numbers_that_are_not_finite_are_in_the_page():
    matrix = torch.tensor([[float("nan"), float("inf")], [0.5, -0.0]])
    _, values = unpacked(exported(planes(matrix)))
    assert np.array_equal(values.reshape(2, 2), matrix.numpy(), equal_nan=True)


@pytest.mark.parametrize("name", [name for name in PARTS if name.endswith(".js")])
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_each_part_is_javascript(name, tmp_path):
    part = tmp_path / name.replace(".js", ".mjs")
    part.write_bytes(files("saccade.look._explorer").joinpath("page", name).read_bytes())
    done = subprocess.run([shutil.which("node"), "--check", part], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_libraries_have_their_licences():
    vendor = files("saccade.look._explorer").joinpath("page", "vendor")
    text = vendor.joinpath("LICENSES.txt").read_text(encoding="utf-8")
    libraries = [path.name for path in vendor.iterdir() if path.name != "LICENSES.txt"]
    assert libraries == ["standalone.umd.js"] and all(f"`{name}`" in text for name in libraries)
    assert "Apache License" in text and "MIT License" in text
