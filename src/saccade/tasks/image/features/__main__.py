"""Extract features of images once, with the weights of a local file.

python -m saccade.tasks.image.features IMAGES --encoder torchvision:resnet50 --weights FILE --output FOLDER
"""

import argparse
import glob
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from saccade._system.files import left_over, told
from saccade._system.notes import open_streams, output, say
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.image.features.encoders import open_encoder
from saccade.tasks.image.features.extract import extract, found

__all__ = ["main"]

_INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: those behind its name; those of this process if None.

    Returns:
        The exit code: 0, 2 after an error, 130 after Ctrl-C.

    Example:
        >>> main(["nowhere", "--encoder", "resnet50", "--weights", "a.safetensors", "--output", "store"])
        2
    """
    open_streams()
    try:
        given = _parser().parse_args(arguments)
        found(given.images, given.output, given.size)  # before weights are read, which may take a while
        encoder = open_encoder(given.encoder, given.weights, given.layer)
        for path in _left(given.output):
            say(f"{path} is of an extraction that was killed, unless one runs now: remove it")
        count = extract(given.images, encoder, given.output, size=given.size, told=_progress)
        output(f"{given.output}: features of {count} images")
    except SaccadeError as error:
        return _fail(str(error), 2)
    except OSError as error:
        return _fail(told(error), 2)
    except KeyboardInterrupt:
        return _fail("interrupted", _INTERRUPTED)
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentError(f"{message}; see --help")


def _parser() -> argparse.ArgumentParser:
    usage, description = "python -m saccade.tasks.image.features", "Extract features of images once."
    parser = _Parser(prog=usage, description=description)
    parser.add_argument("images", type=Path, help="a folder with images, or an archive of them (.tar, .zip)")
    parser.add_argument("--encoder", required=True, help="torchvision:NAME or timm:NAME, such as torchvision:resnet50")
    parser.add_argument("--weights", required=True, type=Path, help="a file: .safetensors, or tensors alone in a .pth")
    parser.add_argument("--output", required=True, type=Path, help="the store's folder, where nothing is yet")
    parser.add_argument("--layer", help="the module whose output is taken; layer4 of a ResNet if not given")
    parser.add_argument("--size", type=int, default=224, help="pixels that images are scaled to (224)")
    return parser


def _left(output: Path) -> list[Path]:
    """What extractions to the same place left that were killed."""
    return left_over(output.parent, glob.escape(output.name))


def _progress(done: int, count: int) -> None:
    say(f"{done} of {count} images")


def _fail(message: str, code: int) -> int:
    say(message)
    return code


if __name__ == "__main__":
    sys.exit(main())
