import pytest

from reports.conftest import content_of, row_of, run_of
from saccade.reports.experts.findings import DENSE
from saccade.reports.experts.paper import PAPER

WITHOUT = PAPER[0].name


def made_up(changed=None, seeds=3, spread=0.01, score=30.0, quick=False):
    """report.json of the report, with the paper's own figures, changed by setting and measurement."""
    rows, runs = [], []
    table = [PAPER[0], PAPER[3]] if quick else PAPER
    for seed in range(1, seeds + 1):
        more = spread * (seed - 2)
        for name in (DENSE, *(row.name for row in table)):
            paper = next((row for row in PAPER if row.name == name), None)
            found = {"perplexity": 40.0 if paper is None else paper.perplexity}
            if paper is not None:
                found |= {"importance": paper.importance, "load": paper.load, "most": paper.most}
                found |= {"token": 0.5, "group": 0.25}
            found |= (changed or {}).get(name, {})
            balance = {key: value + more for key, value in found.items()}
            rows.append(row_of(name, score, seed=seed, measured="score"))
            rows.append({"model": name, "seed": seed, "measured": "balance", **balance, "command": ""})
            tested = {} if paper is None else {"expert_load_encoder.1": 2.0 + more, "expert_load_decoder.1": 3.0 + more}
            runs.append(run_of(name, seed, metrics={"bleu": 30.0, **tested}))
    content = content_of("experts", runs, rows)
    content["arguments"] |= {"experts": 16, "top_k": 2}
    return content


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()
