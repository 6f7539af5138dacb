"""Shell completion: `eval "$(saccade --print-completion bash)"`, without torch."""

from collections.abc import Iterable, Sequence

from saccade._definitions.argument_hints import choose
from saccade._system.notes import output
from saccade.cli.arguments import peek
from saccade.cli.catalogue import load, tasks
from saccade.tasks import TASKS

_SCRIPTS = {
    "bash": r"""
_saccade() {
    local IFS=$'\n'
    COMPREPLY=($(saccade --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _saccade saccade
""",
    "zsh": r"""
#compdef saccade
_saccade() {
    local -a candidates
    candidates=(${(f)"$(saccade --complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#candidates )); then compadd -a candidates; else _files; fi
}
compdef _saccade saccade
""",
    "fish": r"""
complete -c saccade -a '(saccade --complete (commandline -opc)[2..] "$(commandline -ct)" 2>/dev/null)'
""",
}


def print_script(shell: str) -> None:
    """Print the completion script of a shell. It calls `saccade --complete`."""
    output(_SCRIPTS[choose("--print-completion", shell, _SCRIPTS)].strip())


def print_candidates(words: Sequence[str], verbs: Iterable[str]) -> None:
    """Print all completions of the last word, a line each.

    Without any, the shell completes the names of files.
    """
    *before, start = words or [""]
    if candidates := [word for word in _candidates(before, start, verbs) if word.startswith(start)]:
        output("\n".join(candidates))


def _candidates(before: Sequence[str], start: str, verbs: Iterable[str]) -> list[str]:
    """Words that may follow the others, for a word that starts like this."""
    if not before:
        return ["--help", "--print-completion"] if start.startswith("-") else [*verbs]
    verb, *rest = before
    if verb == "--print-completion":
        return [*_SCRIPTS]
    if verb in ("train", "data") and not rest:
        return [*TASKS]
    options = _options(verb, rest)
    if start.startswith("-"):
        return ["--help", "--help-all", *options]
    return options.get(rest[-1], []) if rest else []


def _options(verb: str, rest: Sequence[str]) -> dict[str, list[str]]:
    """Options of a verb, with their values if these are few."""
    options = {_flag(name): values for name, values in load()["verbs"].get(verb, {}).items()}
    task = next(iter(tasks(rest[:1])), None) if verb in ("train", "data") else None
    if task is not None:
        if verb == "train":
            models = {model["name"]: model["options"] for model in task["models"]}
            for option in models.get(peek(rest, "--model") or "", next(iter(models.values()))):
                options[_flag(option["name"])] = option["type"].split(" or ") if " or " in option["type"] else []
                if option["default"] is True:
                    options[_flag(f"no_{option['name']}")] = []
            options["--model"] = [*models]
        options["--data"] = [data["name"] for data in task["data"]]
    if "--device" in options:
        options["--device"] = ["auto", "cpu", "cuda"]
    return options


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
