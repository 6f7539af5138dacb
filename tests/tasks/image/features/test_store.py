import json

import numpy as np
import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.image.features.store import FeatureStore, write_store

NAMES = ["Images/a.jpg", "Images/b.jpg", "more/b.jpg"]


def maps(folder, **more):
    arrays = [torch.rand(6, 5, generator=torch.Generator().manual_seed(number)) for number in range(3)]
    write_store(folder, NAMES, iter(arrays), grid=(2, 3), encoder="tiny", weights="ab", **more)
    return arrays


def regions(folder):
    draws = np.random.default_rng(4)
    arrays = [draws.normal(size=(count, 5)) for count in (1, 7, 3)]
    corners = [np.sort(draws.random((len(each), 2, 2)), 1).reshape(-1, 4) for each in arrays]
    write_store(folder, NAMES, arrays, corners)
    return arrays, corners


def test_maps_come_back_with_the_boxes_of_their_cells(tmp_path):
    arrays = maps(tmp_path / "store")
    store = FeatureStore.open(tmp_path / "store")
    assert (store.names, store.shape, store.dim, store.encoder) == (tuple(NAMES), (2, 3), 5, "tiny")
    for name, array in zip(NAMES, arrays, strict=True):
        values, boxes = store.get(name)
        assert values.dtype == boxes.dtype == torch.float32
        assert torch.equal(values, array.half().float())
    upper = torch.tensor([[0, 0, 1, 1.5], [1, 0, 2, 1.5], [2, 0, 3, 1.5]]) / 3
    assert torch.allclose(boxes[:3], upper)
    assert torch.equal(boxes[3:, [1, 3]], torch.tensor([0.5, 1.0]).expand(3, 2))


def test_regions_come_back_each_image_with_its_own_number(tmp_path):
    arrays, corners = regions(tmp_path / "store")
    store = FeatureStore.open(tmp_path / "store")
    assert (store.shape, store.dim) == (None, 5)
    for name, array, box in zip(NAMES, arrays, corners, strict=True):
        values, boxes = store.get(name)
        assert values.numpy() == pytest.approx(array.astype(np.float16).astype(np.float32))
        assert boxes.numpy() == pytest.approx(box.astype(np.float32))


@pytest.mark.parametrize("size", [0, 200, 10**6])
def test_a_store_that_somebody_writes_to_is_named(tmp_path, size):
    maps(tmp_path / "store")
    store = FeatureStore.open(tmp_path / "store")
    (tmp_path / "store" / "values.npy").write_bytes(bytes(size))
    with pytest.raises(ArgumentError, match=r"values\.npy: expected what it held at first, got a changed file"):
        store.get(NAMES[0])


def test_names_are_found_by_their_ends(tmp_path):
    maps(tmp_path / "store")
    store = FeatureStore.open(tmp_path / "store")
    whole = store.get("Images/a.jpg").values
    for name in ("a.jpg", "data/Images/a.jpg"):
        assert store.has(name)
        assert torch.equal(store.get(name).values, whole)
    assert not store.has("c.jpg")
    assert not store.has("other/a.jpg")
    with pytest.raises(ArgumentError, match=r"expected features of c.jpg, found none; extract them"):
        store.get("c.jpg")
    with pytest.raises(ArgumentError, match=r"one image called b.jpg, got Images/b.jpg and more/b.jpg"):
        store.has("b.jpg")


def test_the_fingerprint_is_of_the_contents_alone(tmp_path):
    maps(tmp_path / "one")
    arrays = maps(tmp_path / "two")
    write_store(tmp_path / "three", NAMES, [*arrays[:2], arrays[2] + 1], grid=(2, 3), encoder="tiny")
    write_store(tmp_path / "four", NAMES[::-1], arrays, grid=(2, 3), encoder="tiny")
    one, two, three, four = (FeatureStore.open(tmp_path / name).fingerprint for name in ("one", "two", "three", "four"))
    assert one == two
    assert len({one, three, four}) == 3


def image(box, count=1):
    """Features of an image with a box."""
    return {"names": ["a"], "arrays": [np.ones((count, 5))], "boxes": [np.array(box)], "grid": None}


