import json

import pytest

from saccade.data.splits import SplitNames
from saccade.tasks.caption.data.coco import is_coco, read_json

CONTENT = {
    "images": [
        {"filepath": "photos", "filename": f"{split}.png", "split": split, "sentences": [{"raw": "a photo"}]}
        for split in ("train", "val", "test")
    ]
}


@pytest.mark.parametrize("name", ["dataset_info.json", "dataset_infos.json"])
def test_what_datasets_says_of_a_folder_is_no_file_of_captions(tmp_path, name):
    (tmp_path / name).write_text('{"description": "photos", "features": {}}')
    assert not is_coco(tmp_path)
    (tmp_path / "dataset_flickr8k.json").write_text(json.dumps(CONTENT))
    assert is_coco(tmp_path)
    assert [one.split for one in read_json(tmp_path, SplitNames()).images.values()] == ["train", "validation", "test"]
