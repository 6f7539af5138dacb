import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from saccade._system import notes
from saccade.serve import Limits, application
from tasks.laws.checks import is_near

pytest.importorskip("starlette", reason="starlette is not installed: pip install -e '.[serve]'")
from starlette.testclient import TestClient

from saccade.serve import asgi

LINES = ["18 juin 2025", "3 March 1999", "", "mercredi 4 mai 2011"]


@pytest.fixture
def client(run):
    with TestClient(application(run, Limits(wait_ms=0)), raise_server_exceptions=False) as client:
        yield client


def ask(client, content, **more):
    return client.post("/predict", content=content if isinstance(content, bytes) else json.dumps(content), **more)


@pytest.mark.parametrize("options", [{}, {"nbest": 2, "beam_size": 3}, {"sample": True, "nbest": 2, "seed": 5}])
def test_answers_are_those_of_predict(run, client, options):
    response = ask(client, {"inputs": LINES, **options})
    assert response.status_code == 200 and response.headers["content-type"] == "application/json"
    assert is_near(response.json(), {"answers": run.align(LINES, **options)})


def test_rows_and_no_inputs_are_answered_too(run, client):
    rows = [{"source": line} for line in LINES]
    assert is_near(ask(client, {"inputs": rows}).json(), {"answers": run.align(rows)})
    assert ask(client, {"inputs": []}).json() == {"answers": []}


def test_notes_on_inputs_come_with_the_answers(client, capsys):
    long = " ".join(["18 juin 2025"] * 500)
    [note] = ask(client, {"inputs": ["18 juin 2025", long]}).json()["notes"]
    assert note.startswith("line 2: longer than ") and capsys.readouterr().err == ""


def test_half_a_character_comes_back_as_it_went(client):
    [answer] = ask(client, b'{"inputs": ["\\ud800 juin"]}').json()["answers"]
    assert answer["source"] == "\ud800 juin"


REFUSED = [
    (b"{", 400, "body: expected JSON, got another text"),
    (b"\xff", 400, "body: expected JSON"),
    (b"[" * 100_000, 400, "body: expected JSON"),
    (b"1" * 5_000, 400, "body: expected JSON"),
    (
        b"[]",
        422,
        'body: expected an object with a list of inputs, got list; for example {"inputs": ["a text"]}',
    ),
    (b'{"inputs": "18 juin"}', 422, "body: expected an object with a list of inputs, got an object without it; "),
    (b'{"inputs": [1]}', 422, 'inputs: expected a list of texts, got int; for example {"inputs": ["a text"]}'),
    (b'{"inputs": [{"source": 2.5}]}', 422, "inputs: row 1: expected a text in source, got float; for example"),
    (b'{"inputs": [{"target": "a"}]}', 422, "inputs: row 1: expected a column source, got target; for example"),
    (b'{"inputs": ["a"], "nbst": 2}', 422, "did you mean nbest?"),
    (b'{"inputs": ["a"], "nbest": "2"}', 422, "nbest: expected int, got '2'"),
    (b'{"inputs": ["a"], "top_p": NaN, "sample": true}', 422, "top_p: expected a share"),
    (b'{"inputs": ["a"], "beam_size": 101}', 422, "beam_size: expected at most 100 of a server, got 101"),
    (b'{"inputs": ["a"], "temperature": 2.0}', 422, "temperature: expected only with sample"),
    (b'{"inputs": ["%s"]}' % (b"a" * 100_001), 413, "inputs: row 1: expected at most 100,000 characters"),
    (b'{"inputs": [%s "a"]}' % (b'"a",' * 256), 413, "inputs: expected at most 256, got 257"),
]


