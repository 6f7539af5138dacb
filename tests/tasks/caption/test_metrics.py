"""Measures of captions, as a whole and by group: of scenes by the grammar, of all others by their references."""

import torch

from saccade.tasks.caption.metrics import baseline, measured
from saccade.tasks.image.scenes.grammar import references
from saccade.tasks.image.scenes.judging import exact_match
from saccade.tasks.image.scenes.scene import scene_at_random
from saccade.tasks.text.overlap import bleu

OUTPUTS = ["a dog runs over the green grass", "two men stand on a street", "a red bus", "a man is riding a wave"]
REFERENCES = [
    ["a brown dog runs across the grass", "the dog runs"],
    ["two men are standing on the street corner", "two people stand on a street"],
    ["a red double decker bus drives down a street"],
    ["a surfer riding a wave", "a man is riding a wave on a surfboard"],
]


def test_groups_are_measured_as_corpora_of_their_own():
    groups = ["a", "b", "a", "b"]
    metrics, parts = measured(OUTPUTS, REFERENCES, groups)
    assert list(metrics) == ["bleu4", "bleu1", "bleu2", "bleu3", "cider", "rouge_l"]
    own = bleu(OUTPUTS[::2], REFERENCES[::2])["score"]
    assert parts["bleu4"] == {"a": own, "b": bleu(OUTPUTS[1::2], REFERENCES[1::2])["score"]}


def test_scenes_are_measured_by_the_grammar():
    drawn = torch.Generator().manual_seed(3)
    scenes = [scene_at_random(drawn, 2, 2) for _ in range(6)]
    known = [references(scene) for scene in scenes]
    outputs = [known[0][0], known[1][-1], known[2][0].replace("a ", "", 1), "", known[5][0], known[5][0]]
    metrics, parts = measured(outputs, known, ["2"] * 6, scenes)
    assert metrics["exact_match"] == exact_match(outputs, scenes) == 0.5
    assert parts == {"exact_match": {"2": 0.5}}
    assert next(iter(metrics)) == "exact_match"


def test_the_baseline_is_the_most_frequent_caption():
    found = baseline(["a dog runs on grass", "a cat", "a cat"], [["a cat", "a dog"], ["a cat sleeps"]])
    assert found.about == "always 'a cat'" and found.metrics["bleu1"]["score"] > 50
    assert baseline(["b", "a"], [["a"]]).about == "always 'a'"


def test_questions_are_valid_if_they_are_among_all_of_their_scene():
    outputs, references = ["a ?", "a ?", "c ?", "d ?"], [["a ?", "b ?"], ["b ?"], ["c ?"], ["a ?", "d ?"]]
    metrics, parts = measured(outputs, references, ["1", "1", "2", "2"], complete=True)
    assert list(metrics)[:2] == ["valid", "different"]
    assert metrics["valid"] == 0.75 == metrics["different"] and parts == {"valid": {"1": 0.5, "2": 1.0}}
    assert baseline(["a ?", "a ?", "b ?"], references, complete=True).metrics["valid"] == 0.5
