"""Exported files give the answers of their runs, and what cannot be exported is refused in one line."""

import json
import re
from pathlib import Path

import pytest
import torch

from saccade import runs
from saccade.cli import main
from saccade.errors import ArgumentError, SaccadeError
from saccade.models.padded import Padded
from saccade.tasks import load_task
from saccade.tasks.export import Signature, export
from tasks.laws.conftest import complete, quiet, small, trained  # noqa: F401
from tasks.laws.table import TABLE, questions

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
EXPORTED = re.findall(r"^\| `([a-z-]+)` \| `([a-z-]+)` \| (yes|no: .*) \|$", PAGE, re.M)
FILES = [(task, model, {}) for task, model, export in EXPORTED if export == "yes"]
WITH_OPTIONS = [  # of recipes for data of the user, and hard self-attention
    ("regress", "mlp", {"start": "stacked"}),
    ("classify-text", "fixed", {"prior": "tfidf"}),
    ("classify-text", "self-attention", {"self_read": "argmax"}),
    ("classify-image", "cnn", {"colours": True}),
]
REFUSED = [(task, model, export.removeprefix("no: ")) for task, model, export in EXPORTED if export != "yes"]


def inputs_of(run, texts):
    """The inputs of an exported model by name, from those of a model."""
    [batch] = run.encode(texts)
    if not isinstance(batch, Padded):
        return {"images": batch}
    names = ("ids", "lengths") if run.task.name == "classify-text" else ("numbers", "lengths")
    rows = run.task.name == "regress" and run.task.codec.features
    return dict(zip(names[:1] if rows else names, batch, strict=False))


def asked(run, folder, counts=(1, 3)):
    """Batches of real inputs of the test split, of several sizes and lengths."""
    folder.mkdir(exist_ok=True)
    lines = questions(run.task, folder, max(counts))
    return [lines[:count] for count in counts]


def expected(run, texts):
    with torch.inference_mode():
        outputs = run.model(*run.encode(texts))
    return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)


def assert_same(answers, outputs):
    for answer, output in zip(answers, outputs, strict=True):
        torch.testing.assert_close(torch.as_tensor(answer), output, atol=1e-5, rtol=1e-5)


def test_the_page_has_every_model_of_its_jobs():
    jobs = dict.fromkeys(task for task, *_ in EXPORTED)
    assert [(task, model) for task, model, _ in EXPORTED] == [
        (job, model) for job in jobs for model in TABLE[job].models
    ]
    assert set(jobs) == {task for task in TABLE if load_task(task).signature is not None}


