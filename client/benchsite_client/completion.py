"""Print the completion of a shell. For bash, `eval "$(benchsite completion bash)"` in ~/.bashrc loads it."""

import argparse
from collections.abc import Sequence
from typing import Final

from benchsite_client.upload import PASS

WORDS: Final = "words"  # in the place of a shell: what may stand last in a line
SCRIPTS: Final = {
    "bash": """\
_benchsite() {
  local words
  words=$(benchsite completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _benchsite benchsite
""",
    "zsh": """\
_benchsite() {
  local -a candidates
  candidates=(${(f)"$(benchsite completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  compadd -a candidates
  _files
}
compdef _benchsite benchsite
""",
    "fish": """\
complete -c benchsite -a '(benchsite completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
""",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=[*SCRIPTS, WORDS])
    parser.add_argument("line", nargs="*", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    if options.shell == WORDS:
        print("\n".join(list_candidates(options.line)))
    else:
        print(SCRIPTS[options.shell], end="")
    return PASS


def list_candidates(line: Sequence[str]) -> list[str]:
    """The words that may stand in the place of the last one of a line without its first word."""
    from benchsite_client.main import COMMANDS, build_parser

    *before, last = line or [""]
    if not before:
        return [command for command in COMMANDS if command.startswith(last)]
    if before[0] not in COMMANDS:
        return []
    commands = next(action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    actions = commands.choices[before[0]]._actions
    valued = next((action for action in actions if before[-1] in action.option_strings and action.nargs != 0), None)
    if valued is not None:
        candidates = [str(choice) for choice in valued.choices or ()]
    else:
        candidates = []
        for action in actions:
            candidates += action.option_strings or map(str, action.choices or ())
    return [candidate for candidate in candidates if candidate.startswith(last) and candidate != WORDS]
