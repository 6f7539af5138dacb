from reports.memory.conftest import holds
from reports.pages import told, written_twice
from saccade.reports.memory.page import write_page
from saccade.reports.memory.report import VARIANTS
from saccade.tasks.memorize import Memorize
from saccade.train.task import recipe


def test_the_page_says_everything_and_is_the_same_again(tmp_path):
    files, page = written_twice(write_page, holds(), tmp_path)
    plots = [f"memory{which}.{kind}" for which in ("-addressing", "") for kind in ("png", "svg")]
    assert files == ["index.html", "index.md", *plots]
    words = [
        "1410.5401",
        "**reproduced**",
        "100 of 120",
        "3 claims together",
        "at most 1 in 100 bits more wrong",
    ]
    words += ["over seeds and sequences together", "Seeds: 1, 2, 3", "Bits a sequence, by vectors"]
    assert all(word in page for word in words)


def test_the_page_says_of_which_step_the_weights_are(tmp_path):
    said = {"copy": "takes the weights of the best validation", "recall": "The weights are those of the last step."}
    for data, words in said.items():
        write_page(tmp_path, {**holds(), "data": data})
        assert words in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_only_the_ntm_of_copy_has_patience():
    """What the page says of weights follows from the recipes."""
    pairs = [(one.model, data) for one in VARIANTS for data in ("copy", "recall")]
    assert {pair for pair in pairs if recipe(Memorize, *pair).get("patience")} == {("ntm", "copy")}


def test_zero_errors_have_a_place_on_a_logarithmic_axis(tmp_path):
    write_page(tmp_path, holds())
    kinds, addressing = (told(tmp_path / f"memory{which}.svg")["desc"] for which in ("", "-addressing"))
    assert "ntm: 0.0001 (hollow) at 20, 0.0001 (hollow) at 40" in kinds
    assert "transformer" in kinds and "content" not in kinds
    assert "ntm, content alone: 0.019" in addressing and "lstm" not in addressing
