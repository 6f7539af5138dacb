import io
import struct
import zlib

import numpy as np
import pytest
import torch
from PIL import Image

from image_files import packed, plain
from saccade.errors import ArgumentError
from saccade.tasks.image.images import read_image
from tiers import every


def read(data, **options):
    return read_image(io.BytesIO(data), "a.png", **options)


def test_colours_rows_and_columns_are_where_they_are():
    array = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    found = read(packed(Image.fromarray(array)))
    assert found.dtype == torch.uint8
    assert torch.equal(found, torch.from_numpy(array).permute(2, 0, 1))


@every("form", ["PNG", "BMP", "GIF", "PPM", "TIFF", "WEBP", "JPEG"])
def test_each_format_is_read(form):
    found = read(packed(Image.new("RGB", (8, 16), (250, 10, 10)), form)).float().mean((1, 2))
    assert torch.allclose(found, torch.tensor([250.0, 10.0, 10.0]), atol=6)


@every(
    ("mode", "colour", "expected"),
    [
        ("L", 77, [77]),
        ("1", 1, [255]),
        ("P", 0, [0, 0, 0]),
        ("RGBA", (255, 0, 0, 0), [255, 255, 255]),
        ("RGBA", (100, 0, 0, 255), [100, 0, 0]),
        ("LA", (0, 51), [204, 204, 204]),
        ("I;16", 0x1234, [0x12]),
    ],
)
def test_modes_become_grey_or_colour_over_white(mode, colour, expected):
    assert read(packed(Image.new(mode, (2, 3), colour)))[:, 0, 0].tolist() == expected


def clear_png(kind, bits, rows, level):
    """A PNG of rows of bytes, 8 pixels wide, with a tRNS chunk, as the PNG specification (11.2, 11.3.2.1) has it."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 8, len(rows), bits, kind, 0, 0, 0))
    clear = chunk(b"tRNS", struct.pack(f">{len(level)}H", *level))
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + head + clear + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@every(
    ("bits", "row", "level", "expected"),
    [
        (1, b"\x0f", 0, [255, 255]),
        (2, b"\x55\xaa", 1, [255, 170]),
        (4, b"\x33\x33\x77\x77", 3, [255, 119]),
        (8, bytes([3] * 4 + [7] * 4), 3, [255, 7]),
        (16, b"\x12\x34" * 4 + b"\x12\x35" * 4, 0x1234, [255, 0x12]),
    ],
)
def test_a_transparent_grey_of_any_depth_lies_over_white(bits, row, level, expected):
    for channels in (1, 3):
        found = read(clear_png(0, bits, [row] * 3, [level]), channels=channels)
        assert found[:, 1, [0, 7]].tolist() == [expected] * channels


@every(("bits", "scale"), [(8, 1), (16, 0x101)])
def test_a_transparent_colour_of_any_depth_lies_over_white(bits, scale):
    values = np.array([[3, 0, 9]] * 4 + [[7, 8, 9]] * 4) * scale
    row = values.astype(">u2" if bits == 16 else "u1").tobytes()
    found = read(clear_png(2, bits, [row] * 3, values[0].tolist()))
    assert found[:, 1, [0, 7]].T.tolist() == [[255, 255, 255], [7, 8, 9]]


def test_a_transparent_colour_of_a_palette_lies_over_white():
    image = Image.new("P", (3, 2), 0)
    image.putpalette([9, 9, 9, 200, 0, 0])
    image.putpixel((1, 0), 1)
    found = read(packed(image, transparency=0))
    assert found[:, 0, 0].tolist() == [255, 255, 255]
    assert found[:, 0, 1].tolist() == [200, 0, 0]


def test_cmyk_is_colour():
    assert read(packed(Image.new("CMYK", (8, 8), (0, 0, 0, 0)), "JPEG")).float().mean() > 250


def test_channels_can_be_asked_for():
    grey = read(plain((255, 0, 0)), channels=1)
    assert grey.shape == (1, 13, 11)
    assert grey[0, 0, 0] == 76  # 0.299 of 255
    assert read(plain(7, mode="L"), channels=3)[:, 0, 0].tolist() == [7, 7, 7]
    with pytest.raises(ArgumentError, match="channels: expected 1 or 3, got 2"):
        read(plain(7, mode="L"), channels=2)


def test_a_size_is_covered_and_its_middle_cut_out():
    array = np.zeros((6, 18, 3), np.uint8)
    array[:, 6:12] = 200
    assert bool((read(packed(Image.fromarray(array)), size=(6, 6)) == 200).all())
    assert read(plain((1, 2, 3), (5, 50)), size=(8, 16)).shape == (3, 8, 16)


def test_exif_turns_an_image_upright():
    image = Image.new("RGB", (4, 2), (0, 0, 0))
    image.putpixel((0, 0), (255, 255, 255))
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn to the right
    found = read(packed(image, exif=exif))
    assert found.shape == (3, 4, 2)
    assert found[0].nonzero().tolist() == [[0, 1]]


def test_of_an_animation_the_first_frame_is_taken():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ((250, 0, 0), (0, 250, 0))]
    assert read(packed(frames[0], "GIF", save_all=True, append_images=frames[1:]))[:, 0, 0].tolist() == [250, 0, 0]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height):
    """The head of a PNG that promises so many pixels, and a few bytes of them."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"


@every(
    ("data", "message"),
    [
        (png(8001, 8000), "expected an image of at most 64 million pixels, got 8001 × 8000; scale it down"),
        (png(30_000, 30_000), "expected an image of at most 64 million pixels, got .*; scale it down"),
        (png(2_000_000_000, 2), "expected an image of at most 64 million pixels, got .*; scale it down"),
        (plain((1, 2, 3), (1, 9)), "expected an image of 2 × 2 pixels or more, got 1 × 9"),
        (b"hello", "expected an image .* got another file"),
        (b"\x80\x04\x95pickle", "expected an image .* got another file"),
        (POSTSCRIPT, "expected an image .* got another file"),
        (png(0, 0), "expected an? (whole )?image"),
        (b"", "expected an image, got an empty file"),
        (packed(Image.new("F", (4, 4), 0.5), "TIFF"), "got floating point numbers"),
        (packed(Image.new("I", (4, 4), 70_000), "TIFF"), "expected 8 or 16 bits a channel, got 70000 to 70000"),
    ],
)
def test_files_that_are_no_images_of_ours_are_rejected(data, message):
    with pytest.raises(ArgumentError, match=rf"^a.png: .*{message}"):
        read(data)


def outcome(data):
    try:
        return str(read(data).dtype)
    except ArgumentError as error:
        return str(error)


@every("form", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"])
def test_damaged_files_are_refused_in_one_line(form):
    draws = np.random.default_rng(3)
    whole = packed(Image.fromarray(draws.integers(0, 256, (24, 31, 3)).astype(np.uint8)), form)
    assert read(whole).shape == (3, 24, 31)
    with pytest.raises(ArgumentError, match="a.png: expected"):
        read(whole[: len(whole) // 2])
    for _ in range(60):  # whatever is flipped: an image of some kind, or one line
        bent = bytearray(whole)
        for place in draws.integers(0, len(bent), 3):
            bent[place] = draws.integers(0, 256)
        said = outcome(bytes(bent))
        assert said.startswith("a.png: expected") or said == "torch.uint8"
        assert "\n" not in said
