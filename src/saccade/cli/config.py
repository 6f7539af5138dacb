"""Options of `saccade train` in a YAML file, or in the config.json of a run."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from saccade._definitions.argument_hints import suggest
from saccade.cli.arguments import UsageError, one_line

_FOLDER = ("run", "resume")  # options of config.json that belong to the folder of its run


def read_config(path: str, task: str) -> dict[str, Any]:
    """Return the options in a file, by name.

    Raises:
        UsageError: in one line, if the file holds anything else.
        OSError: if it cannot be read.
    """
    import yaml  # type: ignore[import-untyped]

    try:
        content = yaml.safe_load(Path(path).read_bytes()) or {}  # JSON is YAML
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"--config: expected a YAML file, got {path} ({one_line(str(error))})") from error
    if isinstance(content, Mapping) and isinstance(content.get("options"), Mapping):  # a run's
        if content.get("task") != task:
            raise UsageError(f"--config {path}: expected a run of {task}, got one of {content.get('task')}")
        content = {name: value for name, value in content["options"].items() if name not in _FOLDER}
    if not isinstance(content, Mapping):
        raise UsageError(f"--config {path}: expected lines such as max_steps: 600, got {content!r:.60}")
    options = {str(name).replace("-", "_"): value for name, value in content.items()}
    for name, value in options.items():
        if isinstance(value, list | Mapping):
            raise UsageError(f"--config {path}: {name}: expected one value, got {value!r:.60}")
    return options


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Return options as words of a command line."""
    words = []
    for name, value in options.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words.append(f"--{flag}={value}")
    return words


def check_options(options: Mapping[str, Any], kind: Any, path: str, model: str) -> None:
    """Reject unknown options, and true or no in the place of a value.

    Args:
        options: from `read_config`.
        kind: dataclass of all options with the model.
    """
    switches = {field.name: field.type in (bool, "bool") for field in fields(kind)}
    for name, value in options.items():
        if name not in switches:
            hint = suggest(name, list(switches), "see --help")
            raise UsageError(f"--config {path}: {name}: no option with --model {model}; {hint}")
        if isinstance(value, bool) != switches[name]:
            expected = "true or false" if switches[name] else "a value, in quotes if it is a word such as no"
            raise UsageError(f"--config {path}: {name}: expected {expected}, got {value!r:.60}")
