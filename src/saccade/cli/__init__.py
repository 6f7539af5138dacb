"""The command line: `saccade VERB ...`, one file a verb, imported when needed.

Results go to standard output, progress and notes to standard error. An error is one line there, and exit code 2.
"""

import contextlib
import gc
import os
import select
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

from saccade._definitions.argument_hints import suggest
from saccade._system.files import system_error_line
from saccade._system.notes import escaped, open_streams, output, say, shortened, unheard
from saccade.cli.arguments import INTERRUPTED, UsageError, one_line
from saccade.errors import DISTRIBUTION, SaccadeError

__all__ = ["VERBS", "main"]

VERBS = {
    "train": "train a model, or go on training it: saccade train TASK [--data DATA] [--model MODEL] [--run DIR]",
    "eval": "measure a trained model on a split of its data: saccade eval RUN [--split test]",
    "predict": "answer lines of input, one by one: saccade predict RUN [INPUT]",
    "look": "draw what a trained model attends to: saccade look RUN [INPUT] [--output DIR]",
    "explore": "look at attention in a browser, or as a file: saccade explore PATH... [--export page.html]",
    "serve": "answer requests over HTTP by a trained model: saccade serve RUN [--port 8000]",
    "export": "write a trained model to a file that runs without Saccade: saccade export RUN FILE.onnx",
    "data": "show examples of a data set, or write them to files: saccade data TASK [--data DATA] [--output DIR]",
    "report": "try a claim from the literature, and write a page about it: saccade report NAME",
    "bench": "measure attention beside other ways to compute it: saccade bench [--quick] [--rows PATTERN]",
    "list": "name the tasks, their models and their built-in data",
    "env": "print versions, processor, memory and GPUs, for the report of a bug",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: the words behind `saccade`, or those of this process if None.

    Returns:
        The exit code: 0, 2 after an error, 130 after Ctrl-C.

    Example:
        >>> main(["list"]) # doctest: +ELLIPSIS
        translate...
        0
    """
    open_streams()
    _warn_of_namesake()
    try:
        with _earlier_objects_frozen():
            code = _run([*(sys.argv[1:] if arguments is None else arguments)])  # `list` is a verb here
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except SaccadeError as error:
        return _fail(str(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError) and _unread():  # the reader of the output has left
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nor may Python complain at exit
            return 0
        return _fail(system_error_line(error))
    except UnicodeEncodeError as error:
        if error.encoding == "utf-8":
            return _fail(f"{error.object}: expected a text, got half a character ({error.reason}); remove it")
        return _fail(f"{error.object}: no name in this system's encoding, {error.encoding}; LC_ALL=C.UTF-8 allows it")
    except (MemoryError, RuntimeError) as error:
        if not _out_of_memory(error):
            raise
        return _fail("not enough memory; smaller dimensions, batches or beams need less")


def _warn_of_namesake() -> None:
    """Warn if another distribution has installed files into the package `saccade`."""
    from importlib import metadata  # torch has imported it

    with contextlib.suppress(metadata.PackageNotFoundError):
        for name in (DISTRIBUTION, "saccade"):
            metadata.distribution(name)
        way_out = f"pip uninstall saccade, then pip install --force-reinstall {DISTRIBUTION}"
        say(f"two distributions install the import saccade: {DISTRIBUTION} and saccade, another project; {way_out}")


@contextlib.contextmanager
def _earlier_objects_frozen() -> Iterator[None]:
    """Keep the garbage collector off imported objects: half of a short command's time."""
    if gc.get_freeze_count():  # somebody else has frozen objects, and will unfreeze them
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _run(arguments: list[str]) -> int:
    verb = arguments[0] if arguments else "--help"
    if verb in ("-h", "--help"):
        output("usage: saccade VERB ...\n\nAll of attention in one library: train, ask and look inside.\n")
        output("\n".join(f"  {name:8} {sentence}" for name, sentence in VERBS.items()))
        output("\nsaccade VERB --help lists the options. For completion of words in bash, zsh or fish:\n")
        output('  eval "$(saccade --print-completion bash)"')
        return 0
    if verb in ("-V", "--version"):
        from saccade import __version__

        output(f"saccade {__version__}")
        return 0
    if verb in ("--print-completion", "--complete"):
        from saccade.cli.completion import print_candidates, print_script

        if verb == "--complete":
            print_candidates(arguments[1:], VERBS)
        else:
            print_script("".join(arguments[1:2]))
        return 0
    if verb not in VERBS:
        raise UsageError(f"saccade: no verb {verb}; {suggest(verb, VERBS)}")
    code: int = import_module(f"saccade.cli.{verb}").run(arguments[1:])
    return code


def _out_of_memory(error: Exception) -> bool:
    """Whether an error means a lack of memory. On a CPU, torch has no class for it."""
    words = ("can't allocate memory", "not enough memory", "out of memory", "Storage size calculation overflowed")
    return isinstance(error, MemoryError) or any(part in str(error) for part in words)


def _unread() -> bool:
    """Whether nobody reads standard output any more; another pipe may have broken too."""
    poll = select.poll()
    poll.register(sys.stdout, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _fail(message: str, code: int = 2) -> int:
    line = one_line(f"error: {message}" if code == 2 else message)
    with unheard():
        sys.stderr.write(escaped(shortened(line)) + "\n")
    return code
