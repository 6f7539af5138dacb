import gzip
from pathlib import Path

import pytest

from saccade.data.conversions import converted
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data import open_corpus as texts
from saccade.tasks.regress.data import open_numbers as numbers
from saccade.tasks.transcribe.data import open_corpus as recordings
from saccade.tasks.translate.data import open_corpus as pairs


def test_a_file_that_is_read_has_no_command(tmp_path):
    assert converted(Path("texts.tsv")) == "" and converted(tmp_path) == ""
    assert converted(Path("a.TAR.GZ")) == "; this unpacks or converts it: mkdir a && tar xf a.TAR.GZ -C a"


@pytest.mark.parametrize(
    ("opened", "name", "content", "command"),
    [
        (texts, "a.zip", b"PK\x03\x04", "unzip {0}/a.zip -d {0}/a"),
        (pairs, "a.zip", b"PK\x03\x04\xff", "unzip "),
        (numbers, "a.xlsx", b"PK", "libreoffice --headless"),
        (recordings, "a.zip", b"PK", "unzip "),
        *(
            (opened, "a.csv", b"\x89PNG\r\n\x00\x00", "it is no text; put one in its place$")
            for opened in (pairs, numbers)
        ),
    ],
)
def test_a_refusal_names_the_command_that_converts(tmp_path, opened, name, content, command):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ArgumentError, match=command.format(tmp_path)) as error:
        opened(str(tmp_path / name))
    assert "\n" not in str(error.value)


def test_a_folder_with_an_archive_alone_names_its_command(tmp_path):
    (tmp_path / "corpus.zip").write_bytes(b"PK")
    for opened in (texts, recordings):
        with pytest.raises(ArgumentError, match="expected in .*unzip "):
            opened(str(tmp_path))
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"a\tb\n"))
    assert converted(tmp_path / "a.tsv.gz") == ""
