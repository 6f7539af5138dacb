"""Every public object is on a page of the reference, and the pages fetch nothing from elsewhere."""

import inspect
import re
from importlib import import_module
from pkgutil import iter_modules

import saccade.models
from commands import PAGES, ROOT
from scripts import script
from tiers import every

HOOK = script("tools/mkdocs_tasks.py")
DIRECTIVES = [
    name
    for page, text in PAGES.items()
    if page.startswith("docs/reference/")
    for name in re.findall(r"^::: (\S+)$", HOOK.on_page_markdown(text), flags=re.M)
]
MODULES = [
    "saccade",
    *(
        f"saccade.{name}"
        for name in ("scores", "normalizers", "masks", "biases", "reads", "errors", "export", "nn", "runs")
    ),
    "saccade.nn.addressing",
    "saccade.hf",
    "saccade.look",
    "saccade.look.attribute",
    *(f"saccade.models.{found.name}" for found in iter_modules(saccade.models.__path__)),
]
SETTINGS = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
KATEX = ROOT / "docs/assets/katex"


def public(module):
    """Names of a module's public classes and functions; `saccade` and some of its packages collect theirs."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    values = {name: getattr(module, name) for name in names}
    collects = module.__name__ in ("saccade", "saccade.look", "saccade.masks", "saccade.nn")
    return [
        name
        for name, value in values.items()
        if (inspect.isclass(value) or inspect.isroutine(value)) and (collects or value.__module__ == module.__name__)
    ]


@every("name", MODULES)
def test_public_objects_are_on_a_page(name):
    module = import_module(name)
    missing = [member for member in public(module) if f"{name}.{member}" not in DIRECTIVES and name not in DIRECTIVES]
    assert not missing, f"::: {name}.{missing[0]} belongs on a page of docs/reference"


def test_there_are_as_many_objects_as_before_or_more():
    assert sum(len(public(import_module(name))) for name in MODULES) >= 247


def test_a_directive_names_what_there_is_once():
    assert len(DIRECTIVES) == len(set(DIRECTIVES))
    for directive in DIRECTIVES:
        package, _, name = directive.rpartition(".")
        assert directive in MODULES or hasattr(import_module(package), name), directive


def test_the_site_has_its_own_typesetting():
    scripts = re.findall(r"^  - (assets/\S+)$", SETTINGS, flags=re.M)
    assert len(scripts) == 4 and all((ROOT / "docs" / script).exists() for script in scripts)
    fonts = set(re.findall(r"fonts/([\w-]+\.woff2)", (KATEX / "katex.min.css").read_text(encoding="utf-8")))
    assert fonts == {path.name for path in (KATEX / "fonts").iterdir()}
    assert "MIT License" in (KATEX / "LICENSE").read_text(encoding="utf-8")
