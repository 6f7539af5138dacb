"""What Mnih et al. 2014 report: errors on the test set in percent, by tables 1 and 2 of the NIPS proceedings."""

__all__ = ["CHECKED", "PAPER"]

PAPER: dict[str, dict[str, float]] = {
    "MNIST, 28 × 28": {
        "two layers of 256 units": 1.69,
        "convolutions": 1.21,
        "RAM, 2 glimpses of 8 × 8": 3.79,
        "RAM, 4 glimpses": 1.54,
        "RAM, 6 glimpses": 1.12,
        "RAM, 7 glimpses": 1.07,
    },
    "translated, 60 × 60": {
        "two layers of 64 units": 6.42,
        "two layers of 256 units": 2.63,
        "convolutions": 1.62,
        "RAM, 4 glimpses of 12 × 12 at 3 scales": 1.54,
        "RAM, 6 glimpses": 1.22,
        "RAM, 8 glimpses": 1.20,
    },
    "cluttered by 4 pieces, 60 × 60": {
        "two layers of 256 units": 11.96,
        "convolutions": 8.09,
        "RAM, 4 glimpses of 12 × 12 at 3 scales": 4.96,
        "RAM, 6 glimpses": 4.08,
        "RAM, 8 glimpses": 4.04,
        "8 random glimpses": 14.4,
    },
    "cluttered by 8 pieces, 100 × 100": {"RAM, 8 glimpses of 12 × 12 at 4 scales": 8.11},
}
"""By image and model."""

CHECKED = (
    "The figures are those of the NIPS proceedings, quoted after public transcriptions of the tables: two that agree "
    "for the first two groups, one for the third; that of the last group could not be checked. The tables of "
    "https://arxiv.org/abs/1406.6247 have others: 1.29 with six glimpses on MNIST, 5.23 with eight on cluttered "
    "canvases of 60 × 60."
)
