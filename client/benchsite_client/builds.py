"""Measure builds of a server against each other in one plan and judge the first by the second: this build, the one
that the branch is based on, and main. Their repeats alternate on one machine. The exit codes are those of
`benchsite upload`.
"""

import argparse
import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

from benchsite_client import messages
from benchsite_client.forges import CommentFailed, update_comment
from benchsite_client.site import Client, read_login
from benchsite_client.upload import (
    BENCHMARK_FAILED,
    INCONCLUSIVE,
    PASS,
    REGRESSION,
    USAGE,
    Ended,
    continuous_integration,
    say,
)
from benchsite_client.watch import watch

FIELDS: Final = ("folder", "image", "artifact", "version", "commit", "branch", "committed_at", "ci_url")
STATED_BY_CI: Final = ("commit", "branch", "committed_at", "ci_url")
MAX_NAME: Final = 120
# This event gives code of forks the secrets of the repository.
UNSAFE_EVENT: Final = "pull_request_target"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("plan", metavar="FILE", help="a plan file of version 3, of which [matrix] is measured")
    add(
        "--build",
        action="append",
        nargs="+",
        required=True,
        metavar=("NAME", "KEY=VALUE"),
        help=f"one build; the first is judged by the second. Keys: {', '.join(FIELDS)}",
    )
    add("--without-token", choices=("fail", "skip"), default="fail", help="skip: end with 0, as in builds of forks")
    add("--strict", action="store_true", help=f"end with {INCONCLUSIVE} where the verdict is inconclusive")
    add("--mixed", choices=("fail", "pass"), default="fail", help="what a loss beside a gain means (default: fail)")
    add("--comment", action="store_true", help="write the verdict into one comment of the pull or merge request")
    add(
        "--summary",
        default=os.environ.get("GITHUB_STEP_SUMMARY", ""),
        metavar="PATH",
        help="append the verdict in Markdown (default: $GITHUB_STEP_SUMMARY)",
    )
    add("--json", action="store_true", help="print the site's answer as JSON")


def run(options: argparse.Namespace) -> int:
    if os.environ.get("GITHUB_EVENT_NAME") == UNSAFE_EVENT:
        raise Ended(USAGE, messages.UNSAFE_EVENT)
    login = read_login()
    if not login.token and options.without_token == "skip":
        say(messages.NO_TOKEN_HERE)
        return PASS
    plan = _read_plan(options.plan)
    plan["builds"] = _read_builds(options.build)
    judged = plan["builds"][0]
    plan["name"] = f"{plan.get('name') or Path(options.plan).stem} {judged.get('commit', '')[:12]}".strip()[:MAX_NAME]
    client = Client(login)
    matrix = client.post("matrices", plan)
    matrix = client.post(f"matrices/{matrix['id']}/submit")
    if not options.json:
        say(messages.QUEUED.format(name=matrix["name"], permalink=matrix["permalink"]))
    watch(client, matrix, is_quiet=options.json)
    answer = client.get(f"matrices/{matrix['id']}/verdict")
    text = messages.describe_builds(answer, matrix["permalink"])
    if options.json:
        print(json.dumps({**answer, "permalink": matrix["permalink"]}, indent=1, ensure_ascii=False))
    else:
        say(text)
    _write(options, text)
    return _get_exit_code(answer["verdict"], options)


def _read_plan(name: str) -> dict[str, Any]:
    try:
        content = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise Ended(USAGE, messages.UNREADABLE.format(path=name, reason=error.strerror)) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Ended(USAGE, messages.UNREADABLE.format(path=name, reason=error)) from None
    plan = content.get("matrix")
    if not isinstance(plan, dict):
        raise Ended(USAGE, messages.NO_MATRIX.format(path=name))
    return plan


def _read_builds(stated: list[list[str]]) -> list[dict[str, str]]:
    builds = []
    for name, *pairs in stated:
        build = {"name": name}
        for pair in pairs:
            key, separator, value = pair.partition("=")
            if not separator or key not in FIELDS:
                raise Ended(USAGE, messages.WRONG_BUILD.format(pair=pair, fields=", ".join(FIELDS)))
            build[key] = value
        builds.append(build)
    ci = continuous_integration(os.environ)
    if builds[0].get("commit", ci["commit"]) == ci["commit"]:
        builds[0] = {**{field: ci[field] for field in STATED_BY_CI if ci[field]}, **builds[0]}
    return builds


def _write(options: argparse.Namespace, text: str) -> None:
    """A summary or a comment that cannot be written spoils nothing."""
    if options.summary:
        try:
            with Path(options.summary).open("a", encoding="utf-8") as opened:
                opened.write(f"{text}\n")
        except OSError as error:
            say(f"benchsite: {messages.UNWRITABLE.format(path=options.summary, reason=error.strerror)}", sys.stderr)
    if options.comment:
        try:
            say(messages.COMMENTED.format(address=update_comment(os.environ, text)), sys.stderr)
        except CommentFailed as error:
            say(f"benchsite: {messages.NOT_COMMENTED.format(reason=error)}", sys.stderr)


def _get_exit_code(verdict: str, options: argparse.Namespace) -> int:
    codes = {
        "error": BENCHMARK_FAILED,
        "regression": REGRESSION,
        "mixed": REGRESSION if options.mixed == "fail" else PASS,
        "inconclusive": INCONCLUSIVE if options.strict else PASS,
    }
    return codes.get(verdict, PASS)
