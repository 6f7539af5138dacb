"""What the tests of pictures read of a figure."""

from matplotlib.text import Text


def texts(figure):
    """All texts of a figure that are not empty."""
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]
