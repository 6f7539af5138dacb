"""Commands to convert other files to readable data."""

import shlex
from pathlib import Path

__all__ = ["converted"]

_ENDS = {  # commands by the end of a file name
    ".zip": "unzip {0} -d {1}",
    ".tar": "mkdir {1} && tar xf {0} -C {1}",
    ".tar.gz": "mkdir {1} && tar xf {0} -C {1}",
    ".tgz": "mkdir {1} && tar xf {0} -C {1}",
    ".tar.bz2": "mkdir {1} && tar xf {0} -C {1}",
    ".tar.xz": "mkdir {1} && tar xf {0} -C {1}",
    ".7z": "7z x {0} -o{1}",
    ".bz2": "bunzip2 -k {0}",
    ".xz": "unxz -k {0}",
    ".zst": "unzstd {0}",
    ".xlsx": "libreoffice --headless --convert-to csv {0}",
    ".xls": "libreoffice --headless --convert-to csv {0}",
    ".ods": "libreoffice --headless --convert-to csv {0}",
    ".m4a": "ffmpeg -i {0} {1}.wav",
    ".mp4": "ffmpeg -i {0} {1}.wav",
    ".aac": "ffmpeg -i {0} {1}.wav",
    ".wma": "ffmpeg -i {0} {1}.wav",
    ".webm": "ffmpeg -i {0} {1}.wav",
    ".amr": "ffmpeg -i {0} {1}.wav",
    ".heic": "magick {0} {1}.png",
    ".svg": "magick {0} {1}.png",
}


def converted(path: Path) -> str:
    """Return the end of an error: a semicolon and a command to convert a file, or "".

    >>> converted(Path("my texts.zip"))
    "; this unpacks or converts it: unzip 'my texts.zip' -d 'my texts'"
    """
    name = path.name.lower()
    end = max((end for end in _ENDS if name.endswith(end)), key=len, default=None)
    if end is None or path.is_dir():
        return ""
    whole, stem = shlex.quote(str(path)), shlex.quote(str(path)[: -len(end)])
    command = _ENDS[end].format(whole, stem)
    return f"; this unpacks or converts it: {command}"
