import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import torch

from saccade import AuxOutput
from saccade.cli import explore, main
from saccade.look import Record, Recording
from saccade.look._explorer.pages import exported
from saccade.look._explorer.recordings import sheets_of
from saccade.look._explorer.sheets import Book
from tiny import command, environment


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Two recordings of one call each."""
    folder = tmp_path_factory.mktemp("traces")
    for name, queries in (("short", 3), ("long", 5)):
        weights = torch.rand(1, 2, queries, queries)
        Recording([Record("read", AuxOutput(weights=weights), 0, "self")]).save(folder / name)
    return folder


def failed(arguments, capsys):
    assert main(["explore", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("error: ")
    return err


@pytest.mark.parametrize("suffix", ["", ".safetensors", ".json"])
def test_a_recording_becomes_a_page(traces, suffix, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["explore", f"{traces}/short{suffix}", "--export", str(page)]) == 0
    assert capsys.readouterr().out == f"{page}\n"
    recording = explore.mapped(traces / "short")
    assert page.read_text(encoding="utf-8") == exported(Book("short", sheets_of(recording, None, None)))


def opened(*paths, **more):
    return explore._opened(explore.Arguments(paths=tuple(map(str, paths)), device="cpu", **more))


def test_several_recordings_share_a_page_with_their_names(traces):
    book, live = opened(traces / "short", traces / "long.json", traces / "short")
    assert [sheet.title for sheet in book.sheets] == ["short: self attention, 3 × 3", "long: self attention, 5 × 5"]
    assert book.title == "short, long" and live is None


def test_equal_names_are_told_apart_by_their_paths(traces, tmp_path):
    Recording([Record("read", AuxOutput(weights=torch.rand(1, 2, 3, 3)), 0, "self")]).save(tmp_path / "short")
    book, _ = opened(traces / "short", tmp_path / "short")
    assert [sheet.title.partition(": ")[0] for sheet in book.sheets] == [f"{traces}/short", f"{tmp_path}/short"]


def test_a_run_is_shown_with_its_examples_its_inputs_and_live_texts(run, traces, tmp_path):
    book, live = opened(run)
    assert book.sheets and book.title == run.name
    (tmp_path / "lines.txt").write_text("18 juin 2025\n3 March 1999\n")
    book, live = opened(run, traces / "short", input=(str(tmp_path / "lines.txt"), "mercredi 4 mai 2011"))
    titles = [sheet.title for sheet in book.sheets]
    for text in ("18 juin 2025", "3 March 1999", "mercredi 4 mai 2011"):
        assert any(title.startswith(f"{run.name}: {text}") for title in titles)
    assert titles[-1] == "short: self attention, 3 × 3"
    assert all(sheet.title.startswith(f"{run.name}: 1 May 2001") for sheet in live("1 May 2001"))


def test_a_page_is_never_written_over(traces, tmp_path, capsys):
    page = tmp_path / "page.html"
    page.write_text("mine")
    expected = f"--export: expected the name of a new file, got {page}, which is there already"
    assert expected in failed([traces / "short", "--export", page], capsys) and page.read_text() == "mine"


def test_a_page_of_too_many_numbers_is_refused(traces, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("saccade.look._explorer.pages._LARGEST", 10)
    words = "error: page: expected at most 0 MiB of numbers"
    assert failed([traces / "short", "--export", tmp_path / "page.html"], capsys).startswith(words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "PATH: expected a run or a recording, got none"),
        ("nowhere", "PATH: expected the folder of a run, or a recording (NAME.safetensors and NAME.json), got nowhere"),
        ("folder", "folder: not a run"),
        ("lonely", "lonely.json"),
        ("short --input text", "--input: expected with a run, got recordings alone"),
        ("short --port 65536", "--port: expected a number from 0 to 65535, got 65536"),
        ("short --export=", "--export: expected the name of a new file, got an empty name"),
        ("short --port 8000 --export x.html", "--port: expected without --export, which starts no server"),
        ("short --threads 0", "--threads: expected a number above 0, got 0"),
        ("short --prot 1", "unknown option --prot; did you mean --port?"),
        ("damaged", "path: expected a recording of format 2, got damaged"),
        ("other", "path: expected a recording of format 2, got other: ValueError('format 3')"),
        ("broken", "path: expected a recording of format 2, got broken"),
        ("crooked", "record of read: expected entropy of shape (1, 2, 3), got (1, 2, 7)"),
        ("silent", "recording: expected records with weights, top or entropy, got none"),
    ],
)
def test_what_cannot_be_shown_is_one_line(arguments, words, traces, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    content, about = ((traces / f"short{suffix}").read_bytes() for suffix in (".safetensors", ".json"))
    files = {
        "short": (content, about),
        "damaged": (content[:-5], about),
        "other": (content, json.dumps({**json.loads(about), "format": 3}).encode()),
        "broken": (content, b"{"),
    }
    for name, parts in files.items():
        for suffix, part in zip((".safetensors", ".json"), parts, strict=True):
            Path(f"{name}{suffix}").write_bytes(part)
    aux = AuxOutput(weights=torch.rand(1, 2, 3, 3), entropy=torch.rand(1, 2, 7))
    Recording([Record("read", aux, 0, "self")]).save("crooked")
    Recording().save("silent")
    Path("lonely.safetensors").write_bytes(content)
    Path("folder").mkdir()
    assert words in failed(
        arguments.split() if "--export" in arguments else [*arguments.split(), "--export", "x.html"], capsys
    )
    assert not Path("x.html").exists()


def test_a_taken_port_is_an_error_with_the_way_out(traces, capsys):
    pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install -e '.[serve]'")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        err = failed([traces / "short", "--port", port], capsys)
    assert f"--port: expected a free port, got {port} (Address already in use); --port 0 picks a free one" in err


@pytest.mark.parametrize("missing", ["uvicorn", "starlette.applications"])
def test_a_missing_package_is_named_and_not_needed_for_a_file(traces, missing, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    assert "pip install 'saccade-attention[serve]'" in failed([traces / "short"], capsys)
    assert main(["explore", str(traces / "short"), "--export", str(tmp_path / "page.html")]) == 0


@pytest.mark.parametrize(
    ("variable", "kind", "opens"), [(None, "Terminal", False), ("x", "Terminal", True), (None, "Window", True)]
)
def test_a_browser_of_the_terminal_stays_shut(variable, kind, opens, monkeypatch, tmp_path):
    seen = []

    class Window(explore.webbrowser.GenericBrowser):
        def open(self, url, new=0, autoraise=True):
            return seen.append(url)

    found = Window("window")
    if kind == "Terminal":
        monkeypatch.setattr(explore.webbrowser, "GenericBrowser", Window)
    monkeypatch.setattr(explore.webbrowser, "get", lambda: found)
    monkeypatch.delenv("BROWSER", raising=False)
    if variable:
        monkeypatch.setenv("BROWSER", variable)
    explore._open_browser("http://127.0.0.1:1/?token=a", str(tmp_path))
    assert seen == [(tmp_path / "explorer.html").as_uri()] * opens
    assert "url=http://127.0.0.1:1/?token=a" in (tmp_path / "explorer.html").read_text()


@pytest.mark.slow
def test_an_interrupt_ends_a_server_that_answers(traces):
    pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install -e '.[serve]'")
    server = subprocess.Popen(
        command("explore", traces / "short", "--no-browser"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        url = server.stdout.readline().strip()
        address, token = url.split("?token=")
        assert address.startswith("http://127.0.0.1:")
        with urlopen(url) as page:
            assert page.read().startswith(b"<!doctype html>")
        request = Request(f"{address}manifest", b"{}", {"x-saccade-token": token})
        with urlopen(request) as response:
            assert json.load(response)["title"] == "short"
        server.send_signal(signal.SIGINT)
        out, err = server.communicate()
    finally:
        server.kill()
    assert (server.returncode, out) == (0, "") and err == "Ctrl-C ends the explorer\n"


def test_a_method_of_look_makes_the_pictures_of_a_run(run, traces, capsys):
    book, live = opened(run, by="integrated-gradients", input=("3 March 1999",))
    assert "ntegrated gradients" in book.sheets[0].title
    assert "ntegrated gradients" in live("1 May 2001")[0].title
    assert failed([run, "--by", "flow", "--export", "page.html"], capsys).startswith("error: --by: expected")
    assert failed([run, "--faithful", "--export", "page.html"], capsys).startswith("error: ")
    assert failed([traces / "short", "--by", "flow", "--export", "page.html"], capsys).startswith(
        "error: --by: expected with a run"
    )


def test_a_long_text_is_no_name_of_a_file(run):
    book, _ = opened(run, input=("18 juin 2025 " * 30,))
    assert book.sheets
