"""The task that writes about images: what it measures, what it refuses, and features in the place of images."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from saccade import runs
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.caption import CAPTION
from saccade.tasks.caption.codec import Captions, Encoded
from saccade.tasks.caption.options import REQUESTS
from saccade.tasks.image.features.store import Features, write_store
from saccade.tasks.image.sight import Sight
from saccade.tasks.text.words import Words
from saccade.train.task import options_class
from tiers import every, rest_slow

SMALL = {"widths": "4", "stem_stride": 8, "cell_dim": 6, "hidden_dim": 6, "embedding_dim": 4, "threads": 1}
SHORT = {"max_steps": 2, "warmup_steps": 1, "schedule_steps": 4, "validation_examples": 4, "seed": 1, "device": "cpu"}


def folder(path, count=24):
    """Photographs of one colour each, and what colour it is, twice."""
    numbers = np.random.default_rng(0)
    lines = []
    for index in range(count):
        name, colour = f"{index}.png", ("dark", "bright")[index % 2]
        light = numbers.integers(0, 40) + 200 * (index % 2)
        Image.fromarray(np.full((20, 30, 3), light, np.uint8)).save(path / name)
        lines += [f"{name}\ta {colour} picture", f"{name}\tit is {colour}"]
    (path / "captions.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path / "captions.tsv"


@pytest.fixture
def photos(tmp_path):
    """The path of a table of photographs."""
    return str(folder(tmp_path))


def test_images_are_mirrored_and_shifted_and_features_are_not():
    image = torch.arange(16, dtype=torch.uint8).view(1, 4, 4)
    found = [Encoded(image, [4])] * 32
    codec = Captions(Words(("a",)), 1, Sight(), SimpleNamespace(seed=1, flip=True, shift=1))
    plain, moved = codec.collate(found), codec.collate(found, 2)
    assert torch.equal(plain.source.values[0] * 255, image.float())
    assert any(not torch.equal(one, plain.source.values[0]) for one in moved.source.values)
    seen = Features(torch.rand(3, 5), torch.rand(3, 4))
    batch = codec.collate([Encoded(seen, [4])] * 8, 2)
    assert all(torch.equal(one, seen.values) for one in batch.source.values)


def test_the_nearest_photograph_by_colours_lends_its_caption(photos):
    job = CAPTION.prepare(runs.options(CAPTION, photos, None, {**SMALL, "min_count": 1}))
    found = job.baselines("test")
    assert list(found) == ["majority", "nearest"] and "--features" in found["nearest"].advice
    assert found["nearest"].metrics["bleu1"]["score"] == pytest.approx(100)
    assert found["majority"].metrics["bleu1"]["score"] < 100


@every("name", ["visual-memory", "m-rnn"])
def test_the_error_of_a_reconstruction_is_a_metric(photos, name, monkeypatch):
    job = CAPTION.prepare(runs.options(CAPTION, photos, name, {**SMALL, "min_count": 1}))
    monkeypatch.setattr("saccade.tasks.caption.task._AT_ONCE", 2)
    model = job.build().eval()
    with torch.inference_mode():
        metrics = job.evaluate(model, "test", None, None).metrics
        if name == "m-rnn":
            assert "reconstruction" not in metrics
            return
        errors = []
        for index in range(job.data.size("test")):
            example = job.example("test", index)
            ids = job.codec.target.encode(job.data.text("test", index))
            errors.append(model.reconstruction(job.codec.inputs([example.input]), torch.tensor([[1, *ids]]))[0])
    assert metrics["reconstruction"] == pytest.approx(torch.cat(errors).mean().item())


@pytest.mark.parametrize("read", ["soft", "reinforce", "straight-through"])
def test_the_penalty_of_a_recipe_is_of_soft_attention_alone(read):
    model, given = "show-attend-and-tell", {"data": "photos", "read": read}
    found = CAPTION.suited(model, given).options
    assert ("doubly_stochastic" in found) == (read == "soft")
    assert options_class(CAPTION, model)(**{**found, **given}).read == read


@pytest.mark.slow
def test_all_sentences_of_a_scene_are_learned_together():
    kind = options_class(CAPTION, "show-and-tell")
    task = CAPTION.prepare(kind(data="scenes", model="show-and-tell", least=2, batch_size=8, flip=False, shift=0))
    for step in (0, 17):
        batch, examples = task.batch(step), task.sampler.batch(step)
        assert len(batch.target) == 8 and len(batch.source.values) == 2
        assert batch.source.about.tolist() == [0] * 4 + [1] * 4
        for name in {one.name for one in examples}:
            own = [task.codec.target.decode(one.ids) for one in examples if one.name == name]
            scene = int(name.split()[1])
            assert sorted(own) == sorted(task.data.references("train", 4 * scene))
            assert [task.data.text("train", index) for index in task.data.about("train", scene)] == own


@pytest.mark.parametrize("name", rest_slow(CAPTION.models))
def test_of_scenes_every_model_writes_its_own_words(name, monkeypatch):
    kind = options_class(CAPTION, name)
    small = {**{key: value for key, value in SMALL.items() if key in kind.__dataclass_fields__}, "hidden_dim": 8}
    task = CAPTION.prepare(kind(data="scenes", model=name, beam_size=1, **small))
    model, asked = task.build().eval(), []
    step = model.step
    monkeypatch.setattr(model, "step", lambda token, state: asked.append(token) or step(token, state))
    monkeypatch.setattr(model, "forward", None)  # what is given true words is not called
    with torch.inference_mode():
        task.answer(model, [task.example("test", index).input for index in range(2)], None)
    assert asked


@every(
    ("changed", "said"),
    [
        ({"least": 2}, "--least: expected only with --data scenes"),
        ({"most": 2}, "--most: expected only with --data scenes"),
        ({"data_seed": 2}, "--data-seed: expected only with --data scenes"),
        ({"data": "scenes", "least": 5}, "--least"),
        ({"data": "scenes", "size": 4}, "--size"),
        ({"size": 64, "features": "x"}, "--size: expected none with --features"),
        ({"min_count": 1000}, "--min-count"),
        ({"max_length": 1}, "--max-length"),
    ],
)
def test_options_without_effect_or_words_are_rejected(photos, changed, said):
    kind = options_class(CAPTION, "show-and-tell")
    with pytest.raises(ArgumentError, match=said):
        CAPTION.prepare(kind(**{"data": photos, "model": "show-and-tell", **changed}))


@pytest.mark.parametrize(
    ("model", "words", "said"),
    [
        ("show-and-tell", {"coverage_penalty": 0.2, "beam_size": 2}, "attends to the image, got show-and-tell"),
        ("show-attend-and-tell", {"coverage_penalty": 0.2}, "--coverage-penalty: expected a --beam-size above 1"),
        ("show-attend-and-tell", {"coverage_penalty": 0.2, "nbest": 2}, None),
        ("transformer", {"coverage_penalty": 0.2, "beam_size": 2}, None),
    ],
)
def test_coverage_needs_attention_and_a_ranking(tmp_path, model, words, said):
    kind = options_class(CAPTION, model)
    own = {name: value for name, value in SMALL.items() if name in kind.__dataclass_fields__ and name != "hidden_dim"}
    task = CAPTION.prepare(kind(data=str(folder(tmp_path)), model=model, hidden_dim=8, **own))
    built, request = task.build().eval(), REQUESTS["predict"](**words)
    if said is None:
        task.check(built, request)
        return
    with pytest.raises(ArgumentError, match=said):
        task.check(built, request)


@pytest.mark.slow
def test_an_ensemble_sees_the_same_cells(tmp_path):
    """Else what its members looked at has no mean."""
    own = {"data": str(folder(tmp_path)), "model": "show-attend-and-tell", **SMALL, **SHORT}
    fine, coarse = (
        runs.train("caption", **{**own, "run": tmp_path / str(stride), "stem_stride": stride}).folder
        for stride in (4, 8)
    )
    with pytest.raises(SaccadeError, match=r"8: expected --widths and --stem-stride .*, got 24 × 24 and 12 × 12"):
        runs.load(fine, ensemble=[coarse], device="cpu")


@pytest.mark.parametrize("regions", [False, True])
def test_features_are_seen_in_the_place_of_images(tmp_path, regions, capsys):
    path, store = folder(tmp_path), tmp_path / "store"
    names = [f"{index}.png" for index in range(24)]
    values = [torch.full((6, 5), float(index % 2)) for index in range(24)]
    if regions:
        values = [one[: 2 + index % 3] for index, one in enumerate(values)]
        write_store(store, names, values, [torch.tensor([[0.0, 0.0, 0.5, 0.5]]).expand(len(one), 4) for one in values])
    else:
        write_store(store, names, values, grid=(2, 3))
    own = {**SMALL, **SHORT, "features": str(store), "min_count": 1}
    own = {name: value for name, value in own.items() if name not in ("widths", "stem_stride")}
    run = runs.train("caption", data=str(path), model="show-attend-and-tell", run=tmp_path / "run", **own)
    assert run.results["steps"] == 2
    assert (run.task.settings.flip, run.task.settings.shift) == (False, 0)
    for name, value in (("widths", "4"), ("flip", True), ("shift", 2)):
        with pytest.raises(SaccadeError, match=f"--{name}: expected none with --features, .* got {value}"):
            runs.train("caption", data=str(path), model="m-rnn", run=tmp_path / "b", **{**own, name: value})
    [answer] = run.predict(["3.png"])
    assert len(answer.lines()) == 1
    asked = run.task.read(str(tmp_path / "3.png"), 1)
    assert asked.picture is not None and asked.picture.shape == (3, 224, 224)
    assert run.task.read("3.png", 1).picture is None
    with pytest.raises(SaccadeError, match="expected features of gone.png"):
        run.predict(["gone.png"])
    with pytest.raises(SaccadeError, match="expected a store of features"):
        runs.train("caption", data=str(path), model="show-and-tell", run=tmp_path / "b", **{**own, "features": "gone"})
    store.rename(tmp_path / "away")
    write_store(store, names, [torch.ones(4, 9)] * 24, grid=(2, 2))
    with pytest.raises(SaccadeError, match=r"--features: expected .* got maps of 2 × 2 cells of 9 numbers"):
        runs.load(tmp_path / "run", device="cpu")
