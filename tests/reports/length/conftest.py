import pytest


def made_up(attention, none):
    """report.json of scores by length."""
    runs, rows = {}, []
    for model, scores in (("rnnsearch", attention), ("encoder-decoder", none)):
        hardware, versions = {"device": "cpu"}, {"torch": "2"}
        about = {
            "steps": 5,
            "seconds": 2.5,
            "parameters": 1000,
            "metrics": {"bleu": {"score": 30.0, "signature": "s|1"}},
        }
        run = {"model": model, "seed": 1, **about, "hardware": hardware, "versions": versions}
        runs[f"{model}-1"] = {**run, "command": f"saccade train translate --model {model}"}
        for place, score in enumerate(scores):
            name = {"lengths": f"{5 * place + 1}-{5 * place + 5}", "length": 5.0 * place + 3, "unit": "words"}
            number = {"sentences": 100, "few": False, "metric": "bleu", "score": score, "error": 0.5}
            number["replicates"] = [score - 0.1 + 0.02 * fold for fold in range(10)]
            rows.append(
                {"model": model, "seed": 1, **name, **number, "signature": "s|1", "seconds": 0.1, "command": ""}
            )
    arguments = {"source": "de", "target": "en"}
    return {"report": "length", "command": "c", "arguments": arguments, "data": "d", "runs": runs, "rows": rows}


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up([30.0, 30.2, 30.1], [25.0, 18.0, 10.0])
