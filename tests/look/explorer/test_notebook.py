"""A notebook that was run shows the explorer without its kernel."""

import copy
import subprocess

import pytest
import torch

from look.explorer.books import book, near, plane
from look.explorer.conftest import Opened
from saccade import look, nn
from tiny import environment, python

pytestmark = pytest.mark.slow  # a kernel of its own
CELL = """
import torch
from saccade import look, nn
torch.manual_seed(0)
model = nn.MultiheadAttention(16, 2).eval()
with torch.no_grad(), look.record(model) as recording:
    model(*[torch.randn(1, 5, 16)] * 3)
look.Explorer(recording, rows=list("abcde"))
"""
RUN = """
import sys
import nbclient, nbformat
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(sys.argv[2])])
nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[1])
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    path = tmp_path_factory.mktemp("notebook") / "run.ipynb"
    done = subprocess.run(
        python("-c", RUN, path, CELL), env=environment(), cwd=path.parent, capture_output=True, text=True, check=False
    )
    if "No such kernel" in done.stderr:
        pytest.skip("no kernel python3 is installed")
    assert done.returncode == 0, done.stderr
    return nbformat.read(path, as_version=4)


def recorded():
    """The recording of the cell."""
    torch.manual_seed(0)
    model = nn.MultiheadAttention(16, 2).eval()
    with torch.no_grad(), look.record(model) as recording:
        model(*[torch.randn(1, 5, 16)] * 3)
    return recording


def test_the_output_is_text_and_a_page(notebook):
    data = notebook.cells[0].outputs[0]["data"]
    assert data["text/plain"] == "Explorer(self attention, 5 × 5)" and data["text/html"].startswith("<iframe")


def test_a_page_of_nbconvert_shows_the_numbers(notebook, browser):
    """A widget whose state is kept comes before the page, so docs/explorer.md leaves it out."""
    nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    notebook = copy.deepcopy(notebook)
    notebook.metadata.pop("widgets", None)
    body, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(notebook)
    assert "<iframe" in body
    opened = Opened(browser.new_page())
    opened.page.context.set_offline(True)
    opened.page.set_content(f'<!doctype html><html lang="en"><title>Notebook</title>{body}</html>')
    opened.page.locator("iframe").wait_for()
    [opened.frame] = [frame for frame in opened.page.frames if frame != opened.page.main_frame]
    opened.ready().point(1, 3)
    assert near(opened.readout("b", "d"), plane(book(recorded()))[1, 3])
    opened.page.close()
