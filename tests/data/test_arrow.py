import json
import sys

import pytest
import torch

from image_files import plain
from saccade.data.arrow import is_arrow, read_arrow
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.audio.recordings import wav
from saccade.tasks.classify_image import open_images
from saccade.tasks.classify_text.data import open_corpus as texts
from saccade.tasks.transcribe.data import open_corpus as recordings
from saccade.tasks.translate.data import open_corpus as pairs
from tiers import every

SPLITS = ("train", "validation", "test")
CLASSES = {"info": {"features": {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}}}


def sizes(corpus):
    return [corpus.size(split) for split in SPLITS]


def table(columns, info=None):
    made = pyarrow().table(columns)
    return made.replace_schema_metadata({"huggingface": json.dumps(info)}) if info else made


def pyarrow():
    return pytest.importorskip("pyarrow")


def parquet(path, columns, info=None):
    pyarrow()
    from pyarrow.parquet import write_table

    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(table(columns, info), path, row_group_size=7)
    return path


def saved(folder, columns, info=None, parts=2):
    """A folder as `Dataset.save_to_disk` writes it: Arrow's stream in parts, and what is in them as JSON."""
    arrow = pyarrow()
    folder.mkdir(parents=True)
    whole, names = table(columns), [f"data-{n:05}-of-{parts:05}.arrow" for n in range(parts)]
    step = -(-len(whole) // parts)
    for number, name in enumerate(names):
        with arrow.OSFile(str(folder / name), "wb") as file, arrow.ipc.new_stream(file, whole.schema) as stream:
            stream.write_table(whole.slice(number * step, step))
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    (folder / "dataset_info.json").write_text(json.dumps((info or {}).get("info", {})))
    return folder


def reviews(count, start=0):
    numbers = range(start, start + count)
    return {"text": [f"film {n}" for n in numbers], "label": [n % 2 for n in numbers], "id": list(numbers)}


def test_parquet_names_its_splits_and_its_classes(tmp_path):
    for split, count, start in (("train", 20, 0), ("train", 20, 20), ("test", 10, 40), ("unsupervised", 5, 50)):
        parquet(tmp_path / f"plain_text/{split}-{start:05}-of-00060.parquet", reviews(count, start), CLASSES)
    corpus = texts(str(tmp_path))
    assert sizes(corpus) == [34, 6, 10] and corpus.labels == ("neg", "pos")
    assert corpus.example("test", 1) == ("film 41", "pos", "")
    assert "not read: unsupervised" in corpus.note and "6 texts for validation" in corpus.note
    other = texts(str(tmp_path), names=SplitNames({"test": "unsupervised"}))
    assert other.size("test") == 5 and other.fingerprint != corpus.fingerprint
    with pytest.raises(ArgumentError, match="--validation-split: .* got dev; there is test, train, unsupervised"):
        texts(str(tmp_path), names=SplitNames({"validation": "dev"}))


def test_one_table_and_folders_of_splits(tmp_path):
    alone = parquet(tmp_path / "a.parquet", reviews(40), CLASSES)
    assert sizes(texts(str(alone))) == [28, 6, 6] and is_arrow(alone)
    for split in SPLITS:
        parquet(tmp_path / f"b/default/{split}/0000.parquet", reviews(5), CLASSES)
    assert sizes(texts(str(tmp_path / "b"))) == [5, 5, 5]
    for split in SPLITS:
        parquet(tmp_path / f"c/{split}/part-00000-1f2e.snappy.parquet", {**reviews(5), "text": [split] * 5})
    parts = texts(str(tmp_path / "c"))
    assert [{parts.example(split, n).text for n in range(5)} for split in SPLITS] == [{split} for split in SPLITS]


def test_what_datasets_saves_is_read_without_it(tmp_path):
    saved(tmp_path / "one", reviews(40), CLASSES)
    one = texts(str(tmp_path / "one"))
    assert sizes(one) == [28, 6, 6] and one.labels == ("neg", "pos")
    for split in ("train", "dev"):
        saved(tmp_path / "several" / split, reviews(20), CLASSES, parts=1)
    (tmp_path / "several" / "dataset_dict.json").write_text('{"splits": ["train", "dev"]}')
    assert sizes(texts(str(tmp_path / "several"))) == [17, 20, 3]
    assert "datasets" not in sys.modules


def test_what_others_write_into_a_table_is_not_asked(tmp_path):
    for number, told in enumerate((b"no JSON", b"[]", b'{"info": 3}', b'{"info": {"features": [{"names": 3}]}}')):
        made = table(reviews(40)).replace_schema_metadata({b"huggingface": told})
        pyarrow().parquet.write_table(made, tmp_path / f"{number}.parquet")
        assert texts(str(tmp_path / f"{number}.parquet")).labels == ("0", "1")


def test_pairs_of_a_translation_column_or_of_two(tmp_path):
    rows = [{"de": f"satz {n}", "en": f"sentence {n}"} for n in range(40)]
    nested = pairs(str(parquet(tmp_path / "a.parquet", {"translation": rows})), "de", "en")
    columns = {side: [row[side] for row in rows] for side in ("de", "en")}
    flat = pairs(str(parquet(tmp_path / "b.parquet", columns)), "de", "en")
    assert nested.fingerprint == flat.fingerprint and nested.example("test", 0).source.startswith("satz")


def test_recordings_stay_packed_until_they_are_asked_for(tmp_path):
    signals = [torch.full((80 + n,), 0.25) for n in range(40)]
    audio = [{"bytes": wav(signal, 8000), "path": f"{n}.wav"} for n, signal in enumerate(signals)]
    columns = {"audio": audio, "text": [f"word {n}" for n in range(40)]}
    corpus = recordings(str(saved(tmp_path / "a", columns)), 8000)
    assert isinstance(corpus.rows.splits["train"][0]["audio"], memoryview)
    one = corpus.example("train", 3)
    assert torch.equal(one.signal, signals[int(one.text.removeprefix("word "))])
    audio[0]["bytes"] = audio[0]["bytes"][:-40]
    audio[1:] = [{"bytes": None, "path": f"{n}.wav"} for n in range(1, 40)]
    for n, signal in enumerate(signals):
        (tmp_path / f"{n}.wav").write_bytes(wav(signal, 8000))
    listed = recordings(str(parquet(tmp_path / "b.parquet", columns)), 8000)
    found = {split: [listed.rows.row(split, n) for n in range(listed.size(split))] for split in SPLITS}
    packed = [(name, n) for name in SPLITS for n, row in enumerate(found[name]) if isinstance(row["audio"], memoryview)]
    [(split, place)] = packed
    with pytest.raises(ArgumentError, match="cut short, 40 bytes"):
        listed.example(split, place)
    other = next(n for n in range(listed.size("train")) if (split, place) != ("train", n))
    assert len(listed.example("train", other).signal) == 80 + int(listed.text("train", other).removeprefix("word "))


def test_images_are_unpacked_and_scaled(tmp_path):
    packed = [{"bytes": plain((n, 9, 9), (12 + n % 2, 12)), "path": None} for n in range(40)]
    path = parquet(tmp_path / "a.parquet", {"image": packed, "label": [n % 2 for n in range(40)]}, CLASSES)
    data = open_images(str(path))
    assert data.shape == (3, 12, 12) and data.labels == ("neg", "pos") and data.size("train") == 28
    assert open_images(str(path), 16).shape == (3, 16, 16)
    for n in range(40):
        (tmp_path / f"{n}.png").write_bytes(packed[n]["bytes"])
    beside = [{"bytes": None, "path": f"{n}.png"} for n in range(40)]
    listed = parquet(tmp_path / "b.parquet", {"image": beside, "label": [n % 2 for n in range(40)]}, CLASSES)
    assert open_images(str(listed)).fingerprint == data.fingerprint


def test_what_is_wrong_is_one_line(tmp_path):
    pyarrow()
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no parquet")
    (tmp_path / "a.arrow").write_bytes(b"no arrow")
    for name in ("a.parquet", "a.arrow"):
        with pytest.raises(ArgumentError, match=rf"{name}: expected a whole {name[2:]} file, got a damaged") as error:
            texts(str(tmp_path / name))
        assert "\n" not in str(error.value)
    path = parquet(tmp_path / "b.parquet", {"review": ["a"], "label": [0]})
    with pytest.raises(ArgumentError, match="row 1 of .*b.parquet: expected a column text or sentence, got review, la"):
        texts(str(path))
    folder = saved(tmp_path / "saved", reviews(4))
    (folder / "data-00001-of-00002.arrow").unlink()
    for name, content, message in (
        ("dataset_info.json", "{}", r"data-00001-of-00002\.arrow: expected a table, found none"),
        ("state.json", "[]", r"state\.json: expected a JSON object by `datasets`, got another kind"),
        ("dataset_dict.json", "{}", r"dataset_dict\.json: expected splits of a data set, got none"),
        ("dataset_dict.json", '{"splits": "train"}', r"dataset_dict\.json: expected splits of a data set, got none"),
    ):
        (folder / name).write_text(content)
        with pytest.raises(ArgumentError, match=message):
            texts(str(folder))


def test_that_pyarrow_is_missing_is_said_with_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").touch()
    with pytest.raises(SaccadeError, match=r"needs pyarrow, .*: pip install 'saccade-attention\[train\]'"):
        read_arrow(tmp_path / "a.parquet", SplitNames())


def several(tmp_path, sized):
    """Parts of such names and sizes in each layout: as files, as folders of files and as `datasets` saves them."""
    for name, count in sized.items():
        parquet(tmp_path / f"files/{name}.parquet", reviews(count), CLASSES)
        parquet(tmp_path / f"folders/{name}/0000.parquet", reviews(count), CLASSES)
        saved(tmp_path / "saved" / name, reviews(count), CLASSES)
    (tmp_path / "saved/dataset_dict.json").write_text(json.dumps({"splits": list(sized)}), encoding="utf-8")
    return [str(tmp_path / layout) for layout in ("files", "folders", "saved")]


@every(
    ("sized", "sizes_of", "note"),
    [
        ({"train": 20, "Test": 7, "VALID": 5}, [20, 5, 7], ""),
        ({"train": 20, "Test": 7, "test": 5, "valid": 3}, [20, 3, 5], "not read: Test, which is no split's name"),
    ],
)
def test_an_exact_name_of_a_split_goes_before_another_case(tmp_path, sized, sizes_of, note):
    for layout in several(tmp_path / str(len(sized)), sized):
        corpus = texts(layout)
        assert sizes(corpus) == sizes_of and corpus.note.startswith(note) and bool(corpus.note) == bool(note)


def test_of_two_parts_with_one_name_one_is_to_be_said(tmp_path):
    for layout in several(tmp_path, {"TRAIN": 11, "Train": 20}):
        with pytest.raises(ArgumentError, match="expected one train split, got TRAIN and Train; say --train-split"):
            texts(layout)
        corpus = texts(layout, names=SplitNames({"train": "Train"}))
        assert sum(sizes(corpus)) == 20 and "not read: TRAIN" in corpus.note


def test_an_arrow_file_is_mapped_and_not_read(tmp_path):
    folder = saved(tmp_path / "saved", {"text": ["x" * (1 << 20)] * 9}, parts=1)
    before = pyarrow().total_allocated_bytes()
    [table] = read_arrow(folder, SplitNames()).values()
    assert pyarrow().total_allocated_bytes() - before < 1 << 20 and table.size == 9
    assert [len(row["text"]) for row in table.rows] == [1 << 20] * 9
