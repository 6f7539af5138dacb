"""Generated parts of the reference: tables of backends, and links."""

import re
from importlib import import_module

from commands import ROOT
from scripts import script
from tiers import every

HOOK = script("tools/mkdocs_reference.py")
MODULES = ("saccade.scores", "saccade.normalizers", "saccade.masks", "saccade.biases", "saccade.reads")
BASES = {"Score", "Normalizer", "Mask", "Factor", "Bias", "Read"}
COMBINE = {"Both", "Dense", "Either", "Not", "Positioned", "Prepared"}


@every("module", MODULES)
def test_every_class_has_backends(module):
    names = {name for name in import_module(module).__all__ if isinstance(getattr(import_module(module), name), type)}
    assert names - BASES - COMBINE <= set(HOOK.EXAMPLES)
    page = (ROOT / f"docs/reference/{module.partition('.')[2]}.md").read_text(encoding="utf-8")
    assert f"\n::: backends {module}\n" in page


def test_backends_are_those_of_explain():
    assert HOOK.chosen("Dot", "cpu") == HOOK.chosen("Causal", "cuda") == "**`sdpa`**"
    assert HOOK.chosen("Additive", "cpu") == "**`cpu`**" and HOOK.chosen("Additive", "cuda") == "**`triton`**"
    assert HOOK.chosen("Kernel", "cuda") == "`chunked`" and HOOK.chosen("Packed", "cuda") == "–"


def test_objects_have_links_to_pages_and_models():
    assert HOOK.see_also("saccade.models.rnnsearch").startswith(
        "See also: [`saccade train translate --model rnnsearch`]("
    )
    links = HOOK.see_also("saccade.scores.Additive")
    assert "](../additive-kernels.md)" in links and "](models.md#saccade.models." in links
    targets = re.findall(r"\]\(\.\./([\w-]+\.md)\)", links + HOOK.see_also("saccade.nn.Attention"))
    assert targets and all((ROOT / "docs" / target).exists() for target in targets)


def test_a_module_is_written_as_its_members():
    text = HOOK.written("# Reads\n\n::: saccade.reads\n")
    assert all(f"\n::: saccade.reads.{name}\n" in text for name in ("Soft", "Sample", "Argmax", "TopK"))
    assert (
        text.count("See also: ") == text.count("\n::: saccade.reads.")
        and "::: saccade.reads\n    options:\n      members: false\n" in text
    )
    assert "\n::: saccade.runs\n    options:\n      show_overloads: false\n" in HOOK.written(
        "\n::: saccade.runs\n    options:\n      show_overloads: false\n"
    )
