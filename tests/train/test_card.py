"""The model card of a run and its learning curves."""

import json
from dataclasses import replace

import numpy as np
from PIL import Image

from saccade.train.card import confusion_matrix, curves
from saccade.train.fit import train
from tiny import Line
from tiny import line_options as options


def test_a_run_has_a_model_card_with_its_curves(tmp_path):
    train(Line, options(tmp_path / "a"))
    results = json.loads((tmp_path / "a/results.json").read_text())
    card = (tmp_path / "a/README.md").read_text()
    numbers = [results[split]["closeness"] for split in ("metrics", "validation")]
    cells = " | ".join(f"{number:.4g}" for number in (*numbers, 0.25, 0.25))
    assert f"| closeness | {cells} |" in card and "| | test | validation | mean (test) | mean (validation) |" in card
    assert "# linear for line" in card and "49 parameters, seed 1,\n30 steps in" in card
    assert "![Learning curves](curves.png)" in card
    assert (tmp_path / "a/curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_card_has_scores_of_each_class_and_the_confusion_matrix_of_a_classifier(tmp_path, monkeypatch):
    groups, counts = {"accuracy": {"a|b": 0.5, "c": 1.0}, "macro_f1": {"c": 0.25}}, {"cat": {"cat": 3, "dog": 1}}
    measured, original = {"groups": groups, "confusion": counts}, Line.evaluate
    monkeypatch.setattr(Line, "evaluate", lambda *arguments: replace(original(*arguments), **measured))
    train(Line, options(tmp_path / "a", max_steps=2))
    card = (tmp_path / "a/README.md").read_text()
    assert "| | accuracy | macro_f1 |\n|---|---|---|\n| a\\|b | 0.5 | |\n| c | 1 | 0.25 |\n\n## Use" in card
    assert "(curves.png)\n\n![Confusion matrix](confusion.png)\n\n## Results" in card
    assert json.loads((tmp_path / "a/results.json").read_text())["confusion"] == counts
    assert (tmp_path / "a/confusion.png").read_bytes() == confusion_matrix(counts)


def test_a_confusion_matrix_takes_any_label(recwarn):
    labels = ["$\\frac{", "\x1b[31m猫", "long " * 30, "dog", ""]
    pictures = {confusion_matrix({label: {"dog": count} for label in labels}) for count in (1, 2)}
    assert len(pictures) == 2 and all(picture.startswith(b"\x89PNG") for picture in pictures) and not recwarn.list


def test_a_users_own_readme_stays_and_a_card_is_renewed(tmp_path):
    train(Line, options(tmp_path / "a", max_steps=10))
    train(Line, options(tmp_path / "a", max_steps=20))
    assert "20 steps in" in (tmp_path / "a/README.md").read_text()
    (tmp_path / "a/README.md").write_text("# mine\n")
    train(Line, options(tmp_path / "a"))
    assert (tmp_path / "a/README.md").read_text() == "# mine\n"


def test_curves_draw_the_numbers_that_there_are(tmp_path):
    lines = [{"step": step, "loss": 1 / step} for step in range(10, 100, 10)]
    without, measured = curves(lines, "bleu"), curves([{**lines[0], "validation_bleu": 0.5}, *lines[1:]], "bleu")
    assert curves(lines, "bleu") == without != measured
    (tmp_path / "a.png").write_bytes(measured)
    assert np.asarray(Image.open(tmp_path / "a.png")).shape[1] > 600
    assert curves([], "bleu").startswith(b"\x89PNG")
