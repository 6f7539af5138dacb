"""Options of `saccade train` in a YAML file, or in the config.json of a run."""

import re
from collections.abc import Collection, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

from saccade._definitions.argument_hints import suggest
from saccade.cli.arguments import UsageError, one_line
from saccade.errors import SaccadeError
from saccade.train.run import Run
from saccade.train.task import Kind

__all__ = ["Config", "read_config"]

_FOLDER = ("run", "resume")  # options of config.json that belong to the folder of its run
_BOOL, _NULL = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:null"
_TRUE = ("true", "yes", "on")


@dataclass(frozen=True)
class Config:
    """Options in a file.

    Args:
        path: of the file; "" if there is none.
        nodes: scalars of YAML by the names of options. Their text is read as on the command line.
        model: of the run, if the file is its config.json.
        folder: of its relative paths.
        builtin: names of data sets, which are no paths.
    """

    path: str = ""
    nodes: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    folder: str = ""
    builtin: Container[str] = ()

    def error(self, name: str, text: str) -> UsageError:
        """Return an error that names the file and the key."""
        return UsageError(f"--config {self.path}: {name}: {text}")

    def value(self, name: str, *, path: bool = False) -> str | None:
        """Return the text of an option, or None. A `path` is that of the run."""
        if name not in self.nodes or name in self.nulls:
            return None
        text = str(self.nodes[name].value)
        return text if not path or text in self.builtin else Run(Path(), {"folder": self.folder}).path(text)

    @property
    def nulls(self) -> dict[str, None]:
        """Options with the value null. No word of a command line gives them."""
        return {name: None for name, node in self.nodes.items() if node.tag == _NULL}

    def words(self, kind: type, model: str) -> list[str]:
        """Return the options, without nulls, as words of a command line.

        Args:
            kind: dataclass of all options with the model.
            model: its name, for errors.

        Raises:
            UsageError: if an option is unknown, or null or true means nothing to it.
        """
        types, words = get_type_hints(kind), []
        paths = [field.name for field in fields(kind) if field.metadata.get("path")]
        for name, node in self.nodes.items():
            if name not in types:
                hint = suggest(name, list(types), "see --help")
                hint = f"the file is of a run of {self.model}" if self.model not in ("", model) else hint
                raise self.error(name, f"no option with --model {model}; {hint}")
            flag = name.replace("_", "-")
            if types[name] is bool:
                if node.tag != _BOOL:
                    raise self.error(name, f"expected true or false, got {node.value or 'nothing'}")
                words.append(f"--{flag}" if node.value.lower() in _TRUE else f"--no-{flag}")
            elif node.tag != _NULL:
                words.append(f"--{flag}={self.value(name, path=name in paths)}")
            elif NoneType not in get_args(types[name]):
                raise self.error(name, f"expected a value, got {node.value or 'nothing'}")
        return words

    @contextmanager
    def named_in_errors(self, typed: Collection[str]) -> Iterator[None]:
        """Name the file in errors about its options, unless they are `typed` too."""
        try:
            yield
        except SaccadeError as error:
            option = re.match(r"--([a-z0-9-]+)(?=[: ])", str(error))
            name = option[1].replace("-", "_") if option else ""
            if option is None or name not in self.nodes or name in typed:
                raise
            raise self.error(name, str(error)[option.end() :].lstrip(": ")) from error


def read_config(path: str, kind: Kind) -> Config:
    """Return the options of a task in a file.

    Raises:
        UsageError: in one line, if the file holds anything else.
        OSError: if it cannot be read.
    """
    import yaml  # type: ignore[import-untyped]

    try:
        root = yaml.compose(Path(path).read_bytes(), yaml.SafeLoader)  # JSON is YAML
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"--config: expected a YAML file, got {path} ({one_line(str(error))})") from error
    nodes = {} if root is None else _nodes(root, path)
    model, folder = "", ""
    if isinstance(nodes.get("options"), yaml.MappingNode):  # a run's
        task, model, folder = (str(getattr(nodes.get(name), "value", "")) for name in ("task", "model", "folder"))
        if task != kind.name:
            raise UsageError(f"--config {path}: expected a run of {kind.name}, got one of {task or 'none'}")
        nodes = {name: node for name, node in _nodes(nodes["options"], path).items() if name not in _FOLDER}
    config = Config(path, nodes, model, folder, kind.builtin)
    for name, node in nodes.items():
        if not isinstance(node, yaml.ScalarNode):
            raise config.error(name, "expected one value, got several")
    return config


def _nodes(mapping: Any, path: str) -> dict[str, Any]:
    """The nodes of a mapping by their keys. Rejects repeated keys."""
    import yaml

    if not isinstance(mapping, yaml.MappingNode):
        got = mapping.value if isinstance(mapping.value, str) else "a list"
        raise UsageError(f"--config {path}: expected lines such as max_steps: 600, got {got!r:.60}")
    nodes, lines = dict[str, Any](), dict[str, int]()
    for key, node in mapping.value:
        line, name = key.start_mark.line + 1, str(key.value).replace("-", "_")
        if name in nodes:
            raise UsageError(f"--config {path}, line {line}: {name}: expected once, got it on line {lines[name]} too")
        nodes[name], lines[name] = node, line
    return nodes
