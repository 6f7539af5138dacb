import math

import numpy as np
import pytest
import torch

from saccade.errors import ArgumentError, ShapeError
from saccade.look import attribute, faithful

INPUTS = torch.tensor([[0.1, 0.5, 0.05, 0.2, 0.02], [0.4, 0.01, 0.1, 0.11, 0.3], [0.3, 0.03, 0.07, 0.2, 0.0]]).double()


def model(inputs):
    """A probability in which inputs work together."""
    return (3 * inputs[:, 0] * inputs[:, 1] + inputs.sum(1) - inputs[:, 2] ** 2).sigmoid()


def by_hand(row, scores, length, steps, baseline=0.0):
    """The four measures of one example, by lists of positions."""
    order = sorted(range(length), key=lambda position: -scores[position])

    def probability(positions):
        changed = row.clone()
        changed[list(positions)] = baseline
        return model(changed[None]).item()

    tops = [math.ceil(length * percent / 100) for percent in (1, 5, 10, 20, 50)]
    whole = probability([])
    comprehensiveness = np.mean([whole - probability(order[:top]) for top in tops])
    sufficiency = np.mean([whole - probability(order[top:]) for top in tops])
    counts = [length * step // steps for step in range(steps + 1)]
    deletion = np.trapezoid([probability(order[:count]) for count in counts], np.array(counts) / length)
    insertion = np.trapezoid([probability(order[count:]) for count in counts], np.array(counts) / length)
    return [comprehensiveness, sufficiency, deletion, insertion]


@pytest.mark.parametrize(("lengths", "steps"), [((5, 5, 5), 5), ((5, 4, 2), 5), ((5, 5, 5), 2)])
def test_the_four_measures_are_those_by_hand(lengths, steps):
    scores, other = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(2))
    result = faithful(
        model, INPUTS, scores, baseline=0.25, lengths=torch.tensor(lengths), steps=steps, compared={"other": other}
    )
    for name, values in {"scores": scores, "other": other}.items():
        rows = zip(INPUTS, values.tolist(), lengths, strict=True)
        expected = np.array([by_hand(row, order, length, steps, 0.25) for row, order, length in rows])
        means, errors = expected.mean(0), expected.std(0, ddof=1) / 3**0.5
        for part, mean, error in zip(result, means, errors, strict=True):
            assert np.allclose(part[name], (mean, error), atol=1e-12)


def test_more_steps_than_positions_are_as_many():
    assert faithful(model, INPUTS, INPUTS, steps=50) == faithful(model, INPUTS, INPUTS, steps=5)


def test_random_scores_follow_the_seed():
    first, again, other = (faithful(model, INPUTS, INPUTS, seed=seed) for seed in (1, 1, 2))
    assert first == again and first.deletion["random"] != other.deletion["random"]
    assert first.deletion["scores"] == other.deletion["scores"]


def test_the_best_order_is_more_faithful_than_a_random_one():
    result = faithful(lambda inputs: inputs.sum(1), INPUTS, INPUTS, compared={"worst": -INPUTS})
    for part, sign in zip(result, (1, -1, -1, 1), strict=True):
        best, random, worst = (sign * part[name].mean for name in ("scores", "random", "worst"))
        assert best > random > worst


def test_embeddings_are_replaced_as_a_whole():
    vectors = torch.stack([INPUTS, 2 * INPUTS], -1)
    assert faithful(lambda inputs: model(inputs[..., 0]), vectors, INPUTS) == faithful(model, INPUTS, INPUTS)


def test_one_example_has_no_standard_error():
    assert math.isnan(faithful(model, INPUTS[:1], INPUTS[:1]).deletion["scores"].error)


