"""The server answers its own page, with the token, and nobody else."""

import json
import re
import struct
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from look.explorer.books import book, encoded, opened, plane, planes
from look.explorer.test_answers import of_text
from saccade.look._explorer.answers import Answers
from saccade.look._explorer.pages import exported, server_page
from saccade.look._explorer.recordings import sheets_of
from saccade.look._explorer.sheets import TILE, Book
from saccade.look._records import load, mapped

pytest.importorskip("starlette", reason="starlette is not installed: pip install -e '.[serve]'")
from starlette.testclient import TestClient

from saccade.look._explorer import server

TOKEN, PORT = "a-secret", 8123
HEADERS = {"x-saccade-token": TOKEN}
ROUTES = [("GET", "/"), ("POST", "/manifest"), ("POST", "/piece"), ("POST", "/live"), ("GET", "/page.html")]


def client_of(answers, **options):
    application = server.application(answers, "A model", TOKEN, PORT)
    return TestClient(application, f"http://127.0.0.1:{PORT}", headers=HEADERS, follow_redirects=False, **options)


@pytest.fixture(scope="module")
def made():
    return book(encoded())


@pytest.fixture
def client(made):
    with client_of(Answers(made, of_text)) as client:
        yield client


def is_one_line(response):
    about = response.json()
    return set(about) == {"error"} and "\n" not in response.text and len(response.text) < 400


