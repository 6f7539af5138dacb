"""Cut the thumbnails of the README's jobs, of 160 pixels, out of docs/pictures.

python tools/draw_thumbnails.py
"""

from pathlib import Path

from PIL import Image, ImageOps

PICTURES = Path(__file__).resolve().parents[1] / "docs/pictures"
SIDE, FRAME = 160, "#8a8fa3"
SQUARES = {
    "translate": ("rnnsearch", 486, 50, 480),
    "classify-text": ("classify-rnn-attention", 505, 25, 150),
    "transcribe": ("las", 46, 64, 457),
    "classify-image": ("classify-image-attention", 632, 72, 292),
    "glimpse": ("ram", 18, 71, 540),
    "caption": ("caption", 812, 365, 250),
    "answer": ("answer", 14, 612, 226),
    "memorize": ("copy", 143, 682, 584),
    "regress": ("regress-nadaraya-watson", 330, 83, 452),
}
"""By job: a picture, then left edge, upper edge and side of its square in pixels."""


def thumbnail(job: str) -> Image.Image:
    """The square of a job with a frame."""
    name, left, top, side = SQUARES[job]
    with Image.open(PICTURES / f"{name}.png") as picture:
        square = picture.convert("RGB").crop((left, top, left + side, top + side))
    inner = square.resize((SIDE - 2, SIDE - 2), Image.Resampling.LANCZOS)
    return ImageOps.expand(inner, border=1, fill=FRAME)


if __name__ == "__main__":
    folder = PICTURES / "thumbs"
    folder.mkdir(exist_ok=True)
    for job in SQUARES:
        thumbnail(job).save(folder / f"{job}.png", optimize=True)