@pytest.mark.parametrize(("body", "status", "words"), REFUSED, ids=range(len(REFUSED)))
def test_a_request_without_meaning_has_an_error_and_stops_nothing(run, client, body, status, words):
    response = ask(client, body)
    assert response.status_code == status and list(response.json()) == ["error"]
    assert words in response.json()["error"]
    assert is_near(ask(client, {"inputs": LINES[:1]}).json(), {"answers": run.align(LINES[:1])})


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_is_bounded_also_if_its_length_is_not_declared(run, declared):
    body = b" " * ((1 << 20) + 1)
    with TestClient(application(run, Limits(max_mb=1))) as client:
        response = ask(client, body) if declared else client.post("/predict", content=iter([body[:99], body[99:]]))
        assert response.status_code == 413
        assert response.json() == {"error": "body: expected at most 1 MiB, got more; send fewer inputs at once"}
        assert ask(client, body[:-20] + b'{"inputs": []}').json() == {"answers": []}


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/predict", 405), ("POST", "/", 405), ("GET", "/etc/passwd", 404)]
)
def test_other_pages_are_refused_with_those_there_are(client, method, path, status):
    response = client.request(method, path)
    expected = f"{method} {path}: expected POST /predict, GET /, GET /health or GET /openapi.json"
    assert (response.status_code, response.json()) == (status, {"error": expected})


def test_a_failure_of_the_program_is_an_error_of_its_request(run, client, monkeypatch):
    monkeypatch.setattr(type(run.task), "answer", lambda *_: 1 / 0)
    response = ask(client, {"inputs": LINES})
    assert response.status_code == 500 and "ZeroDivisionError" in response.json()["error"]
    monkeypatch.undo()
    assert ask(client, {"inputs": LINES}).status_code == 200


def test_beyond_the_queue_requests_may_come_again_later(run):
    limits = Limits(queue=1, batch=2, wait_ms=600_000)  # the first waits for a second one, ten minutes
    with TestClient(application(run, limits)) as client, ThreadPoolExecutor() as pool:
        first = pool.submit(ask, client, {"inputs": ["18 juin 2025"]})
        while not client.get("/health").json()["waiting"]:
            pass
        second = ask(client, {"inputs": ["18 juin 2025"]})
        assert second.status_code == 503 and second.headers["retry-after"] == "1"
        assert second.json() == {"error": "1 requests wait already; ask again later"}
        client.portal.call(client.app.state.batches.stop)  # in the event loop of the server
        assert first.result().json() == {"error": "the server stops; ask it again once it has started"}


def test_requests_at_once_are_answered_in_one_batch(run):
    limits = Limits(batch=8, wait_ms=600_000)
    lines = [f"{day} juin 2025" for day in range(1, 9)]
    with TestClient(application(run, limits)) as client, ThreadPoolExecutor(8) as pool:
        responses = [*pool.map(lambda line: ask(client, {"inputs": [line]}).json()["answers"], lines)]
        health = client.get("/health").json()
    assert is_near(responses, [run.align(line) for line in lines])
    assert (health["requests"], health["batches"], health["waiting"]) == (8, 1, 0)


@pytest.mark.parametrize("lifespan", [True, False])
def test_an_application_answers_in_each_lifespan_and_without_one(run, lifespan):
    server = application(run, Limits(wait_ms=0))
    for _ in range(2):
        client = TestClient(server)
        with client if lifespan else nullcontext():
            assert ask(client, {"inputs": LINES[:1]}).status_code == 200


def test_a_note_outside_requests_is_still_written(client, capsys):
    ask(client, {"inputs": [" ".join(["18 juin 2025"] * 500)]})
    notes.say("outside")
    assert capsys.readouterr().err == "outside\n"


@pytest.mark.parametrize("gone", [True, False])
def test_a_body_that_does_not_arrive_is_an_error_of_its_request(run, monkeypatch, gone):
    monkeypatch.setattr(asgi, "_PATIENCE", 0)
    sent = []

    async def receive():
        return {"type": "http.disconnect"} if gone else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/predict", "headers": [], "query_string": b""}
    asyncio.run(application(run)(scope, receive, send))
    assert sent[0]["status"] == 400 and b"body: expected a whole body within 0 s, got a part" in sent[1]["body"]
