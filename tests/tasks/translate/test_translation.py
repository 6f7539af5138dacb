import copy
import json
import sys
from dataclasses import dataclass, replace

import pytest
import torch

from saccade.tasks.generate import Decoding
from saccade.tasks.generate.attention import coverage
from saccade.tasks.text.tokenizer import UNKNOWN
from saccade.tasks.translate import Translate
from saccade.tasks.translate.translation import encode_sources, translate

LINES = ["mercredi 18 juin 2025", "February 15, 2019", "2019年2月15日", "", "15. März 1999", "١٥ مارس ٢٠٢٠"]


@dataclass(frozen=True)
class Trained:
    task: Translate
    model: torch.nn.Module


@pytest.fixture(scope="module")
def trained():
    """A translator that has begun to learn, without the measuring that goes with a run."""
    options = Translate.options("rnnsearch")
    sizes = {"hidden_dim": 32, "embedding_dim": 16, "tokenizer": "characters"}
    task = Translate.prepare(options(data="dates", model="rnnsearch", seed=2, batch_tokens=600, **sizes))
    torch.manual_seed(2)
    model = task.build()
    optimizer = torch.optim.Adam(model.parameters(), 8e-3)
    for step in range(100):
        optimizer.zero_grad()
        task.loss(model, task.batch(step)).total.backward()
        optimizer.step()
    return Trained(task, model.eval())


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


def with_beam(trained, size):
    return replace(trained.task, settings=replace(trained.task.settings, beam_size=size))


def asked(trained, size=1, **words):
    """The same, asked for something."""
    task = with_beam(trained, size)
    return Trained(task.asked(trained.model, Decoding(**words), size), trained.model)


def log_probability(trained, source, output):
    ids, target = torch.tensor([[*source.ids, 2]]), torch.tensor([[1, *output.ids, 2]])
    gains = trained.model(ids, torch.tensor([ids.shape[1]]), target[:, :-1]).log_softmax(-1)
    return float(gains.gather(-1, target[:, 1:, None]).sum())


def test_n_best_are_sorted_and_distinct(trained):
    for outputs in translate(trained.task, trained.model, encode_sources(trained.task, LINES[:3]), 5):
        assert len(outputs) == 5 == len({tuple(output.ids) for output in outputs})
        scores = [output.score for output in outputs]
        assert scores == sorted(scores, reverse=True) and scores[0] < 0


def test_scores_are_those_of_the_teacher_forced_model(trained):
    task, model = trained.task, trained.model
    sources = encode_sources(task, LINES[:3])
    for source, outputs in zip(sources, translate(task, model, sources, 3), strict=True):
        for output in outputs:
            total = log_probability(trained, source, output)
            assert output.score == pytest.approx(total / ((6 + len(output.ids)) / 6) ** 0.6, rel=1e-4)


def test_alignments_are_of_the_translations_that_predict_gives(trained):
    task, model = with_beam(trained, 3), trained.model
    found = list(task.align(model, LINES, 3))
    assert [item["source"] for item in found] == LINES
    texts = [[output["text"] for output in item["translations"]] for item in found]
    assert texts == [outputs if any(outputs) else [] for outputs in task.predict(model, LINES, 3)]
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
    assert json.loads(json.dumps(found)) == found


def test_weights_are_those_of_each_line_alone(trained):
    together = list(trained.task.align(trained.model, LINES, 2))
    for line, item in zip(LINES, together, strict=True):
        [alone] = trained.task.align(trained.model, [line], 2)
        for one, other in zip(alone["translations"], item["translations"], strict=True):
            assert one["tokens"] == other["tokens"]
            torch.testing.assert_close(torch.tensor(one["weights"]), torch.tensor(other["weights"]), atol=1e-4, rtol=0)


def test_samples_follow_from_the_seed_and_the_line_alone(trained):
    drawn = asked(trained, sample=True, temperature=1.5)
    lines = [*LINES, LINES[0]]
    together = list(drawn.task.predict(trained.model, lines, 3))
    assert together == list(drawn.task.predict(trained.model, lines, 3, ahead=2))
    assert [outputs[:1] for outputs in together] == list(drawn.task.predict(trained.model, lines, 1))
    assert len({text for outputs in together for text in outputs}) > 12  # also of the line that is there twice
    sources = encode_sources(drawn.task, lines)
    for number, (source, outputs) in enumerate(zip(sources, together, strict=True), 1):
        assert source.number == number
        [alone] = translate(drawn.task, trained.model, [source], 3)
        assert [output.text for output in alone] == (outputs if source.text else [])
    other = asked(trained, sample=True, temperature=1.5, seed=7)
    assert list(other.task.predict(trained.model, lines, 3)) != together
    same = asked(trained, sample=True, temperature=1.5, seed=trained.task.settings.seed)
    assert list(same.task.predict(trained.model, lines, 3)) == together


def test_the_score_of_a_sample_is_its_log_probability(trained):
    drawn = asked(trained, sample=True, temperature=2.0, top_p=0.9, prefix="20")
    sources = encode_sources(drawn.task, LINES[:3])
    for source, outputs in zip(sources, translate(drawn.task, trained.model, sources, 3, attended=True), strict=True):
        for output in outputs:
            assert output.score == pytest.approx(log_probability(trained, source, output), rel=1e-4)
            assert output.text.startswith("20") and len(output.weights) == len(output.ids) + 1


def test_at_no_temperature_and_from_one_token_samples_are_greedy(trained):
    greedy = list(trained.task.predict(trained.model, LINES, 1))
    for words in ({"temperature": 1e-9}, {"top_p": 1e-9}):
        drawn = asked(trained, sample=True, **words)
        assert list(drawn.task.predict(trained.model, LINES, 1)) == greedy


