"""A server answers as `predict` does, and reads no file of its machine."""

import base64
import json
from dataclasses import fields
from pathlib import Path

import pytest

from saccade.serve import Limits, application
from saccade.serve.inputs import example_input, file_columns
from tasks.laws.checks import is_near
from tasks.laws.table import TABLE, each_task

pytest.importorskip("starlette", reason="starlette is not installed: pip install -e '.[serve]'")
from starlette.testclient import TestClient


def posed(run, line):
    """An input of a shell as one of a request: a file in base64, with its path as name."""
    if not file_columns(run.task):
        return line
    path, _, text = line.partition("\t")
    content = base64.b64encode(Path(path).read_bytes()).decode()
    row = {file_columns(run.task)[0]: content, "name": path}
    return {**row, "question": text} if TABLE[run.task.name].beside else row


@each_task
def test_served_answers_are_those_of_predict(run, asked):
    with TestClient(application(run, Limits(wait_ms=0))) as client:
        for options in TABLE[run.task.name].asked:
            body = {"inputs": [posed(run, line) for line in asked], **options}
            response = client.post("/predict", content=json.dumps(body))
            plain = [answer.to_json() for answer in run.answers(asked, run.request("predict", options), "json")]
            assert response.status_code == 200, response.text
            assert is_near(response.json()["answers"], json.loads(json.dumps(plain)))
        described = client.get("/openapi.json").json()["paths"]["/predict"]["post"]
        schema = described["requestBody"]["content"]["application/json"]["schema"]
        options = {field.name: field.default for field in fields(run.task.requests["predict"])}
        assert schema["properties"].keys() == {"inputs", *options}
        assert all(schema["properties"][name]["default"] == default for name, default in options.items())
        page = client.get("/").text
        assert all(f"<td>{name}<td>" in page for name in options) and "://" not in page.replace("http://localhost", "")


@each_task
def test_a_server_reads_no_file_of_its_machine(run, asked):
    if not file_columns(run.task):
        pytest.skip("inputs are no files")
    column = file_columns(run.task)[0]
    paths = [line.partition("\t")[0] for line in asked]
    with TestClient(application(run, Limits(wait_ms=0))) as client:
        for path in (*paths, "-"):
            for row in (path, {column: path, "question": "what is it?"}, {column: "", "name": path, "question": "?"}):
                response = client.post("/predict", content=json.dumps({"inputs": [row]}))
                assert response.status_code == 422 and list(response.json()) == ["error"]


@each_task
def test_a_wrong_body_is_answered_with_an_example_that_is_right(run, asked):
    with TestClient(application(run, Limits(wait_ms=0))) as client:
        for content in ([], {}, {"inputs": [None]}):
            error = client.post("/predict", content=json.dumps(content)).json()["error"]
            assert "expected" in error and "path" not in error, error
        example = {"inputs": [example_input(run.task)]}
        assert error.endswith(f"; for example {json.dumps(example, ensure_ascii=False)}"), error
        if not file_columns(run.task) and run.task.name != "memorize":  # whose questions depend on the problem
            assert client.post("/predict", content=json.dumps(example)).status_code == 200
