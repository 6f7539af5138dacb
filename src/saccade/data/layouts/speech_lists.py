"""Lists of recordings in the layouts of LJSpeech and Kaldi.

    metadata.csv    LJ001-0001|Printing, in the only sense|Printing, in the only sense     and wavs/LJ001-0001.wav
    wav.scp         ann-1 clips/ann-1.wav       text    ann-1 good morning       utt2spk    ann-1 ann

Source:
    Ito, Johnson 2017, The LJ Speech Dataset (https://keithito.com/LJ-Speech-Dataset).
    Povey et al. 2011, "The Kaldi Speech Recognition Toolkit", data preparation
    (https://kaldi-asr.org/doc/data_prep.html).
"""

from pathlib import Path

from saccade.data.dataset import SPLITS
from saccade.data.splits import SplitNames
from saccade.data.table import Table, row_of
from saccade.data.texts import read_lines
from saccade.errors import ArgumentError

__all__ = ["kaldi", "ljspeech"]


def ljspeech(folder: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of `path` and normalized `text`, or None for another layout.

    Raises:
        ArgumentError: naming the row that is wrong.
        OSError: if a file cannot be read.
    """
    listed = folder / "metadata.csv"
    if not listed.is_file() or not (folder / "wavs").is_dir():
        return None
    rows, where = list[tuple[str, str]](), row_of(listed)
    for index, line in enumerate(read_lines(listed)):
        name, *texts = line.split("|")
        if not texts:
            raise ArgumentError(f"{where(index)}: expected a name, | and a text, got {line!r:.60}")
        rows.append((f"wavs/{name.strip()}.wav", texts[-1]))
    return {"": Table(rows, where, size=len(rows))}


def kaldi(folder: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of `path`, `text` and `speaker`, or None for another layout.

    The folder has wav.scp and text, or a folder with them for each split.

    Raises:
        ArgumentError: naming the row that is wrong.
        OSError: if a file cannot be read.
    """
    if (folder / "wav.scp").is_file():
        return {"": _kaldi_table(folder, Path())}
    there = {split: [name for name in names.of(split) if (folder / name / "wav.scp").is_file()] for split in SPLITS}
    return {name: _kaldi_table(folder / name, Path(name)) for split in SPLITS for name in there[split]} or None


def _kaldi_table(folder: Path, below: Path) -> Table:
    if (folder / "segments").is_file():
        way_out = "cut the recordings and list the parts"
        raise ArgumentError(f"{folder / 'segments'}: expected a recording for each utterance, got segments; {way_out}")
    files = {name: folder / name for name in ("wav.scp", "text", "utt2spk")}
    lists = {name: _pairs(path) for name, path in files.items() if name != "utt2spk" or path.is_file()}
    rows, where = list[dict[str, str]](), row_of(files["wav.scp"])
    for index, (utterance, path) in enumerate(lists["wav.scp"].items()):
        if path.endswith("|"):
            expected = "expected the path of a recording"
            raise ArgumentError(f"{where(index)}: {expected}, got a command; run it and name its output")
        speaker = lists.get("utt2spk", {}).get(utterance, "")
        rows.append({"path": str(below / path), "text": lists["text"].get(utterance, ""), "speaker": speaker})
    if lost := next((name for name in lists["text"] if name not in lists["wav.scp"]), None):
        raise ArgumentError(f"{files['text']}: expected utterances of wav.scp, got {lost}; take it out")
    return Table(rows, where, size=len(rows))


def _pairs(path: Path) -> dict[str, str]:
    pairs, where = dict[str, str](), row_of(path)
    for index, line in enumerate(read_lines(path, "an utterance a line")):
        name, _, rest = line.strip().partition(" ")
        if name in pairs:
            raise ArgumentError(f"{where(index)}: expected each utterance once, got {name} again")
        pairs[name] = rest.strip()
    return pairs
