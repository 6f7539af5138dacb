"""Extraction, with a small network that is registered as a library's, and with torchvision where it is there."""

import hashlib
import re
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from image_files import archive_of, plain
from saccade.errors import ArgumentError, SaccadeError
from saccade.models import encoders
from saccade.models.encoders import Built, Encoder, open_encoder
from saccade.tasks.image.features.__main__ import main
from saccade.tasks.image.features.store import FeatureStore
from tiny_encoder import WITH_TINY, Tiny


@pytest.fixture(autouse=True)
def library(monkeypatch):
    monkeypatch.setattr(encoders, "BUILDERS", WITH_TINY)


@pytest.fixture
def weights(tmp_path):
    torch.manual_seed(1)
    path = tmp_path / "tiny.safetensors"
    save_file(Tiny().state_dict(), path)
    return path


def photos(folder, count=40):
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:02}.png").write_bytes(plain((5 * number, 20, 90), (40, 30)))
    return folder


def extract(images, weights, store, encoder="own:tiny", size=32):
    """The exit code of the program."""
    words = ["--encoder", encoder, "--weights", weights, "--output", store, "--size", size]
    return main([str(word) for word in (images, *words)])


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_or_an_archive_becomes_a_store(tmp_path, weights, packed, capsys):
    images = photos(tmp_path / "images")
    source = archive_of(images, tmp_path / "x.tar", "w:") if packed else images
    left = tmp_path / ".store.0123456789ab.partial"
    left.mkdir()
    assert extract(source, weights, tmp_path / "store") == 0
    out, error = capsys.readouterr()
    assert out == f"{tmp_path / 'store'}: features of 40 images\n" and "32 of 40 images\n40 of 40 images\n" in error
    assert f"{left} is of an extraction that was killed" in error and left.is_dir()
    store = FeatureStore.open(tmp_path / "store")
    assert (store.shape, store.dim, len(store.names)) == ((4, 4), 7, 40)
    assert store.encoder == "own:tiny layer4 32 × 32"
    before = (tmp_path / "store" / "index.json").read_bytes()
    assert hashlib.sha256(weights.read_bytes()).hexdigest().encode() in before
    network = Tiny()
    network.load_state_dict(load_file(weights))
    for number in (0, 39):
        image = torch.tensor([5 * number, 20, 90]).view(1, 3, 1, 1).expand(1, 3, 32, 32) / 255
        with torch.no_grad():
            truth = network.eval().layer4(network.stem((image - 0.5) / 0.25))[0]
        assert torch.allclose(store.get(f"{number:02}.png").values, truth.flatten(1).T, atol=2e-3)
    assert extract(source, weights, tmp_path / "store") == 2  # nothing is overwritten
    assert "--output: expected a place where nothing is" in capsys.readouterr().err
    assert (tmp_path / "store" / "index.json").read_bytes() == before


def test_rows_and_columns_lie_as_they_are_seen(tmp_path, weights):
    encoder = open_encoder("own:tiny", weights, "stem")
    image = torch.zeros(1, 3, 16, 16, dtype=torch.uint8)
    image[..., 4:8, 12:16] = 255
    values, shape = encoder.maps(image)
    assert shape == (4, 4)
    apart = (values - values[:, :1]).abs().sum(-1)[0]
    assert apart.nonzero().flatten().tolist() == [1 * 4 + 3]


class Tokens(nn.Module):
    def __init__(self, before, behind=False):
        super().__init__()
        self.blocks, self.before, self.behind = nn.Identity(), before, behind

    def forward(self, images):
        cells = nn.functional.avg_pool2d(images, 8)
        if self.behind:
            return self.blocks(cells.permute(0, 2, 3, 1))
        tokens = cells.flatten(2).transpose(1, 2)
        return self.blocks(torch.cat([torch.full((1, self.before, 3), 9.0), tokens], 1))


@pytest.mark.parametrize("network", [Tokens(0), Tokens(1), Tokens(0, behind=True)])
def test_tokens_and_channels_behind_are_maps_too(network):
    image = torch.randint(0, 256, (1, 3, 40, 40), dtype=torch.uint8)
    values, shape = Encoder(Built(network, (0,) * 3, (1,) * 3), "blocks", "own", "").maps(image)
    assert shape == (5, 5)
    truth = nn.functional.avg_pool2d(image / 255, 8).flatten(2).transpose(1, 2)
    assert torch.allclose(values, truth)


def test_pickled_weights_are_read_where_they_are_tensors_alone(tmp_path, weights):
    own = open_encoder("own:tiny", weights).built.module.state_dict()
    state = {f"module.{name}": part for name, part in own.items()}
    torch.save({"state_dict": state, "epoch": 3}, tmp_path / "a.pth")
    one, other = open_encoder("own:tiny", weights), open_encoder("own:tiny", tmp_path / "a.pth")
    image = torch.randint(0, 256, (1, 3, 32, 32), dtype=torch.uint8)
    assert torch.equal(one.maps(image)[0], other.maps(image)[0])


class Trap:
    def __reduce__(self):
        return (sys.exit, (7,))


def test_what_could_run_a_program_is_not_read(tmp_path):
    torch.save({"state_dict": Trap()}, tmp_path / "a.pth")
    with pytest.raises(ArgumentError, match=r"a.pth: expected tensors alone, got what torch.load\(weights_only=True\)"):
        open_encoder("own:tiny", tmp_path / "a.pth")


