"""The command `benchsite`."""

import argparse
import os
import sys
from importlib import import_module
from typing import Any, Final, NoReturn

from benchsite_client import __version__
from benchsite_client.upload import Ended, say

# Command -> its help. Each has a module of this name with `add_arguments` and `run`; `upload` has its own parser.
COMMANDS: Final = {
    "judge": "judge results offline: what was measured, what is wrong with it, what is missing to believe it",
    "login": "store the address and the token of a site",
    "apply": "make a site as a file describes it, after showing what differs",
    "run": "queue the runs of a plan",
    "watch": "follow the runs of a plan until they have ended",
    "builds": "measure builds of a server against each other and judge the first",
    "verdict": "judge runs of a site against a baseline; the exit code is the verdict",
    "upload": "upload results and end as the verdict says",
    "export": "write runs as CSV, JSON or Parquet",
    "mcp": "answer the questions of an assistant about results and plans (Model Context Protocol)",
    "open": "open a run, a sweep or a plan in the browser",
    "completion": "print the completion of a shell",
}
UPLOAD: Final = "upload"


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchsite", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"benchsite {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        module = import_module(f"benchsite_client.{name}")
        if name == UPLOAD:
            commands.add_parser(name, help=text, parents=[module.arguments(None)], add_help=False, allow_abbrev=False)
            continue
        command = commands.add_parser(name, help=text, description=module.__doc__, allow_abbrev=False)
        module.add_arguments(command)
    return parser


def main(argv: list[str]) -> int:
    """The exit codes of every command are those of `benchsite upload`."""
    if argv[:1] == [UPLOAD]:
        return _upload(argv[1:])
    options = build_parser().parse_args(argv)
    try:
        return int(import_module(f"benchsite_client.{options.command}").run(options))
    except Ended as end:
        say(f"benchsite: {end}", sys.stderr)
        return end.code


def _upload(argv: list[str]) -> int:
    """The one-file client with the stored site and token as its defaults."""
    from benchsite_client.site import read_login
    from benchsite_client.upload import main as upload

    login = read_login()
    for variable, value in (("BENCHSITE_URL", login.address), ("BENCHSITE_TOKEN", login.token)):
        os.environ.setdefault(variable, value)
    return upload(argv, prog="benchsite upload")


def entry(*_: Any) -> NoReturn:
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # `benchsite ... | head`; Python writes what is left as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
