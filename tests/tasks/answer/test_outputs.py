"""Answers as labels and as written texts: targets, predictions and probabilities, of one model and of ensembles."""

import itertools
from functools import partial

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.models.attention_lstm import AttentionLSTM
from saccade.models.image_encoder import ImageEncoder, Visual
from saccade.models.image_only import ImageOnly
from saccade.models.padded import Padded
from saccade.models.question_only import QuestionOnly
from saccade.models.show_ask_attend_and_answer import ShowAskAttendAndAnswer
from saccade.tasks.answer.outputs import LabelAnswers, WrittenAnswers
from saccade.tasks.image.influence import cells_of, gradients, word_vectors
from saccade.tasks.labels.request import Request
from saccade.tasks.text.tokenizer import SpacedWords
from tiers import every

WRITTEN = WrittenAnswers(SpacedWords(["a", "lamp"]), 2)
SPECIAL = (0, 1, 3)  # never written: padding, the begin and the unknown word
LABELS = LabelAnswers(("no", "yes", "2"))
ASKED = Visual(torch.rand(3, 3, 24, 32)), Padded(torch.tensor([[4, 5], [6, 0], [7, 8]]), torch.tensor([2, 1, 2]))
SIZES = {"hidden_dim": 6}
SEES = {**SIZES, "widths": "4,6", "stem_stride": 4, "cell_dim": 5}


def made(output, kind=QuestionOnly, seed=0):
    torch.manual_seed(seed)
    options = kind.Options(**(SIZES if kind is QuestionOnly else SEES))
    encoder = None if kind is QuestionOnly else ImageEncoder(3, options)
    return output.build(kind, encoder, 11, options).eval()


def one(row):
    visual, question = ASKED
    return Visual(visual.values[row : row + 1]), Padded(question.values[row : row + 1], question.lengths[row : row + 1])


def every_answer(model, row, never=()):
    """The probability of every answer of one or two words of two, among all tokens but some."""
    found = {}
    for words in itertools.chain(*(itertools.product((4, 5), repeat=count) for count in (1, 2))):
        ids = torch.tensor([[1, *words, 2]])
        logits = model(one(row), ids[:, :-1]).index_fill(-1, torch.tensor(never, dtype=torch.long), -torch.inf)
        log_probs = logits.log_softmax(-1)[0].gather(1, ids[0, 1:, None])
        found[words] = log_probs.sum().exp().item()
    return found


def test_what_can_be_answered():
    assert "2" in LABELS and "3" not in LABELS
    assert all(answer in WRITTEN for answer in ("a lamp", "lamp a", "a"))
    assert not any(answer in WRITTEN for answer in ("a lamp a", "the lamp", ""))


def test_true_answers_are_shares_and_a_batch_may_have_none():
    targets = WRITTEN.targets([{}, {"a": 0.25, "a lamp": 0.75}])
    assert targets.rows.tolist() == [1, 1] and targets.shares.tolist() == [0.25, 0.75]
    assert len(WRITTEN.targets([{}]).ids) == 0 and WRITTEN.targets([{}]).rows.dtype == torch.long
    assert LABELS.targets([{}, {"yes": 0.25, "no": 0.75}]).tolist() == [[0, 0, 0], [0.75, 0.25, 0]]


@pytest.mark.parametrize("count", [1, 4, 36])
def test_written_answers_are_the_likeliest_of_all(count):
    """Of so few words that all can be laid out; a beam as wide as that misses none."""
    model = made(WRITTEN)
    with torch.inference_mode():
        for row in range(3):
            all_of_them = sorted(every_answer(model, row, never=SPECIAL).values(), reverse=True)
            wide = WrittenAnswers(WRITTEN.target, 2, 36)
            ranking = wide.ranking(model, *one(row), count=count)
            assert len(ranking.labels) == len(all_of_them) == 6
            expected = torch.tensor(all_of_them, dtype=torch.float64)
            torch.testing.assert_close(ranking.probabilities, expected, rtol=1e-4, atol=1e-6)
            assert len(WRITTEN.ranking(model, *one(row), count=count).labels) == min(max(5, count), 6)
            [best] = wide.best(model, *one(row))
            assert best == ranking.labels[0]


