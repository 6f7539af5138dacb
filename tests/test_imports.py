"""Imports go one way: definitions, kernels ← backends ← attention ← nn ← models ← tasks ← runs ← reports ← cli.

Train knows no task.
"""

import ast
import functools
import graphlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "src" / "saccade"
FILES = sorted(ROOT.rglob("*.py"))

DEFINITIONS = {
    "errors",
    "structure",
    "threads",
    "numerics",
    "checks",
    "scores",
    "normalizers",
    "simplex",
    "masks",
    "biases",
    "blockmap",
    "reads",
    "auxiliary",
    "call",
    "callables",
    "derived",
    "dots",
    "foreign",
    "rotary",
    "functions",
    "working_directory",
}
ATTENTION = {
    "attention",
    "buffers",
    "lazy",
    "memory",
    "merging",
    "prepared",
    "reach",
    "ring",
    "shortcuts",
    "validate",
    "windows",
}
MAY_IMPORT = {
    **dict.fromkeys(DEFINITIONS, DEFINITIONS),
    "normalizers": DEFINITIONS | {"kernels"},
    "kernels": DEFINITIONS | {"kernels"},
    "backends": DEFINITIONS | {"kernels", "backends"},
    **dict.fromkeys(ATTENTION, DEFINITIONS | {"backends"} | ATTENTION),
    "windows": DEFINITIONS | {"kernels"},
    "nn": DEFINITIONS | ATTENTION | {"kernels", "nn"},
    "train": DEFINITIONS | ATTENTION | {"nn", "train"},
    "models": DEFINITIONS | ATTENTION | {"kernels", "nn", "models"},
    "look": DEFINITIONS | ATTENTION | {"backends", "nn", "look"},
    "tasks": DEFINITIONS | ATTENTION | {"kernels", "nn", "models", "train", "look", "tasks"},
    "bench": DEFINITIONS | ATTENTION | {"backends", "kernels", "nn", "models", "train", "look", "bench"},
    "runs": {"errors", "train", "tasks"},
    "reports": DEFINITIONS | ATTENTION | {"nn", "models", "train", "tasks", "look", "bench", "runs", "reports"},
    "cli": {"errors", "train", "tasks", "runs", "look", "reports", "bench", "cli"},
    "__main__": {"cli"},
    "__init__": DEFINITIONS | ATTENTION | {"nn"},
}


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


PUBLIC = {"attend", "explain", "remember", "merge", "AuxRequest", "AuxOutput", "__version__", "saccade"}
USERS = {"models", "tasks", "look", "bench", "cli", "train"}


def may_import(path, name):
    """Whether a file's layer may import a module."""
    public = name.removeprefix("saccade.") in PUBLIC and layer(path) in USERS
    return public or [*name.split("."), "__init__"][1] in MAY_IMPORT[layer(path)]


def test_imports_point_one_way():
    wrong = [(str(path), name) for path in FILES for name in imported(path) if not may_import(path, name)]
    assert wrong == []


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
        assert own == "choose" or others <= {own, "reference", "blockwise"}, path


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
