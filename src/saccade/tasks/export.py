"""Models as files that run without Saccade: ONNX, and programs of `torch.export`."""

import contextlib
import copy
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from saccade import __version__
from saccade._plainly import plainly
from saccade._system.files import check_writable, write
from saccade._threads import own_filters
from saccade.errors import ArgumentError, SaccadeError, pip_install
from saccade.tasks import TASKS, load_task

__all__ = ["SUFFIXES", "Signature", "check_path", "export", "signature_of"]

SUFFIXES = (".onnx", ".pt2")
_TRACED, _TRIED = (3, 7), ((1, 1), (5, 11))  # examples of a batch, and their length
_NEAR = 1e-4  # largest difference from the model's answers, relative to those above 1


@dataclass(frozen=True)
class Signature:
    """A model with its inputs and outputs by name.

    Args:
        module: the model. Its `forward` takes the inputs by name.
        draw: from a number of examples and their length to inputs, for the trace and a check of the file.
        varying: names of the dimensions of any size, by input and dimension.
        outputs: names of the outputs.
        about: documentation for users of the file, as JSON.
    """

    module: nn.Module
    draw: Callable[[int, int], Mapping[str, Tensor]]
    varying: Mapping[str, Mapping[int, str]]
    outputs: Sequence[str]
    about: Mapping[str, Any]


def check_path(path: Path) -> None:
    """Check that an export can be written to a path.

    Raises:
        ArgumentError: if its suffix means nothing, it exists already, or its folder does not.
    """
    if path.suffix not in SUFFIXES:
        got = path.suffix or "no suffix"
        raise ArgumentError(f"{path}: expected a name that ends in {' or '.join(SUFFIXES)}, got {got}")
    if path.exists():
        raise ArgumentError(f"{path}: expected a new file, got one that is there already; give another name")
    if not path.parent.is_dir():
        raise ArgumentError(f"{path}: expected an existing folder, got {path.parent}; make it first")
    check_writable(str(path), path.parent)


def export(signature: Signature, path: Path) -> None:
    """Write a model to a file, and compare answers of the file with the model's.

    Args:
        signature: the model. It is copied to the CPU.
        path: the file. Its suffix is .onnx for ONNX, or .pt2 for `torch.export.load`.

    Raises:
        ArgumentError: as of `check_path`, or if torch cannot export the model.
        SaccadeError: if packages are missing, or the file's answers are not the model's.
        OSError: if the file cannot be written.
    """
    check_path(path)
    if path.suffix == ".onnx":
        _check_packages()
    module = copy.deepcopy(signature.module).cpu().eval()
    with _quiet(), torch.no_grad():
        try:
            program, sizes = _traced(module, signature)
            content, answers = (_onnx if path.suffix == ".onnx" else _pt2)(program, signature, sizes)
            tried = [signature.draw(batch, length) for batch, length in _TRIED]
            compared = [(answers(inputs), module(**inputs)) for inputs in tried]
        except Exception as error:  # torch's own, and those of onnx and its runtime, which share no other class
            cause: BaseException = error
            while cause.__cause__ is not None:  # torch wraps the reason in advice
                cause = cause.__cause__
            reason = " ".join(str(cause).split())[:150]
            raise ArgumentError(f"{path}: expected a model that torch can export, got another ({reason})") from error
    for pair in compared:
        _compare(path, *pair)
    write(path, content)


def signature_of(job: Any, model: nn.Module) -> Signature:
    """Return what `export` writes of the model of a job (`saccade.tasks.task.Job`).

    Raises:
        ArgumentError: if its task or its model has no export.
    """
    if job.task.signature is None:
        able = " or ".join(name for name in TASKS if getattr(load_task(name), "signature", None) is not None)
        raise ArgumentError(f"RUN: expected a run of {able}, got one of {job.name}; other tasks have no export")
    if reason := getattr(model, "unexported", ""):
        raise ArgumentError(f"--model: expected one with an export, got {job.settings.model}: {reason}")
    signature: Signature = job.task.signature(job.codec, model)
    about = {"saccade": __version__, "task": job.name, "model": job.settings.model}
    return replace(signature, about={**about, **signature.about})


_Answers = Callable[[Mapping[str, Tensor]], Sequence[Tensor]]


def _traced(module: nn.Module, signature: Signature) -> tuple[torch.export.ExportedProgram, Mapping[str, Any]]:
    """The program of a module in plain operators, and its dimensions of any size."""
    names = {name for axes in signature.varying.values() for name in axes.values()}
    any_size = {name: torch.export.Dim(name, min=1) for name in names}
    sizes = {key: {dim: any_size[name] for dim, name in axes.items()} for key, axes in signature.varying.items()}
    with plainly():
        program = torch.export.export(module, (), dict(signature.draw(*_TRACED)), dynamic_shapes=sizes)
    return program.run_decompositions({}), sizes


def _check_packages() -> None:
    try:
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401  (torch.onnx imports it)
    except ImportError as error:
        raise SaccadeError(f"ONNX files need {error.name}, which is not installed: {pip_install('export')}") from error


def _onnx(
    program: torch.export.ExportedProgram, signature: Signature, sizes: Mapping[str, Any]
) -> tuple[bytes, _Answers]:
    """Content of an ONNX file, and its answers by ONNX Runtime."""
    import onnxruntime

    inputs = list(signature.varying)
    made: Any = torch.onnx.export(
        program,
        dynamic_shapes=dict(sizes),
        input_names=inputs,
        output_names=list(signature.outputs),
        external_data=False,
        verbose=False,
    )
    made.model.metadata_props["saccade"] = json.dumps(signature.about, ensure_ascii=False)
    content = made.model_proto.SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])

    def answers(tensors: Mapping[str, Tensor]) -> list[Tensor]:
        return list(map(torch.from_numpy, session.run(None, {name: tensors[name].numpy() for name in inputs})))

    return content, answers


def _pt2(
    program: torch.export.ExportedProgram, signature: Signature, sizes: Mapping[str, Any]
) -> tuple[bytes, _Answers]:
    """Content of a file of `torch.export.save`, and the answers of the program."""
    file, module = io.BytesIO(), program.module()
    torch.export.save(program, file, extra_files={"saccade.json": json.dumps(signature.about, ensure_ascii=False)})

    def answers(tensors: Mapping[str, Tensor]) -> Sequence[Tensor]:
        outputs = module(**tensors)
        return [outputs] if isinstance(outputs, Tensor) else list(outputs)

    return file.getvalue(), answers


def _compare(path: Path, answers: Sequence[Tensor], outputs: Any) -> None:
    for answer, output in zip(answers, [outputs] if isinstance(outputs, Tensor) else outputs, strict=True):
        if answer.shape != output.shape:
            shapes = f"expected answers {tuple(output.shape)} of the model, got {tuple(answer.shape)}"
            raise SaccadeError(f"{path}: {shapes}; nothing is written")
        away = float(((answer - output).abs() / output.abs().clamp(min=1)).max())
        if not away <= _NEAR:
            raise SaccadeError(f"{path}: expected answers of the model, got some {away:.1g} away; nothing is written")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep GRUs of any length whole, and torch's notes to its developers away."""
    from torch.export import _patches  # without it torch unrolls a GRU to the length of the trace

    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    with own_filters(), _patches.register_gru_while_loop_decomposition():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
