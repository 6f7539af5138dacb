import json
import signal
import socket
import subprocess
import sys
from urllib.request import Request, urlopen

import pytest

from saccade import runs
from saccade.cli import main
from tasks.laws.checks import is_near
from tiny import command, environment

pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install -e '.[serve]'")


def ask(url, **content):
    with urlopen(Request(f"{url}/predict", json.dumps(content).encode())) as response:
        return json.load(response)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--port 65536", "error: --port: expected a number from 0 to 65535, got 65536; "),
        ("--threads 0", "error: --threads: expected a number above 0, got 0; "),
        ("--batch 0", "error: --batch: expected a number from 1 to 100000, got 0"),
        (
            "--host no.such.host.invalid",
            "--host, --port: expected an address and a free port, got no.such.host.invalid",
        ),
        ("--beam-size 3", "unknown option --beam-size"),
    ],
)
def test_options_without_meaning_are_refused(run, options, words, capsys):
    assert main(["serve", str(run), *options.split()]) == 2
    out, err = capsys.readouterr()
    assert out == "" and words in err and err.count("\n") == 1


def test_a_taken_port_is_an_error_with_the_way_out(run, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", str(run), "--port", str(port)]) == 2
    assert f"got 127.0.0.1 and {port} (Address already in use); --port 0 picks a free one" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["uvicorn", "starlette.applications"])
def test_a_missing_package_is_named_with_its_installation(run, missing, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("saccade.serve.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["serve", str(run), "--port", "0"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines()[-1] == (
        "error: serving needs Starlette and uvicorn, which are not installed: pip install 'saccade-attention[serve]'"
    )


@pytest.mark.slow
def test_an_interrupt_ends_a_server_that_answers(run):
    server = subprocess.Popen(
        command("serve", run, "--port", "0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        url = server.stdout.readline().strip()
        answers = ask(url, inputs=["18 juin 2025"], nbest=2)["answers"]
        server.send_signal(signal.SIGINT)
        out, err = server.communicate()
    finally:
        server.kill()
    assert is_near(answers, runs.load(run, device="cpu").align("18 juin 2025", nbest=2))
    assert (server.returncode, out) == (0, "")
    assert err.splitlines() == [f"serving {run}; Ctrl-C stops it", "stopped"]