@pytest.mark.parametrize(
    ("scores", "options", "error", "message"),
    [
        (INPUTS[:, 1:], {}, ShapeError, r"scores: expected \(3, 5\), as the inputs, got \(3, 4\)"),
        (INPUTS, {"compared": {"a": INPUTS[0]}}, ShapeError, r"compared\['a'\]: expected \(3, 5\)"),
        (INPUTS, {"compared": {"random": INPUTS}}, ArgumentError, "compared: expected names other than scores and"),
        (INPUTS * torch.nan, {}, ArgumentError, "scores: expected numbers, got NaN"),
        (INPUTS, {"steps": 0}, ArgumentError, "steps: expected a number above 0, got 0"),
        (INPUTS, {"lengths": torch.tensor([5, 5])}, ShapeError, r"lengths: expected \(3,\), got \(2,\)"),
        (INPUTS, {"lengths": torch.tensor([5, 0, 6])}, ArgumentError, "lengths: expected numbers from 1 to 5"),
        (INPUTS, {"baseline": torch.ones(4)}, ShapeError, "baseline: expected a shape that broadcasts"),
    ],
)
def test_errors_name_the_argument(scores, options, error, message):
    with pytest.raises(error, match=message):
        faithful(model, INPUTS, scores, **options)


def test_a_model_of_logits_is_rejected():
    with pytest.raises(ShapeError, match=r"model: expected one probability an example, got \(3, 5\)"):
        faithful(lambda inputs: inputs, INPUTS, INPUTS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_interpreto_measures_the_same(tmp_path):
    """A tiny random BERT, by interpreto 0.5.2: areas within 1e-3, of which 6e-8 were measured.

    Its integrated gradients are means over the path and the features of |gradient · point|. So they have no sign, are
    not complete, and cannot equal ours. Without that product, along a path on which no gradient changes its sign, they
    are ours over x - x': within 1e-4, of which 1.05e-5 were measured.
    """
    interpreto = pytest.importorskip("interpreto", reason="interpreto is not installed")
    from interpreto.attributions import metrics
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(0)
    texts = ["the film was not good", "i liked it very much and it was good", "bad at all"]
    words = dict.fromkeys(" ".join(texts).split())
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    tokenizer = BertTokenizerFast(str(tmp_path / "vocab.txt"))
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    config = BertConfig(vocab_size=len(tokenizer), num_labels=3, initializer_range=0.5, **sizes)
    bert = BertForSequenceClassification(config).eval()
    granularity = interpreto.Granularity.TOKEN

    for text in texts:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        vectors = bert.get_input_embeddings()(ids).detach()
        label = bert(ids).logits.argmax(-1)
        start = 0.999 * vectors
        explainer = interpreto.IntegratedGradients(
            bert, tokenizer, granularity=granularity, n_perturbations=101, input_x_gradient=False, baseline=start[0]
        )
        [theirs] = explainer.explain([text])
        assert theirs.targets.tolist() == label.tolist()
        ours = attribute.integrated_gradients(
            lambda inputs: bert(inputs_embeds=inputs).logits, vectors, target=label, baseline=start
        )
        ours = (ours / (vectors - start)).abs().mean(-1)[0, 1:-1]
        assert (ours - theirs.attributions[0]).abs().max() < 1e-4

        [product] = interpreto.IntegratedGradients(
            bert, tokenizer, granularity=granularity, n_perturbations=101
        ).explain([text])
        path = (torch.linspace(0, 1, 101)[:, None, None] * vectors).requires_grad_()
        [gradients] = torch.autograd.grad(bert(inputs_embeds=path).logits[:, label].sum(), path)
        unsigned = torch.trapezoid((gradients * path).abs().mean(-1), dx=0.01, dim=0)[1:-1]
        assert (unsigned - product.attributions[0]).abs().max() < 1e-4

        def probability(inner, ids=ids, label=label):
            whole = torch.cat([ids[:, :1].expand(len(inner), 1), inner, ids[:, -1:].expand(len(inner), 1)], 1)
            return bert(whole).logits.softmax(-1)[:, label.item()]

        result = faithful(probability, ids[:, 1:-1], theirs.attributions, baseline=tokenizer.mask_token_id, steps=100)
        for kind, means in (("Deletion", result.deletion), ("Insertion", result.insertion)):
            area, _ = getattr(metrics, kind)(bert, tokenizer).evaluate([theirs])
            assert abs(area - means["scores"].mean) < 1e-3
