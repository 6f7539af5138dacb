import copy
from dataclasses import dataclass

import pytest
import torch

from saccade import runs
from saccade.models.padded import Padded
from saccade.tasks.task import Job
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.translate import TRANSLATE, codec
from saccade.tasks.translate.options import Request
from saccade.train.results import sample
from tiers import rest_slow

LINES = ["mercredi 18 juin 2025", "February 15, 2019", "2019年2月15日", "", "15. März 1999", "١٥ مارس ٢٠٢٠"]
TEXTS = [line for line in LINES if line]
STRANGE = ["   ", "💥" * 20, "a" * 5000, "\u202b15 מרץ 2020\u202c", "\x00", "\u3000"]
MISSING = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Trained:
    task: Job
    model: torch.nn.Module


@pytest.fixture(scope="module")
def trained():
    """A translator that has begun to learn, without the measuring that goes with a run."""
    sizes = {"hidden_dim": 32, "embedding_dim": 16, "batch_tokens": 600, "seed": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_ENDLESS", 1000)
        task = TRANSLATE.prepare(runs.options(TRANSLATE, "dates", "rnnsearch", sizes))
    torch.manual_seed(2)
    model = task.build()
    optimizer = torch.optim.Adam(model.parameters(), 8e-3)
    for step in range(45):
        optimizer.zero_grad()
        task.loss(model, task.batch(step)).total.backward()
        optimizer.step()
    return Trained(task, model.eval())


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


def ask(trained, lines, form="lines", model=None, **words):
    """What is made of lines, asked for as `saccade predict` asks."""
    request, model = Request(**words), model or trained.model
    trained.task.check(model, request)
    sources = [trained.task.read(line, number) for number, line in enumerate(lines, 1)]
    return trained.task.answer(model, sources, request, form)


def lines_of(trained, lines, **words):
    return [answer.lines() for answer in ask(trained, lines, **words)]


def log_probability(trained, source, output):
    ids, target = torch.tensor([[*source.ids, 2]]), torch.tensor([[1, *output.ids, 2]])
    logits = trained.model(Padded(ids, torch.tensor([ids.shape[1]])), target[:, :-1])
    gains = logits.index_fill(-1, torch.tensor([0, 1, UNKNOWN]), -torch.inf).log_softmax(-1)  # never written
    return float(gains.gather(-1, target[:, 1:, None]).sum())


def test_n_best_are_sorted_distinct_and_scored(trained):
    for answer in ask(trained, TEXTS[:3], nbest=5):
        outputs = answer.outputs
        assert len(outputs) == 5 == len({tuple(output.ids) for output in outputs})
        scores = [output.score for output in outputs]
        assert scores == sorted(scores, reverse=True) and scores[0] < 0
        for output in outputs:
            total = log_probability(trained, answer.source, output)
            assert output.score == pytest.approx(total / ((6 + len(output.ids)) / 6) ** 0.6, rel=1e-4)


def test_translations_alone_are_described(trained):
    found = [answer.to_json() for answer in ask(trained, LINES, "json", beam_size=3, nbest=3)]
    assert [item["source"] for item in found] == LINES
    texts = [[output["text"] for output in item["translations"]] for item in found]
    assert texts == [out if any(out) else [] for out in lines_of(trained, LINES, beam_size=3, nbest=3)]
    for line, item in zip(LINES, found, strict=True):
        if not line:
            assert item == {"source": "", "source_tokens": [], "translations": []}
            continue
        assert item["source_tokens"] == [*line, "⏎"]
        for output in item["translations"]:
            weights = torch.tensor(output["weights"])
            assert weights.shape == (len(output["tokens"]), len(item["source_tokens"]))
            assert "".join(output["tokens"]) == output["text"] + "⏎"
            torch.testing.assert_close(weights.sum(-1), torch.ones(len(weights)), atol=1e-4, rtol=0)


def test_strange_lines_are_answered_in_place(trained):
    found = lines_of(trained, ["", *STRANGE, LINES[0]])
    assert found[0] == found[1] == found[-2] == [""] and len(found) == len(STRANGE) + 2
    assert found[-1:] == lines_of(trained, LINES[:1]) and all("\n" not in text for [text] in found)


def test_unknown_tokens_are_what_they_looked_at(trained):
    model = copy.deepcopy(trained.model)
    model.output[1][UNKNOWN] = 9.0
    assert MISSING not in ask(trained, LINES, model=model)[0].lines()[0]
    for answer in ask(trained, [*LINES, "💥"], "json", model, replace_unknown=True, nbest=2):
        for output in answer.outputs:
            assert "".join(output.tokens) == output.text + "⏎" and MISSING not in output.text
    [replaced] = ask(trained, ["💥"], model=model, replace_unknown=True)
    assert "💥" in replaced.lines()[0]  # the source's text, unknown though it is
    [replaced] = ask(trained, ["18 juin"], "json", model, replace_unknown=True)
    [output] = replaced.outputs
    assert UNKNOWN in output.ids
    for row, number, letter in zip(output.weights.tolist(), output.ids, output.text, strict=False):
        most = max(range(len("18 juin")), key=row.__getitem__)
        assert letter == ("18 juin"[most] if number == UNKNOWN else trained.task.codec.target.piece(number))


def test_a_line_beyond_the_limit_is_cut_and_named(trained, capsys):
    most = trained.task.codec.most
    lines = ["18 juin 2025", "5" * (most + 1), "6" * most, "7" * 10**6]
    found = lines_of(trained, lines)
    notes = capsys.readouterr().err.splitlines()
    assert [note.split(":")[0] for note in notes] == ["line 2", "line 4"]
    assert f"longer than {most} tokens" in notes[0] and found[1:2] == lines_of(trained, ["5" * most])


def test_a_line_is_answered_by_a_line(trained, monkeypatch):
    monkeypatch.setattr(type(trained.task.codec.target), "decode", lambda self, ids: "a\nb\r\nc\rd")
    assert lines_of(trained, ["18 juin"]) == [["a b c d"]]


NAMES = {
    "mercredi 18 juin 2025": "mercredi-18-juin-2025",
    "/../2019年2月15日": "2019年2月15日",
    "बुधवार, 18 जून": "बुधवार-18-जून",  # marks stay on their letters
    "...": "text",
    "a/b" * 50: ("a-b" * 50)[:40].strip("-"),
}


@pytest.mark.parametrize("text", rest_slow(NAMES))
def test_a_picture_of_any_text_lands_in_its_folder(trained, tmp_path, text):
    [answer] = ask(trained, [text], "pictures")
    paths = list(answer.draw(tmp_path / "pictures"))
    assert sorted((tmp_path / "pictures").iterdir()) == sorted(paths)
    assert [path.name for path in paths] == [f"{NAMES[text]}.png", f"{NAMES[text]}.svg"]


def test_a_sample_is_a_validation_line_of_its_step(trained):
    lines = {step: sample(trained.task, trained.model, 1, step) for step in (1, 2, 3, 4, 5)}
    assert lines[1] == sample(trained.task, trained.model, 1, 1) and len(set(lines.values())) > 3
    for line in lines.values():
        assert " → " in line and line.endswith(")") and "(expected: " in line and "\n" not in line
