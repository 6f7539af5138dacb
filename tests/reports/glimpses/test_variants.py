from saccade.reports.glimpses.variants import FULL, POLICIES, QUICK, cluttered, variants
from saccade.tasks.glimpse import Glimpse


def test_every_variant_is_first_but_for_what_its_name_says():
    first, *others = variants(FULL, "translated", {"canvas": 100})
    assert first.name == "ram" and {"canvas": 100, "glimpses": 6, "scales": 3}.items() <= first.values.items()
    for other in others:
        model, _, changed = other.name.partition(", ")
        assert other.model == model
        if model == "ram":
            differ = {key for key in other.values if other.values[key] != first.values.get(key)}
            what = changed.split()[1].rstrip("s")
            assert differ == ({"data", "distractors"} if what == "piece" else {f"{what}s"})
    assert {"ram, 8 pieces", "whole, 4 pieces", "random, 8 pieces", "ram, 1 scale"} <= {one.name for one in others}


def test_policies_are_models_and_clutter_needs_a_canvas():
    assert set(POLICIES) <= set(Glimpse.models) and {"tiles", "soft-tiles"} <= set(POLICIES)
    among = {one.name: one.values for one in variants(FULL, "cluttered", {}) if "piece" in one.name}
    assert among["ram, 0 pieces"].items() >= cluttered("cluttered", 0).items() and "ram, 4 pieces" not in among
    assert not any("piece" in one.name for one in variants(FULL, "my/images", {}))
    assert len(variants(QUICK, "translated", {})) == 3
