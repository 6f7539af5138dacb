"""Questions about images in lines: an image, a tab and a question."""

from saccade.errors import ArgumentError

__all__ = ["asked_in"]


def asked_in(line: str, number: int) -> tuple[str, str]:
    r"""Return the image and the question of a line.

    Args:
        line: an image, a tab and a question.
        number: of the line.

    Raises:
        ArgumentError: naming the line, if one is missing.

    Example:
        >>> asked_in("a.png\twhat is it ?", 1)
        ('a.png', 'what is it ?')
    """
    name, tab, question = line.partition("\t")
    if not tab:
        raise ArgumentError(f"line {number}: expected an image, a tab and a question, got no tab: {line!r:.60}")
    for part, where in ((question, "a question behind"), (name, "an image before")):
        if not part.strip():
            raise ArgumentError(f"line {number}: expected {where} the tab, got none")
    return name.strip(), question