BAD = [
    (lambda a: {"arrays": a[:2]}, r"arrays: expected 3, one of each name, got 2"),
    (lambda a: {"arrays": [*a, a[0]]}, r"arrays: expected 3, one of each name, got more"),
    (lambda a: {"arrays": [a[0], a[1][:, :4], a[2]]}, r"b.jpg: expected features \(n, 5\), got shape \(6, 4\)"),
    (lambda a: {"arrays": [a[0], a[1][:5], a[2]]}, r"Images/b.jpg: expected 2 × 3 cells, got 5"),
    (lambda a: {"arrays": [a[0], a[1] * 1e6, a[2]]}, r"Images/b.jpg: expected finite features within ±65,504"),
    (lambda a: {"arrays": [a[0], a[1] * torch.nan, a[2]]}, r"Images/b.jpg: expected finite features"),
    (lambda a: {"grid": None}, "boxes of regions or the grid of maps"),
    (lambda a: {"boxes": []}, "boxes of regions or the grid of maps"),
    (lambda a: {"names": ["a", "a"]}, "names: expected each once, got a again"),
    (lambda a: {"names": []}, "names: expected one or more, got none"),
    (lambda a: image([[0, 0, 1, 1.1]]), "boxes: a: expected left, top, right and bottom as shares"),
    (lambda a: image([[0, 0, 1, np.nan]]), "boxes: a: expected left, top, right and bottom as shares"),
    (lambda a: image([[0, 0, 1, 1]], 2), r"boxes: a: expected \(2, 4\), got \(1, 4\)"),
    (lambda a: image([[0.78, 0, 0.02, 1]]), "left less than right, got left 0.78 and right 0.02; swap them"),
    (lambda a: image([[0, 0.9, 1, 0.5]]), "top less than bottom, got top 0.9 and bottom 0.5; swap them"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_features_are_rejected_and_leave_nothing(tmp_path, change, message):
    arrays = maps(tmp_path / "good")
    with pytest.raises(ArgumentError, match=message):
        write_store(tmp_path / "store", **{"names": NAMES, "arrays": arrays, "grid": (2, 3), **change(arrays)})
    assert [path.name for path in tmp_path.iterdir()] == ["good"]


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(ArgumentError, match="expected a place where nothing is"):
        maps(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def cut(path, left):
    path.write_bytes(path.read_bytes()[:left])


def index(folder, **change):
    path = folder / "index.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))


DAMAGES = {
    "no index": (maps, lambda f: (f / "index.json").unlink(), r"expected a store of features .*, found none"),
    "no values": (maps, lambda f: (f / "values.npy").unlink(), r"values.npy: No such file"),
    "no boxes": (regions, lambda f: (f / "boxes.npy").unlink(), r"boxes.npy: No such file"),
    "cut values": (maps, lambda f: cut(f / "values.npy", 150), r"extract it anew"),
    "empty values": (maps, lambda f: cut(f / "values.npy", 0), r"extract it anew"),
    "cut offsets": (regions, lambda f: cut(f / "offsets.npy", 140), r"extract it anew"),
    "cut index": (maps, lambda f: cut(f / "index.json", 40), r"extract it anew"),
    "pickled values": (
        maps, lambda f: np.save(f / "values.npy", np.array([{}]), allow_pickle=True), r"extract it anew"
    ),
    "other numbers": (maps, lambda f: np.save(f / "values.npy", np.zeros((3, 6, 5))), r"another kind than float16"),
    "other shape": (
        maps, lambda f: np.save(f / "values.npy", np.zeros((3, 5, 6), np.float16)), r"for 3 maps of 2 × 3 × 5"
    ),
    "other offsets": (regions, lambda f: np.save(f / "offsets.npy", np.array([0, 8, 1, 11])), r"do not fit 3 images"),
    "another format": (maps, lambda f: index(f, format=2), r"an index.json of another kind"),
    "a name twice": (maps, lambda f: index(f, names=["a", "a", "b"]), r"a name twice"),
    "no names": (maps, lambda f: index(f, names=[]), r"names \[\]"),
    "a grid that is a text": (maps, lambda f: index(f, grid="23"), r"the grid '23' in the place of rows and columns"),
    "a grid of one side": (maps, lambda f: index(f, grid=[6]), r"the grid \[6\] in the place of rows and columns"),
    "a grid of shares": (maps, lambda f: index(f, grid=[2.0, 3.0]), r"the grid \[2.0, 3.0\] in the place of"),
    "a list": (maps, lambda f: (f / "index.json").write_text("[]"), r"an index.json of another kind"),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_store_is_one_line(tmp_path, what):
    make, damage, message = DAMAGES[what]
    make(tmp_path / "store")
    damage(tmp_path / "store")
    with pytest.raises(ArgumentError, match=message) as caught:
        FeatureStore.open(tmp_path / "store")
    assert str(caught.value).startswith(str(tmp_path / "store"))
    assert "\n" not in str(caught.value)


def test_numbers_that_are_none_are_said_where_they_are_read(tmp_path):
    maps(tmp_path / "store")
    path = tmp_path / "store" / "values.npy"
    data = bytearray(path.read_bytes())
    data[-2:] = np.array(np.nan, np.float16).tobytes()
    path.write_bytes(data)
    store = FeatureStore.open(tmp_path / "store")
    assert store.get("a.jpg").values.isfinite().all()
    with pytest.raises(ArgumentError, match="expected finite features of more/b.jpg"):
        store.get("more/b.jpg")


def test_an_interrupted_store_leaves_nothing(tmp_path):
    def arrays():
        yield torch.ones(6, 5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(tmp_path / "store", ["a", "b"], arrays(), grid=(2, 3))
    assert list(tmp_path.iterdir()) == []