@pytest.mark.slow
@pytest.mark.parametrize(("task", "model", "options"), [*FILES, *WITH_OPTIONS])
def test_onnx_runtime_gives_the_answers_of_the_run(trained, tmp_path, task, model, options):  # noqa: F811
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    run = trained(task, model, **options)
    path = run.export(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(path)
    for texts in asked(run, tmp_path / "asked"):
        inputs = {name: tensor.numpy() for name, tensor in inputs_of(run, texts).items()}
        assert [part.name for part in session.get_inputs()] == [*inputs]
        assert_same(session.run(None, inputs), expected(run, texts))
    about = json.loads(session.get_modelmeta().custom_metadata_map["saccade"])
    assert (about["task"], about["model"]) == (task, model)
    sizes = {size for part in session.get_inputs() for size in part.shape if isinstance(size, str)}
    assert sizes == ({"batch", "length"} if task == "classify-text" else {"batch"})


@pytest.mark.slow
@pytest.mark.parametrize(("task", "model", "options"), [*FILES, *WITH_OPTIONS])
def test_a_program_gives_the_answers_of_the_run(trained, tmp_path, task, model, options):  # noqa: F811
    run, extra = trained(task, model, **options), {"saccade.json": ""}
    program = torch.export.load(run.export(tmp_path / "model.pt2"), extra_files=extra)
    assert "saccade" not in " ".join(str(node.target) for node in program.graph.nodes)
    for texts in asked(run, tmp_path / "asked"):
        answers = program.module()(**inputs_of(run, texts))
        assert_same([answers] if isinstance(answers, torch.Tensor) else answers, expected(run, texts))
    assert json.loads(extra["saccade.json"])["model"] == model


@pytest.mark.slow
def test_sets_of_any_size_are_exported(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    options = {"model": "set-transformer", "hidden_dim": 8, "heads": 2, "max_steps": 1, "threads": 1, "device": "cpu"}
    run = runs.train("regress", data="maximum", run=tmp_path / "run", **options)
    session = onnxruntime.InferenceSession(run.export(tmp_path / "sets.onnx"))
    for sets in ([[1.0, 5.0, 2.0], [3.0]], [[4.0]]):
        inputs = {name: tensor.numpy() for name, tensor in inputs_of(run, sets).items()}
        assert_same(session.run(None, inputs), expected(run, sets))


@pytest.mark.parametrize(("task", "model", "reason"), [pytest.param(*row, marks=pytest.mark.slow) for row in REFUSED])
def test_a_model_without_export_is_refused_with_the_reason(trained, tmp_path, task, model, reason):  # noqa: F811
    with pytest.raises(ArgumentError) as error:
        trained(task, model).export(tmp_path / "model.onnx")
    assert str(error.value) == f"--model: expected one with an export, got {model}: {reason}"


def test_a_job_without_export_and_a_wrong_path_are_refused(trained, tmp_path, capsys):  # noqa: F811
    run = trained("memorize", "ntm")
    able = "classify-text or classify-image or regress"
    with pytest.raises(ArgumentError, match=f"^RUN: expected a run of {able}, got one of memorize; "):
        run.export(tmp_path / "model.onnx")
    (tmp_path / "there.onnx").write_bytes(b"mine")
    for name, reason in (
        ("model.pth", "expected a name that ends in .onnx or .pt2, got .pth"),
        ("there.onnx", "expected a new file, got one that is there already; give another name"),
        ("no/model.onnx", f"expected an existing folder, got {tmp_path / 'no'}; make it first"),
    ):
        capsys.readouterr()
        assert main(["export", str(run.folder), str(tmp_path / name)]) == 2
        assert capsys.readouterr().err == f"error: {tmp_path / name}: {reason}\n"
    assert (tmp_path / "there.onnx").read_bytes() == b"mine"


class Doubled(torch.nn.Module):
    def forward(self, numbers):
        return numbers * (2 if torch.compiler.is_exporting() else 3)


class Widened(torch.nn.Module):
    def forward(self, numbers):
        return torch.cat([numbers] * 3, -1) if torch.compiler.is_exporting() else numbers


def refused(module, path):
    draw = lambda batch, length: {"numbers": torch.ones(batch, 2)}
    with pytest.raises(SaccadeError) as error:
        export(Signature(module, draw, {"numbers": {0: "batch"}}, ["answers"], {}), path)
    assert not path.exists()
    return str(error.value)


def test_a_file_with_other_answers_is_not_written(tmp_path):
    path = tmp_path / "wrong.pt2"
    expected = "expected answers of the model, got some 0.3 away; nothing is written"
    assert refused(Doubled(), path) == f"{path}: {expected}"


def test_a_file_with_answers_of_another_shape_is_not_written(tmp_path):
    path = tmp_path / "wrong.pt2"
    expected = "expected answers (1, 2) of the model, got (1, 6); nothing is written"
    assert refused(Widened(), path) == f"{path}: {expected}"


def test_an_error_of_the_files_own_answers_is_one_line(tmp_path, monkeypatch):
    def answers(inputs):
        raise Exception("FAIL :\nno kernel")  # ONNX Runtime's errors are exceptions of no other class

    monkeypatch.setattr("saccade.tasks.export._pt2", lambda *arguments: (b"content", answers))
    path = tmp_path / "wrong.pt2"
    assert refused(Doubled(), path) == (
        f"{path}: expected a model that torch can export, got another (FAIL : no kernel)"
    )


def test_the_page_reads_a_text_as_the_tokenizer_does(trained):  # noqa: F811
    run = trained("classify-text", "rnn-attention")
    [function] = re.findall(r"^def ids_of.*?(?=^\S)", PAGE, flags=re.M | re.S)
    names = {}
    exec(function, names)  # the page's own lines
    about = json.loads(json.dumps(run.task.task.signature(run.task.codec, run.model).about))
    text = "The plot wasn’t dull: ÉTÉ 日本 don't!"
    assert names["ids_of"](text, about) == run.tokenizer.encode(text) == run.encode([text])[0].values[0].tolist()
