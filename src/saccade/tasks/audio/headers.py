"""What the header of a WAV file promises, beside what is there: decoders take a file that was cut short as it is."""

__all__ = ["HEADER", "missing_bytes"]

#: Bytes at the beginning of a file in which the header of its sound is looked for.
HEADER = 1 << 12

_UNKNOWN = 0x7FFF0000  # sizes from here on are those of streams, whose writer could not know


def missing_bytes(header: bytes, size: int) -> int:
    """Return how many bytes of sound a WAV file lacks at its end, at least; 0 of any other file.

    Args:
        header: the first bytes of the file.
        size: of the whole file, in bytes.

    Example:
        >>> header = b"RIFF" + (36 + 800).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little") + bytes(16)
        >>> missing_bytes(header + b"data" + (800).to_bytes(4, "little"), 44 + 500)
        300
    """
    if header[:4] != b"RIFF" or header[8:12] != b"WAVE":
        return 0
    place = 12
    while place + 8 <= len(header):
        name, length = header[place : place + 4], int.from_bytes(header[place + 4 : place + 8], "little")
        if name == b"data":
            return 0 if length >= _UNKNOWN else max(0, place + 8 + length - size)
        place += 8 + length + length % 2
    return place + 8 - size if size <= len(header) else 0  # it ends before its sound begins
