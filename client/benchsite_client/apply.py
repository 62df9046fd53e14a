"""Make a site as a file describes it: machines, clusters, databases, workloads and a plan. What differs is shown first,
and only that is changed. In a terminal you are asked before it is.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from benchsite_client import messages
from benchsite_client.site import Client, read_login
from benchsite_client.upload import PASS, USAGE, Ended, say
from benchsite_client.watch import watch

STANDARD_INPUT: Final = "-"
YES: Final = frozenset({"y", "yes"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="a plan file of version 3; - is standard input")
    add("--dry-run", action="store_true", help="show what differs and change nothing")
    add("--yes", action="store_true", help="do not ask")
    add("--overwrite", action="store_true", help="also replace what others changed since the last apply")
    add("--secrets", metavar="PATH", help='JSON with secrets of databases: {"Redis": {"redis.password": "..."}}')
    add("--run", choices=("new", "again"), default="no", help="queue the plan: unless it was queued before, or again")
    add("--watch", action="store_true", help="with --run: follow its runs until they have ended")
    add("--json", action="store_true", help="print the site's answer as JSON and do not ask")


def run(options: argparse.Namespace) -> int:
    body = {
        "file": _read_file(options.file),
        "secrets": _read_secrets(options.secrets),
        "overwrite": options.overwrite,
        "run": options.run,
    }
    client = Client(read_login())
    diff = client.post("apply", body, dry_run=1)
    if not options.json:
        say("\n".join(messages.list_changes(diff)))
    if diff["needs_overwrite"] and not options.overwrite:
        raise Ended(USAGE, messages.CHANGED_ELSEWHERE)
    if not options.dry_run and (_differs(diff) or options.run != "no"):
        _confirm(options)
        diff = client.post("apply", body)
        if not options.json:
            say(messages.describe_applied(diff))
    if options.watch and diff["matrix"] and diff["matrix"]["is_queued"] and not options.dry_run:
        return watch(client, diff["matrix"], as_json=options.json)
    if options.json:
        print(json.dumps(diff, indent=1, ensure_ascii=False))
    return PASS


def _read_file(name: str) -> str:
    try:
        if name == STANDARD_INPUT:
            return sys.stdin.read()
        return Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise Ended(USAGE, messages.UNREADABLE.format(path=name, reason=error.strerror)) from None
    except UnicodeDecodeError:
        raise Ended(USAGE, messages.UNREADABLE.format(path=name, reason="it is no UTF-8")) from None


def _read_secrets(path: str | None) -> dict[str, Any]:
    if not path:
        return {}
    try:
        secrets = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Ended(USAGE, messages.UNREADABLE.format(path=path, reason=error.strerror)) from None
    except ValueError:
        secrets = None  # Its message could hold a secret.
    if not isinstance(secrets, dict):
        raise Ended(USAGE, messages.UNREADABLE.format(path=path, reason="it is no JSON object"))
    return secrets


def _differs(diff: dict[str, Any]) -> bool:
    return any(change["action"] != "none" for change in diff["changes"])


def _confirm(options: argparse.Namespace) -> None:
    """Raises Ended where a person at a terminal does not agree."""
    if options.yes or options.json or options.file == STANDARD_INPUT or not sys.stdin.isatty():
        return
    if input(messages.CONFIRM).strip().lower() not in YES:
        raise Ended(PASS, messages.NOT_APPLIED)
