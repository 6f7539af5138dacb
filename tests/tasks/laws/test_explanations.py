"""What `--by` says of each answer: numbers against the methods called by hand, and one line where it means nothing."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import torch

from saccade import look
from saccade.errors import ArgumentError, SaccadeError
from saccade.look import attribute
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.looking import NEEDS, By
from saccade.tasks.text.special import BEGIN, END, UNKNOWN
from tasks.laws.table import REST, TABLE, each_task, questions, quick
from tiers import every

METHODS = get_args(By)


def doubled(run):
    """The run with a model in double precision, which shares nothing with the run."""
    return replace(run, trained=replace(run.trained, model=copy.deepcopy(run.model).double()))


def refusal(call, *given, **words):
    """The one line of an error, or "" of a call that returns."""
    try:
        call(*given, **words)
    except SaccadeError as error:
        return str(error)
    return ""


def asked_of(run, folder):
    folder.mkdir(exist_ok=True)
    return questions(run.task, folder, 1)


@pytest.mark.parametrize("run", [*quick("classify-text", "tag-words", "regress"), *REST], indirect=True)
def test_each_method_scores_the_inputs_or_is_refused_in_one_line(run, tmp_path, unsaved):
    lines, explained = asked_of(run, tmp_path / "asked"), []
    for by in METHODS:
        if line := refusal(run.explain, lines, by=by):
            assert "\n" not in line and line.startswith(("--by: expected ", "by: expected a run that"))
            continue
        [scores], paths = run.explain(lines, by=by), run.draw(lines, tmp_path / by, by=by)
        explained.append(by)
        assert scores.by == by and scores.method and paths
        assert bool(scores.values.isfinite().all()) and not scores.values.requires_grad
        assert len(scores.values) == len(scores.outputs)
        assert not scores.tokens or scores.values.shape[1:] == (len(scores.tokens),)
        assert by == "integrated-gradients" or bool((scores.values >= 0).all())
    assert explained or run.task.name == "glimpse" or run.trained.options.model == "mean"


@each_task
def test_a_method_without_a_meaning_names_those_that_have_one(run, tmp_path):
    refused = {by: line for by in METHODS if (line := refusal(run.request, "look", {"by": by}))}
    for by, line in refused.items():
        assert line.endswith(f"for this run, got {by}. {NEEDS[by]}")
    assert refused or run.task.name == "tag-words"


@each_task
def test_the_table_of_the_documentation_has_the_methods_of_the_first_model(run):
    text = (Path(__file__).parents[3] / "docs/looking.md").read_text(encoding="utf-8")
    section = text.partition("## Why this answer")[2].partition("\n## ")[0]
    header, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in section.splitlines() if "|" in line]
    [cells] = [row[1:] for row in rows if row[0] == f"`{run.task.name}`"]
    marked = {
        by.strip(" `"): cell == "✓" for names, cell in zip(header[1:], cells, strict=True) for by in names.split(",")
    }
    assert marked == {by: not refusal(run.request, "look", {"by": by}) for by in METHODS}


@pytest.fixture
def classifier(trained):
    """Two layers of self-attention under a pooling of two queries."""
    run = doubled(trained("classify-text", "self-attention", layers=2))
    text = run.task.example("test", 0).input
    source = Padded(torch.tensor([list(text.ids)]), torch.tensor([len(text.ids)]))
    with look.record(run.model) as records:
        logits = run.model(source)[0]
    layers = [aux.weights for name, aux in records if name.endswith(".attention")]
    [pool] = [aux.weights for name, aux in records if name == "pool"]
    return run, text, source, layers, pool, logits[logits.argmax()]


def test_rollout_and_flow_of_a_classifier_go_on_through_its_pooling(classifier):
    run, text, _, layers, pool, _ = classifier
    assert len(layers) == 2 and pool.shape[1] == 2  # queries
    expected = (pool[0] @ attribute.rollout(layers)[0]).mean(0)
    [scores] = run.explain(text.text, by="rollout")
    torch.testing.assert_close(scores.values[0], expected.detach())
    count = len(text.ids)
    mixed = [(layer.mean(1) + torch.eye(count)) / 2 for layer in layers]
    graph = []
    for top in (*mixed, None):  # a graph with a node for each query, whose own layer is the last
        matrix = torch.eye(count + 2, dtype=torch.float64)
        if top is None:
            matrix[count:] = torch.nn.functional.pad(pool[0], (0, 2))
        else:
            matrix[:count, :count] = top[0]
        graph.append(matrix[None, None].detach())
    flows = attribute.flow(graph, residual=0.0)[0, count:, :count].mean(0)
    torch.testing.assert_close(run.explain(text.text, by="flow")[0].values[0], flows)
    assert bool((flows >= expected - 1e-6).all())  # a flow is at least the product of its path


def test_the_gradient_of_a_classifier_weighs_its_attention(classifier):
    run, text, _, layers, pool, logit = classifier
    *below, above = torch.autograd.grad(logit, [*layers, pool])
    relevance = attribute.gradient_weighted(layers, below)[0]
    expected = ((above * pool).relu()[0] @ relevance).mean(0)
    torch.testing.assert_close(run.explain(text.text, by="gradient")[0].values[0], expected.detach())


def test_grad_cam_of_a_classifier_is_that_of_the_features_before_its_pooling(classifier):
    run, text, source, *_ = classifier
    features = run.model.features(source)
    logits = run.model.classify(features, source)[0]
    [gradient] = torch.autograd.grad(logits.max(), features)
    expected = attribute.token_grad_cam(features, gradient)
    torch.testing.assert_close(run.explain(text.text, by="grad-cam")[0].values, expected.detach())


def test_faithfulness_is_measured_on_ids_with_the_unknown_word(classifier):
    run, text, source, *_ = classifier
    [scores] = run.explain(text.text, by="rollout", faithful=True)
    best = int(run.model(source).argmax())

    def probability(ids):
        return run.model(Padded(ids, source.lengths.expand(len(ids)))).softmax(-1)[:, best]

    expected = look.faithful(probability, source.values, scores.values, baseline=UNKNOWN)
    for found, measure in zip(scores.faithfulness, expected, strict=True):
        assert {name: mean.mean for name, mean in found.items()} == pytest.approx(
            {name: mean.mean for name, mean in measure.items()}
        )
    assert f"comprehensiveness {expected.comprehensiveness['scores'].mean:.3f}" in scores.remark
    [subject] = run.subjects(text.text)
    torch.testing.assert_close(subject.probability(subject.units), probability(source.values))


@pytest.fixture
def translated(trained):
    run = doubled(trained("translate", "transformer", layers=2))
    text = run.task.example("test", 0).text
    [output] = run.predict(text)[0].outputs
    source = run.task.read(text, 1).ids
    pair = torch.tensor([[*source, END]]), torch.tensor([[BEGIN, *output.ids]])
    with look.record(run.model) as records:
        logits = run.model(Padded(pair[0], torch.tensor([len(source) + 1])), pair[1])[0]
    chosen = logits[torch.arange(len(logits)), torch.tensor([*output.ids, END])]
    weights = {name: aux.weights for name, aux in records}
    return run, text, weights, chosen


def test_rollout_of_a_translation_goes_through_both_stacks(translated):
    run, text, weights, _ = translated
    encoder = attribute.rollout([weights[f"encoder.{layer}.attention"] for layer in range(2)])[0]
    count = weights["decoder.0.attention"].shape[-1]
    of_source = torch.zeros(count, len(encoder), dtype=torch.float64)
    for layer in range(2):
        own = (weights[f"decoder.{layer}.attention"][0].mean(0) + torch.eye(count)) / 2
        cross = weights[f"decoder.{layer}.source_attention"][0].mean(0)
        of_source = (cross @ encoder + own @ of_source) / 2
    [scores] = run.explain(text, by="rollout")
    torch.testing.assert_close(scores.values, of_source.detach())
    assert scores.tokens[-1] == scores.outputs[-1] == "⏎" and len(scores.outputs) == count


def test_the_gradient_of_a_translation_weighs_attention_for_each_token(translated):
    run, text, weights, chosen = translated
    names = [name for name, part in weights.items() if part is not None]
    rows = []
    for place, logit in enumerate(chosen):
        grads = torch.autograd.grad(logit, [weights[name] for name in names], retain_graph=True)
        means = {name: (grad * weights[name]).relu().mean(1)[0] for name, grad in zip(names, grads, strict=True)}
        below = torch.eye(means["encoder.0.attention"].shape[0], dtype=torch.float64)
        of_source = torch.zeros(len(chosen), len(below), dtype=torch.float64)
        for layer in range(2):
            below = below + means[f"encoder.{layer}.attention"] @ below
        for layer in range(2):
            of_source = of_source + means[f"decoder.{layer}.attention"] @ of_source
            of_source = of_source + means[f"decoder.{layer}.source_attention"] @ below
        rows.append(of_source[place])
    torch.testing.assert_close(run.explain(text, by="gradient")[0].values, torch.stack(rows).detach())


def completeness(scores, ends):
    """Rows of integrated gradients sum to the difference of the ends, up to 1%, at which quadrature ends."""
    values = scores.values.flatten(1)
    assert bool(values.any())
    error = (values.sum(1) - ends.detach().to(values)).abs()
    assert bool((error <= 0.01 * values.abs().sum(1) + 1e-9).all())


@pytest.mark.parametrize("model", ["rnn-attention", "self-attention"])
def test_integrated_gradients_of_a_text_are_complete(trained, model, monkeypatch):
    run = doubled(trained("classify-text", model))
    text = run.task.example("test", 0)
    source = Padded(torch.tensor([list(text.input.ids)]), torch.tensor([len(text.input.ids)]))
    logits = run.model(source)[0]
    [scores] = run.explain(text.text, by="integrated-gradients")
    monkeypatch.setattr(run.model.words.embedding, "weight", torch.nn.Parameter(0 * run.model.words.embedding.weight))
    best = int(logits.argmax())
    completeness(scores, (logits - run.model(source)[0])[best : best + 1])


@pytest.mark.slow
@pytest.mark.parametrize("model", ["rnnsearch", "transformer"])
def test_integrated_gradients_of_a_translation_are_complete(trained, model, monkeypatch):
    run = doubled(trained("translate", model))
    text = run.task.example("test", 0).text
    [output] = run.predict(text)[0].outputs
    ids = run.task.read(text, 1).ids
    pair = Padded(torch.tensor([[*ids, END]]), torch.tensor([len(ids) + 1])), torch.tensor([[BEGIN, *output.ids]])
    written = torch.tensor([*output.ids, END])
    [scores] = run.explain(text, by="integrated-gradients")

    def logits():
        return run.model(*pair)[0][torch.arange(len(written)), written]

    before = logits()
    forward, calls = run.model.source_embedding.forward, []

    def without_source(tokens):
        calls.append(tokens)
        return forward(tokens) * (0 if len(calls) == 1 else 1)

    monkeypatch.setattr(run.model.source_embedding, "forward", without_source)
    completeness(scores, before - logits())


def test_methods_of_an_image_are_those_of_look(trained, tmp_path):
    run = doubled(trained("classify-image", "cnn"))
    lines = asked_of(run, tmp_path / "asked")
    [image] = run.encode(lines)
    image = image.double()
    best = run.model(image).argmax(-1)
    [gradient], [cam] = (run.explain(lines, by=by) for by in ("gradient", "grad-cam"))
    expected = look.saliency(run.model, image, best)
    torch.testing.assert_close(gradient.values.double(), expected, rtol=1e-5, atol=1e-7)
    expected = look.grad_cam(run.model, image, best, run.model.last_layer)
    torch.testing.assert_close(cam.values.double(), expected, rtol=1e-5, atol=1e-7)
    [scores] = run.explain(lines, by="integrated-gradients")
    completeness(scores, (run.model(image) - run.model(0 * image))[:, int(best)])
    label = run.task.codec.labels[int(run.model(image).argmin())]
    assert run.explain(lines, by="gradient", label=label)[0].outputs == (label,)


def test_an_image_is_drawn_with_the_faithfulness_of_its_pixels(trained, tmp_path, unsaved):
    run = trained("classify-image", "cnn")
    lines = asked_of(run, tmp_path / "asked")
    [image], [scores] = run.encode(lines), run.explain(lines, by="grad-cam", faithful=True)
    best = int(run.model(image).argmax())
    size = image.shape[2:]
    units = image.flatten(2).mT
    grown = torch.nn.functional.interpolate(scores.values[None], size, mode="bilinear")[0].flatten(1)
    expected = look.faithful(
        lambda pixels: run.model(pixels.mT.unflatten(2, size)).softmax(-1)[:, best],
        units,
        grown,
        baseline=units[0].mean(0),
    )
    found = scores.faithfulness.comprehensiveness["scores"].mean
    assert found == pytest.approx(expected.comprehensiveness["scores"].mean, abs=1e-5)
    *_, numbers = run.draw(lines, tmp_path / "pictures", by="grad-cam", faithful=True, json=True)
    assert scores.remark in numbers.read_text(encoding="utf-8")


@pytest.mark.slow
def test_integrated_gradients_of_a_caption_are_complete(trained, tmp_path):
    run = doubled(trained("caption", next(iter(TABLE["caption"].models))))
    lines = asked_of(run, tmp_path / "asked")
    [output] = run.predict(lines)[0].outputs
    [visual, _], written = run.encode(lines), torch.tensor([*output.ids, END])
    image, before = visual.values.double(), torch.tensor([[BEGIN, *output.ids]])
    ends = [run.model(Visual(part), before)[0][torch.arange(len(written)), written] for part in (image, 0 * image)]
    completeness(run.explain(lines, by="integrated-gradients")[0], ends[0] - ends[1])


@pytest.mark.slow
def test_integrated_gradients_of_a_recording_are_complete(trained, tmp_path):
    run = trained("transcribe", "las")
    lines = asked_of(run, tmp_path / "asked")
    [output] = run.predict(lines)[0].outputs
    [source, _], written = run.encode(lines), torch.tensor([*output.ids, END])
    frames, before = source.values, torch.tensor([[BEGIN, *output.ids]])
    pairs = [(Padded(part, source.lengths), before) for part in (frames, 0 * frames)]
    ends = [run.model(*pair)[0][torch.arange(len(written)), written] for pair in pairs]
    completeness(run.explain(lines, by="integrated-gradients")[0], ends[0] - ends[1])


def test_integrated_gradients_of_numbers_begin_at_the_means(trained):
    run = trained("regress", next(iter(TABLE["regress"].models)))
    line = run.task.example("test", 0).text
    [scores] = run.explain(line, by="integrated-gradients")
    columns = run.task.codec
    start = ",".join(map(str, columns.mean))
    [found], [mean] = (run.predict(text)[0].mean for text in (line, start))
    completeness(scores, torch.tensor([found - mean]))
    [attended] = run.explain(line, by="attention")
    assert len(attended.tokens) == len(columns.points) and float(attended.values.sum()) == pytest.approx(1)


def test_a_blank_input_is_not_explained(trained):
    run = trained("classify-text", "rnn-attention")
    with pytest.raises(ArgumentError, match="inputs: expected none that is blank, got number 1"):
        run.explain(" ")


@every(
    ("case", "request_", "message"),
    [
        (
            ("classify-text", "rnn-attention"),
            {"by": "rollout"},
            (
                "--by: expected attention, gradient, grad-cam, jacobian or integrated-gradients for this run, "
                "got rollout. It needs layers of self-attention, as a transformer has."
            ),
        ),
        (
            ("translate", "bytenet"),
            {"by": "attention"},
            (
                "--by: expected gradient, jacobian or integrated-gradients for this run, got attention. "
                "A run whose model attends to its inputs has it."
            ),
        ),
        (
            ("classify-text", "self-attention"),
            {"by": "flow", "layer": 1},
            "--by: expected attention with --layer 1, got flow",
        ),
        (
            ("classify-text", "self-attention"),
            {"faithful": True, "layer": 1},
            "--faithful: expected without --layer, got --layer 1. Leave one out.",
        ),
        (
            ("glimpse", "ram"),
            {"faithful": True},
            "--faithful: expected a run that reads whole images, got one of glimpses. Leave it out.",
        ),
    ],
)
def test_each_refusal_says_what_the_run_has(trained, case, request_, message):
    with pytest.raises(ArgumentError) as error:
        trained(*case).request("look", request_)
    assert str(error.value) == message