@pytest.mark.parametrize("size", [1, 3])
def test_outputs_begin_with_the_prefix_and_are_as_long_as_they_must(trained, size):
    begun = asked(trained, size, prefix="1977-0", min_length=12)
    sources = encode_sources(begun.task, LINES[:3])
    for source, outputs in zip(sources, translate(begun.task, trained.model, sources, size), strict=True):
        assert len(outputs) == size
        for output in outputs:
            assert output.text.startswith("1977-0") and len(output.ids) >= 12
            penalty = ((6 + len(output.ids)) / 6) ** 0.6
            assert output.score == pytest.approx(log_probability(trained, source, output) / penalty, rel=1e-4)
    longest = asked(trained, size, min_length=10**4)
    for [text] in longest.task.predict(trained.model, LINES[:3], 1):
        assert len(text) == 2 * trained.task.longest  # the limit wins


def test_coverage_ranks_all_that_the_search_has_found(trained):
    size, beta = 5, 0.7
    plain, covered = asked(trained, size), asked(trained, size, coverage_penalty=beta)
    sources, changed = encode_sources(plain.task, LINES[:3]), 0
    found = translate(plain.task, trained.model, sources, size, attended=True)
    for count in (1, 3):
        ranked = translate(covered.task, trained.model, sources, count)
        for outputs, best in zip(found, ranked, strict=True):
            scores = {output.text: output.score + beta * coverage(output.weights) for output in outputs}
            order = sorted(scores, key=lambda text: -scores[text])[:count]
            assert [output.text for output in best] == order
            assert [output.score for output in best] == pytest.approx([scores[text] for text in order], rel=1e-4)
            assert all(output.weights is None for output in best)
            changed += order != [output.text for output in outputs[:count]]
    assert changed


def test_unknown_tokens_are_what_they_looked_at(trained):
    model = copy.deepcopy(trained.model)
    model.writer.bias[UNKNOWN] = 9.0
    task = asked(trained, replace_unknown=True).task
    assert "\N{REPLACEMENT CHARACTER}" in next(trained.task.predict(model, LINES, 1))[0]
    for item in task.align(model, [*LINES, "💥"], 2):
        for output in item["translations"]:
            assert "".join(output["tokens"]) == output["text"] + "⏎"
            assert "\N{REPLACEMENT CHARACTER}" not in output["text"]
    [[only]], [plain] = task.predict(model, ["💥"], 1), trained.task.align(model, ["💥"], 1)
    assert "💥" in only  # the source's text, which its own tokenizer does not know
    tokens = plain["translations"][0]["tokens"][:-1]
    assert only == "".join(tokens).replace("\N{REPLACEMENT CHARACTER}", "💥")
    [item], [[text]] = trained.task.align(model, ["18 juin"], 1), task.predict(model, ["18 juin"], 1)
    [output] = item["translations"]
    for row, token, letter in zip(output["weights"], output["tokens"], text, strict=False):
        most = max(range(len("18 juin")), key=row.__getitem__)
        assert letter == ("18 juin"[most] if token == "\N{REPLACEMENT CHARACTER}" else token)


class Blind(torch.nn.Module):
    """A translator without attention, which writes what it likes."""

    def __init__(self, size):
        super().__init__()
        self.table = torch.nn.Embedding(size, size)

    def encode(self, source, lengths):
        return Nothing()

    def step(self, token, state):
        return self.table(token), state

    def alignment(self, records):
        assert not records

    def forward(self, source, lengths, target):
        return self.table(target)


class Nothing:
    def select(self, rows, examples):
        return self


def test_a_model_without_attention_has_no_weights(trained):
    model = Blind(len(trained.task.target))
    [item] = trained.task.align(model, ["18 juin 2025"], 1)
    assert item["translations"][0]["weights"] is None
    assert len(item["translations"][0]["tokens"]) > 0


def test_a_line_beyond_the_limit_is_cut_and_named(trained, capsys):
    most = trained.task.most
    lines = ["18 juin 2025", "5" * (most + 1), "6" * most, "7" * 10**6]
    found = list(trained.task.predict(trained.model, lines, 1))
    notes = capsys.readouterr().err.splitlines()
    assert [note.split(":")[0] for note in notes] == ["line 2", "line 4"]
    assert f"longer than {most} tokens" in notes[0]
    assert len(found) == 4 and found[1] == next(trained.task.predict(trained.model, ["5" * most], 1))
    assert capsys.readouterr().err == ""


def test_any_number_of_lines_takes_constant_memory(trained):
    task, size = trained.task, 100_000
    model = Blind(len(task.target))
    model.table.weight[:, 2] = 50.0  # it ends at once
    read = written = widest = blocks = 0

    def lines():
        nonlocal read
        for _ in range(size):
            read += 1
            yield "18"

    for _ in task.predict(model, lines(), 1):
        written += 1
        widest = max(widest, read - written)
        if written == 1000:
            blocks = sys.getallocatedblocks()
    assert written == size and widest < 64
    assert sys.getallocatedblocks() - blocks < 10_000  # a list that grows would hold a block a line


def test_typed_lines_are_answered_one_by_one(trained):
    read = []
    stream = trained.task.predict(trained.model, (read.append(line) or line for line in LINES), 1, ahead=1)
    for number, _ in enumerate(stream, 1):
        assert len(read) == number


def test_a_line_is_answered_by_a_line(trained, monkeypatch):
    monkeypatch.setattr(type(trained.task.target), "decode", lambda self, ids: "a\nb\r\nc\rd")
    assert list(trained.task.predict(trained.model, ["18 juin"], 1)) == [["a b c d"]]