@every("output", [LABELS, WRITTEN])
@every("kind", [QuestionOnly, ShowAskAttendAndAnswer, AttentionLSTM])
def test_a_batch_is_answered_as_each_alone(output, kind):
    model = made(output, kind)
    with torch.inference_mode():
        together = output.best(model, *ASKED)
        assert output.best(model, *ASKED, logits=model.look(*ASKED).logits) == together
        assert together == [output.best(model, *one(row))[0] for row in range(3)]
        for row in range(3):
            ranking = output.ranking(model, *one(row), count=2)
            assert ranking.labels[ranking.best] == together[row]


@pytest.mark.parametrize("output", [LABELS, WRITTEN])
def test_several_models_average_and_look_separately(output):
    members = [made(output, ShowAskAttendAndAnswer, seed) for seed in (1, 2)]
    joined = output.ensemble(members)
    assert joined.attends and joined.reading == "glimpse" and cells_of(joined, ASKED[0]) == (3, 4)
    with torch.inference_mode():
        assert joined.look(*ASKED).weights.shape == (3, 4, 12)
        ranking = output.ranking(joined, *one(0), count=2)
        text = ranking.labels[ranking.best]
        if output is LABELS:
            rankings = [output.ranking(member, *one(0), count=1) for member in members]
            shares = [float(each.probabilities[LABELS.numbers[text]]) for each in rankings]
            assert float(ranking.probabilities.max()) == pytest.approx(sum(shares) / 2, abs=1e-6)
            return
        ids, total, token = [*WRITTEN.target.encode(text), 2], 0.0, 1
        states = [member.encode(one(0)) for member in members]
        for number in ids:
            steps = [m.step(torch.tensor([token]), s) for m, s in zip(members, states, strict=True)]
            mean = sum(logits.dense().softmax(-1)[0] for logits, _ in steps).index_fill(0, torch.tensor(SPECIAL), 0)
            share = mean[number] / mean.sum()
            total, token, states = total + float(share.log()), number, [state for _, state in steps]
        assert float(ranking.probabilities.max().log()) == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("output", [LABELS, WRITTEN])
def test_scores_are_of_the_answers_given(output):
    model = made(output, ImageOnly)
    texts = {LABELS: ["2", "no", "yes"], WRITTEN: ["a lamp", "lamp", "a"]}[output]
    found = output.log_probs(model, texts, *ASKED)
    if output is LABELS:
        torch.testing.assert_close(found, model(*ASKED).double().log_softmax(-1)[torch.arange(3), [2, 0, 1]])
    else:
        for row, text in enumerate(texts):
            words = tuple(WRITTEN.target.encode(text))
            assert found[row].exp().item() == pytest.approx(every_answer(model, row)[words], rel=1e-4)
    visual, question = ASKED
    moved = gradients(visual, partial(output.log_probs, model, texts), question, reading=word_vectors(model))
    assert moved.words is None and bool(moved.seen.abs().flatten(1).sum(1).gt(0).all())


def test_words_of_questions_move_a_written_answer():
    model = made(WRITTEN)
    visual, question = ASKED
    score = partial(WRITTEN.log_probs, model, ["a lamp", "a", "lamp"])
    found = gradients(visual, score, question, reading=word_vectors(model))
    assert found.seen is None and found.words.shape == (3, 2) and float(found.words[1, 1]) == 0


def test_more_answers_than_there_can_be_are_refused():
    with pytest.raises(ArgumentError, match="--nbest: expected at most 3"):
        LABELS.check(Request(nbest=4))
    with pytest.raises(ArgumentError, match="--nbest: expected at most 1000 written answers, got 1001"):
        WRITTEN.check(Request(nbest=1001))


def test_what_moves_an_answer_that_is_all_but_certain_is_not_lost():
    """The shares of the gradient are those of the logits' difference, of two answers."""
    two = LabelAnswers(("no", "yes"))
    model = made(two, ImageOnly)
    with torch.no_grad():
        model.output[-1].bias.copy_(torch.tensor([25.0, 0.0]))
    assert float(model(*ASKED).softmax(-1).detach().amax()) == 1.0
    visual, question = ASKED
    found = gradients(visual, partial(two.log_probs, model, ["no"] * 3), question).seen
    margin = gradients(visual, lambda *given: model(*given)[:, 0] - model(*given)[:, 1], question).seen
    scale = margin.abs().flatten(1).amax(1) / found.abs().flatten(1).amax(1)
    torch.testing.assert_close(found * scale[:, None, None, None], margin, rtol=1e-3, atol=1e-5)
