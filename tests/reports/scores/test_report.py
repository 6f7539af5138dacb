from saccade.reports.options import Trained
from saccade.reports.scores.findings import ORDER
from saccade.reports.scores.report import VARIANTS
from saccade.reports.training import settings


def test_all_rows_are_one_recipe_but_for_what_is_compared(tmp_path):
    made = {one.name: vars(settings(Trained(data="dates"), one, 1, tmp_path, 1.0)) for one in VARIANTS}
    first = made["general"]
    for options in made.values():
        assert {name for name in options if options[name] != first[name]} <= {"attention", "score"}
    assert {name: (options["attention"], options["score"]) for name, options in made.items()} == {
        "none": ("none", "general"),
        "location": ("global", "location"),
        "dot": ("global", "dot"),
        "scaled dot": ("global", "scaled_dot"),
        "general": ("global", "general"),
        "additive": ("global", "additive"),
        "cosine": ("global", "cosine"),
        "local-m": ("local-m", "general"),
        "local-p": ("local-p", "general"),
    }
    assert set(ORDER) <= made.keys()