REFUSED = {
    "no token": {"x-saccade-token": ""},
    "another token": {"x-saccade-token": "a-secreT"},
    "a longer token": {"x-saccade-token": f"{TOKEN}x"},
    "a token of other letters": {"x-saccade-token": b"\xff\xfe"},
    "another host": {"host": "explorer.example"},
    "another port": {"host": "127.0.0.1:80"},
    "no port": {"host": "127.0.0.1"},
    "a host that only begins so": {"host": f"127.0.0.1:{PORT}.example"},
    "a user before the host": {"host": f"x@127.0.0.1:{PORT}"},
    "an empty host": {"host": ""},
    "another page": {"origin": "https://explorer.example"},
    "another page of this machine": {"origin": f"http://127.0.0.1:{PORT + 1}"},
    "a page over TLS": {"origin": f"https://127.0.0.1:{PORT}"},
    "a page of a file": {"origin": "null"},
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_pages_machines_and_users_are_refused(client, name):
    for method, path in [*ROUTES, ("OPTIONS", "/piece"), ("GET", "/nowhere")]:
        response = client.request(method, path, headers=REFUSED[name])
        assert response.status_code == 403 and is_one_line(response)


def test_a_refused_request_is_not_read(made):
    def never(text):
        raise AssertionError(text)

    with client_of(Answers(made, never)) as client:
        body = json.dumps({"text": "a"})
        assert client.post("/live", content=body, headers={"origin": "https://explorer.example"}).status_code == 403


@pytest.mark.parametrize("headers", [{}, {"host": f"localhost:{PORT}"}, {"origin": f"http://localhost:{PORT}"}])
def test_the_page_of_this_machine_is_answered(client, headers):
    for method, path in ROUTES:
        body = "{}" if method == "POST" else None
        assert client.request(method, path, headers=headers, content=body).status_code == 200
        by_url = {**headers, "x-saccade-token": ""}
        assert client.request(method, f"{path}?token={TOKEN}", headers=by_url, content=body).status_code == 403
        del client.headers["x-saccade-token"]
        assert client.request(method, f"{path}?token={TOKEN}", headers=headers, content=body).status_code == 200
        assert client.request(method, f"{path}?token=x{TOKEN}", headers=headers, content=body).status_code == 403
        client.headers["x-saccade-token"] = TOKEN


def test_the_page_has_its_policy_as_a_header_too(client):
    response = client.get("/")
    assert response.text == server_page("A model") and response.headers["content-type"].startswith("text/html")
    [policy] = re.findall('http-equiv="Content-Security-Policy" content="([^"]+)"', response.text)
    assert response.headers["content-security-policy"] == f"{policy}; frame-ancestors 'none'"


def test_every_answer_has_the_headers_that_browsers_need(made):
    def failing(text):
        raise RuntimeError("a\nfailure")

    with client_of(Answers(made, failing), raise_server_exceptions=False) as client:
        answers = [
            *(client.request(method, path, content="{}" if method == "POST" else None) for method, path in ROUTES),
            client.get("/nowhere"),
            client.get("/manifest/"),
            client.get("/manifest"),
            client.put("/piece"),
            client.post("/piece", content="{"),
            client.post("/piece", content="x" * (1 << 17)),
            client.get("/", headers={"host": "explorer.example"}),
            client.post("/live", content='{"text": "a"}'),
        ]
    assert [answer.status_code for answer in answers] == [200] * 5 + [404, 404, 405, 405, 400, 413, 403, 500]
    assert all(is_one_line(answer) for answer in answers[5:])
    for answer in answers:
        headers = answer.headers
        assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer" and headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert not [name for name in headers if name.startswith("access-control") or name == "set-cookie"]


def test_bodies_have_a_limit_with_and_without_a_length(client):
    body = json.dumps({"piece": "row", "x": ""}).encode()
    whole = body[:-2] + b"x" * ((64 << 10) - len(body)) + body[-2:]
    assert len(whole) == 64 << 10 and client.post("/piece", content=whole).status_code == 200
    for path in ("/manifest", "/piece", "/live"):
        long = whole[:-2] + b"x" + whole[-2:]
        for content in (long, iter([long[:1000], long[1000:]])):
            response = client.post(path, content=content)
            assert response.status_code == 413 and "at most 64 KiB" in response.json()["error"]


def test_pieces_are_slices_of_the_matrix(client, made):
    for layer, head, example in [(0, 0, 0), (2, 3, 1)]:
        place = {"layer": layer, "head": head, "example": example}
        matrix = plane(made, **place)
        for request, expected in [
            ({"piece": "tile", "level": 0, "row": 0, "column": 0}, matrix.ravel()),
            ({"piece": "row", "at": 5}, matrix[5]),
            ({"piece": "column", "at": 7}, matrix[:, 7]),
            ({"piece": "line", "name": "received"}, matrix.sum(0)),
        ]:
            response = client.post("/piece", json={**place, **request})
            assert response.headers["content-type"] == "application/octet-stream"
            assert np.allclose(opened(response.content)[1], expected, atol=1e-6)
    assert client.post("/manifest").json() == {**json.loads(json.dumps(made.manifest())), "book": 0, "live": True}


BODIES = [
    b"",
    b"{",
    b"\xff\xfe",
    b"[]",
    b"null",
    b"7",
    b'"piece"',
    b"NaN",
    b"[" * 60_000,
    b'{"piece":' * 6000,
    b"1" * 10_000,
    b'{"piece": {"piece": "tile"}}',
    b'{"piece": "tile", "layer": 1e999}',
    b'{"piece": "tile", "layer": -0.0}',
    b'{"piece": "tile", "layer": ' + b"9" * 4000 + b"}",
    b'{"piece": "line", "name": "__class__"}',
    b'{"piece": "line", "name": "\\ud800"}',
    b'{"piece": "../../etc/passwd"}',
    b'{"piece": "tile", "book": {}}',
    b'{"piece": "tile", "minus": [[], {}, null]}',
    b'{"piece": "live", "text": "' + b"x" * 2001 + b'"}',
    b'{"__proto__": {"piece": "tile"}}',
]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_hostile_body_is_answered_with_one_line(client, body):
    for path in ("/piece", "/live"):
        response = client.post(path, content=body)
        assert response.status_code in (200, 400)
        about = response.json() if response.status_code == 400 else opened(response.content)[0]
        assert set(about) == {"error"} and "\n" not in about["error"] and len(about["error"]) < 300


NAMES = st.sampled_from(
    ["sheet", "layer", "head", "example", "piece", "level", "row", "column", "at", "name", "minus", "book"]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["tile", "row", "line"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(deadline=None)
@given(st.dictionaries(NAMES, VALUES, max_size=6))
def test_any_request_has_numbers_or_one_line(request_):
    with client_of(Answers(planes(torch.rand(3, 7)))) as client:
        response = client.post("/piece", content=json.dumps(request_))
    about, values = opened(response.content)
    assert response.status_code == 200
    assert (set(about) == {"error"} and not len(values)) or np.prod(about["shape"]) == len(values)


def test_a_text_adds_sheets(client):
    response = client.post("/live", json={"text": "four"})
    about, _ = opened(response.content)
    assert about["sheet"] == 1 and len(about["manifest"]["sheets"]) == 2
    assert opened(client.post("/piece", json={"piece": "row", "sheet": 1}).content)[1].tolist() == [4.0] * 7
    assert opened(client.post("/piece", json={"piece": "live", "text": "four"}).content)[0]["sheet"] == 2


def test_texts_wait_in_a_short_queue_and_pieces_do_not_wait_for_them(made):
    began, ends = Event(), Event()

    def slow(text):
        began.set()
        assert ends.wait(600)
        return of_text(text)

    with client_of(Answers(made, slow)) as client, ThreadPoolExecutor(5) as threads:
        asked = [threads.submit(client.post, "/live", json={"text": "four"}) for _ in range(5)]
        assert began.wait(600)
        [first] = wait(asked, return_when="FIRST_COMPLETED").done
        refused = first.result()
        assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
        assert "at most 4 texts at once" in refused.json()["error"] and is_one_line(refused)
        assert client.post("/piece", json={"piece": "row"}).status_code == 200
        ends.set()
        statuses = sorted(future.result().status_code for future in asked)
        assert statuses == [200] * 4 + [503]


def test_a_slow_text_is_an_error_in_time(made, monkeypatch):
    monkeypatch.setattr(server, "_LIVE_SECONDS", 0.01)
    ends = Event()

    def slow(text):
        assert ends.wait(600)
        return of_text(text)

    with client_of(Answers(made, slow)) as client:
        response = client.post("/live", json={"text": "four"})
        ends.set()
    assert response.status_code == 504 and response.json()["error"].startswith("live: expected an answer within ")


def test_the_file_is_the_exported_page(client, made, monkeypatch):
    response = client.get("/page.html")
    assert response.text.rstrip() == exported(made).rstrip()
    assert response.headers["content-disposition"] == "attachment; filename*=utf-8''A-model.html"
    monkeypatch.setattr("saccade.look._explorer.pages._LARGEST", 80)
    refused = client.get("/page.html")
    assert refused.status_code == 422 and is_one_line(refused) and "page: expected at most" in refused.json()["error"]


# Large recordings


def sparse(path, layers, heads, tokens):
    """Write a recording of zeros that takes no room on the disk, and return its size."""
    size = 4 * heads * tokens * tokens
    about = {
        f"{layer}.weights.0": {
            "dtype": "F32", "shape": [1, heads, tokens, tokens], "data_offsets": [layer * size, (layer + 1) * size]
        }
        for layer in range(layers)
    }  # fmt: skip
    head = json.dumps(about).encode()
    head += b" " * (-len(head) % 8)
    with Path(f"{path}.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        file.truncate(8 + len(head) + layers * size)
    calls = [{"name": f"layers.{layer}", "call": layer, "kind": "self", "key_offset": 0} for layer in range(layers)]
    coverage = {"recorded": [call["name"] for call in calls], "partial": [], "bypassing": []}
    Path(f"{path}.json").write_text(json.dumps({"format": 2, "calls": calls, "coverage": coverage}))
    return layers * size


def resident(path):
    """Bytes of a mapped file that this process has read."""
    kib, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(f"{path}.safetensors")
        elif inside and line.startswith("Rss:"):
            kib += int(line.split()[1])
    return kib << 10


def test_a_recording_of_two_gigabytes_opens_without_reading_it(tmp_path):
    if not Path("/proc/self/smaps").exists():
        pytest.skip("/proc/self/smaps is on Linux alone")
    path = tmp_path / "large"
    assert sparse(path, 16, 32, 1024) == 2 << 30
    made = Book("Large", sheets_of(mapped(path), None, None))
    sent = 0
    with client_of(Answers(made)) as client:
        sent += len(client.get("/").content) + len(client.post("/manifest").content)
        assert resident(path) < 1 << 20
        for row in range(1024 // TILE):
            for column in range(1024 // TILE):
                sent += len(client.post("/piece", json={"piece": "tile", "row": row, "column": column}).content)
        for name in ("entropy", "received"):
            sent += len(client.post("/piece", json={"piece": "line", "name": name}).content)
        assert 4 << 20 < sent < 5_000_000
        assert 4 << 20 <= resident(path) < 8 << 20  # one matrix
        measured = client.post("/piece", json={"piece": "measures", "layer": 3}).content
        assert opened(measured)[0]["shape"] == [4, 32] and resident(path) < 160 << 20  # and the matrices of a layer


def test_measures_on_request_are_those_of_small_recordings(tmp_path, monkeypatch):
    recording = encoded()
    eager = book(recording).manifest()["sheets"][0]["measures"]
    monkeypatch.setattr("saccade.look._explorer.recordings._AT_ONCE", 0)
    late = book(recording)
    assert late.manifest()["sheets"][0]["measures"] == dict.fromkeys(eager)
    for example in range(2):
        for layer in range(3):
            about, content = late.piece({"piece": "measures", "layer": layer, "example": example})
            expected = [eager[name][example][layer] for name in about["names"]]
            assert about["names"] == list(eager)
            assert np.allclose(np.frombuffer(content, "<f4").reshape(about["shape"]), expected, rtol=1e-5)


def test_many_measures_are_not_in_the_manifest(monkeypatch):
    monkeypatch.setattr("saccade.look._explorer.sheets._MEASURES", 71)
    made = book(encoded())  # 2 examples, 3 layers, 4 heads and 4 measures
    assert set(made.manifest()["sheets"][0]["measures"].values()) == {None}
    values = np.frombuffer(made.piece({"piece": "measures", "layer": 1})[1], "<f4")
    assert np.allclose(values, torch.stack([part[0, 1] for part in made.sheets[0].measures.values()]).ravel())


def test_a_mapped_recording_is_the_loaded_one(tmp_path):
    encoded().save(tmp_path / "trace")
    for near, far in zip(load(tmp_path / "trace"), mapped(tmp_path / "trace"), strict=True):
        assert near.name == far.name and torch.equal(near.weights, far.weights)
