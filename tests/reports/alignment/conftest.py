import pytest
import torch

EN = ["This", " agreement", " on", " the", " European", " Economic", " Are", "a"]
FR = ["Cet", " accord", " sur", " la", " zone", " économique", " europé", "enne"]
#: Where each piece is read in figure 3 of the paper: the zone is the Area, of two pieces.
MOST = (0, 1, 2, 3, 6, 5, 4, 4)


def made_up(most=MOST, sure=0.8, pieces=True, source=EN, target=FR, **about):
    """report.json of one sentence; without `by` as it was before there was a choice."""
    weights = torch.full((len(target), len(source)), (1 - sure) / (len(source) - 1))
    weights[range(len(target)), most] = sure
    row = {
        "text": "This agreement on the European Economic Area",
        "model": "rnnsearch",
        "data": "corpus",
        "pieces": pieces,
        "translation": "Cet accord sur la zone économique européenne",
        "score": -1.0,
        "source": source,
        "target": target,
        "weights": [[round(weight, 5) for weight in row] for row in weights.tolist()],
        "steps": 4400,
        **about,
    }
    where = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    return {
        "report": "alignment",
        "command": "saccade report alignment --run runs/fr",
        "rows": [row],
        "runs": {},
        **where,
    }


@pytest.fixture
def content():
    """A sentence with three words in another order."""
    return made_up()
