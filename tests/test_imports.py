"""Imports go one way, from the command line down to the errors; no two files import each other."""

import ast
import functools
import graphlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "src" / "saccade"
FILES = sorted(ROOT.rglob("*.py"))

LAYERS = [
    {"errors", "_plainly", "_threads", "_working_directory"},
    {"_definitions"},
    {"scores", "masks", "biases", "reads", "auxiliary"},
    {"kernels"},
    {"normalizers"},
    {"_call"},
    {"backends"},
    {"_dispatch"},
    {"attention"},
    {"export"},
    {"memory"},
    {"_integrations"},
    {"nn"},
    {"__init__"},  # the public names
    {"hf"},
    {"_system"},
    {"models"},
    {"train"},
    {"look"},
    {"bench"},
    {"data"},
    {"tasks"},
    {"runs"},
    {"serve"},
    {"cli"},
    {"__main__"},
]
"""A file may import its own layer and those above it in this list."""

FORBIDDEN = {
    "backends": {"nn", "models", "tasks", "cli"},
    "models": {"train"},
    "train": {"look", "bench", "data"},
    "tasks": {"bench"},
}
"""Layers that some layers may not import, though they stand above them."""


def layer(path):
    """The first name below the package: a folder or a file."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@functools.cache
def nodes(path):
    """The imports and calls of a file, wherever they stand."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]


def imported(path):
    """The modules of the package that a file imports, inside functions too."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names |= (
                {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "saccade" else {node.module}
            )
    return {name for name in names if name.split(".")[0] == "saccade"}


def may_import(path, name):
    """Whether a file's layer may import a module."""
    [here] = [index for index, names in enumerate(LAYERS) if layer(path) in names]
    parts = [*name.split("."), "__init__"]
    target = parts[1] if any(parts[1] in names for names in LAYERS) else "__init__"
    [there] = [index for index, names in enumerate(LAYERS) if target in names]
    return there <= here and layer(path) not in FORBIDDEN.get(target, ())


def test_imports_point_one_way():
    wrong = [(str(path), name) for path in FILES for name in imported(path) if not may_import(path, name)]
    assert wrong == []


def test_studies_import_no_command_line():
    studies = sorted((ROOT.parents[1] / "studies").rglob("*.py"))
    names = {(str(path), name) for path in studies for name in imported(path)}
    wrong = [pair for pair in names if pair[1].split(".")[1] in ("cli", "__main__")]
    assert wrong == [] and len(studies) > 10


def modules():
    """Every file by the name that it is imported by; a folder's name stands for its __init__.py."""
    return {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in FILES
    }


def depends_on(path, known):
    """The files that a file imports, wherever it does: at its top, inside functions, for types alone."""
    named = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            named |= submodules & known.keys()
            if len(submodules & known.keys()) < len(submodules):  # some name is defined in the module itself
                named.add(node.module)
    return named & known.keys()


def circle(graph):
    """A circle of a graph, None if there is none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return None


def test_no_files_import_each_other_in_a_circle():
    known = modules()
    found = circle({name: depends_on(path, known) - {name} for name, path in known.items()})
    assert found is None, " ← ".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "from saccade.b import value",
        "import saccade.b",
        "from saccade import b",
        "def f():\n    from saccade.b import value",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from saccade.b import value",
    ],
)
def test_a_circle_is_found_wherever_its_imports_stand(text, tmp_path):
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "b.py").write_text("from saccade.c import value, other")
    (tmp_path / "c.py").write_text("from saccade import a, errors")
    known = {
        "saccade": None,
        "saccade.a": tmp_path / "a.py",
        "saccade.b": tmp_path / "b.py",
        "saccade.c": tmp_path / "c.py",
    }
    graph = {name: depends_on(path, known) for name, path in known.items() if path}
    found = circle(graph)
    assert found[0] == found[-1] and set(found) == {"saccade.a", "saccade.b", "saccade.c"}
    assert circle({**graph, "saccade.b": set()}) is None


def test_backends_import_the_reference_and_blocks_alone():
    for path in (ROOT / "backends").rglob("*.py"):
        own = path.relative_to(ROOT / "backends").parts[0].removesuffix(".py")
        others = {name.split(".")[2] for name in imported(path) if name.startswith("saccade.backends.")}
        assert others <= {own, "reference", "blockwise", "offers", "folding"}, path


def test_models_attend_through_modules_alone():
    names = {name for path in (ROOT / "models").rglob("*.py") for name in imported(path)}
    assert not names & {"saccade.attention", "saccade.attend"}


def test_no_pickle():
    """Nothing is unpickled from a path: torch.load only with weights_only=True, no pickle module."""
    for path in FILES:
        for node in nodes(path):
            assert not (
                isinstance(node, ast.Import) and any(alias.name in ("pickle", "dill", "joblib") for alias in node.names)
            ), path
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and ast.unparse(node.func) == "torch.load"
            ):
                assert any(key.arg == "weights_only" and ast.unparse(key.value) == "True" for key in node.keywords), (
                    path
                )