def saved(path, change):
    state = Tiny().state_dict()
    change(state)
    save_file(state, path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("stem.bias"), r"expected weights of own:tiny, got others: stem.bias is missing \(1 of"),
        (lambda s: s.update({"stem.bias": torch.ones(4)}), r"got others: stem.bias is of another shape \(1 of"),
        (lambda s: s.update({"more.bias": torch.ones(4)}), r"got others: more.bias is none of it \(1 of"),
    ],
)
def test_weights_of_another_network_are_one_line(tmp_path, change, message):
    saved(tmp_path / "a.safetensors", change)
    with pytest.raises(ArgumentError, match=message):
        open_encoder("own:tiny", tmp_path / "a.safetensors")


def test_other_classes_and_counts_of_batches_are_of_no_matter(tmp_path, weights):
    def change(state):
        state["fc.weight"], state["fc.bias"] = torch.ones(3, 7), torch.ones(3)
        del state["layer4.0.num_batches_tracked"]

    saved(tmp_path / "a.safetensors", change)
    assert open_encoder("own:tiny", tmp_path / "a.safetensors").layer == "layer4"


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.safetensors", b"x" * 99), ("a.pth", b"x" * 99), ("b.pth", b""), ("c.pth", b"junk"), ("d.pth", b"\x80\x02")],
)
def test_files_that_are_no_weights_are_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ArgumentError, match=r"^--weights: .*expected tensors (alone|in a .pth)") as caught:
        open_encoder("own:tiny", tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--encoder", "resnet50"], "--encoder: expected torchvision:NAME or timm:NAME"),
        (["--encoder", "torch:resnet50"], "--encoder: expected torchvision:NAME or timm:NAME"),
        (["--weights", "nowhere.pth"], "--weights: expected a file of weights, found none at nowhere.pth"),
        (["--layer", "layer3"], "--layer: expected a module of own:tiny, got layer3; did you mean layer4"),
        (["--layer", "behind"], "--layer: expected a map .* got an output of shape"),
        (["--size", "15"], "--size: expected pixels from 16 to 2048, got 15"),
        (["--output", "taken", "--weights", "junk.pth"], "--output: expected a place where nothing is"),
        (["--output", "taken/store", "--weights", "junk.pth"], "--output: expected a folder, got a file"),
        (["--weights", "junk.pth"], "--weights: expected tensors in a .pth or .safetensors file, got another"),
        (["nowhere"], "expected a folder or archive of images, found none at nowhere"),
    ],
)
def test_bad_arguments_are_one_line_and_leave_nothing(tmp_path, weights, capsys, monkeypatch, more, message):
    monkeypatch.chdir(tmp_path)
    photos(tmp_path / "images", 3)
    (tmp_path / "junk.pth").write_bytes(b"junk")
    (tmp_path / "taken").write_text("mine")
    images, more = (more[0], more[1:]) if more[0] == "nowhere" else ("images", more)
    before = sorted(tmp_path.iterdir())
    usual = ["--encoder", "own:tiny", "--weights", str(weights), "--output", "store", "--size", "32"]
    assert main([images, *usual, *more]) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.count("\n") == 1 and re.search(message, error)
    assert sorted(tmp_path.iterdir()) == before and (tmp_path / "taken").read_text() == "mine"


def test_an_image_that_is_none_is_named_and_leaves_no_store(tmp_path, weights, capsys):
    images = photos(tmp_path / "images", 40)
    (images / "35.png").write_bytes(b"a text")
    assert extract(images, weights, tmp_path / "store") == 2
    assert "35.png: expected an image" in capsys.readouterr().err
    assert not [path for path in tmp_path.iterdir() if "store" in path.name]


@pytest.mark.parametrize("library", ["torchvision", "timm"])
@pytest.mark.parametrize("fault", [ImportError("none"), RuntimeError("operator does not exist")])
def test_a_library_that_is_not_there_is_one_line(monkeypatch, weights, library, fault):
    def absent(*_, **__):
        raise fault

    monkeypatch.setattr(encoders, "import_module", absent)
    with pytest.raises(SaccadeError, match=rf"needs {library}: pip install|{library} is there and does not fit"):
        encoders.BUILDERS[library]("resnet18")


@pytest.mark.parametrize("library", ["torchvision", "timm"])
def test_a_resnet_of_a_library(tmp_path, library):
    try:
        made = encoders.BUILDERS[library]("resnet18")
    except SaccadeError as error:
        pytest.skip(str(error))
    save_file(made.module.state_dict(), tmp_path / "resnet18.safetensors")
    images = photos(tmp_path / "images", 3)
    weights = tmp_path / "resnet18.safetensors"
    assert extract(images, weights, tmp_path / "store", f"{library}:resnet18", 96) == 0
    store = FeatureStore.open(tmp_path / "store")
    assert (store.shape, store.dim) == ((3, 3), 512)
    assert not np.array_equal(store.get("00.png").values, store.get("02.png").values)
    with pytest.raises(ArgumentError, match=f"did you mean {library}:resnet18"):
        open_encoder(f"{library}:resnet_18", weights)
