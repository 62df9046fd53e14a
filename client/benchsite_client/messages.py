"""The English of the client. What is read and judged has the site's."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from benchsite.core.formatting import duration

TOO_LARGE: Final = "The files unpack to more than {mib:,} MiB: judge fewer of them at a time, or upload them."
NO_HARDWARE: Final = "Where the database ran is not stated: its processor, memory and disks (--hardware)."
FOLDER: Final = "{name} is a folder: name the files in it."
NO_RESULT: Final = "There is no result in these files."
VERDICTS: Final = {
    "pass": "Pass: no check objects.",
    "warn": "Warning: the numbers hold with the reservations above.",
    "reject": "Rejected: do not use these numbers.",
}
PARTS: Final = {
    "refusals": "Files that cannot be read",
    "wrong": "What is wrong with it",
    "missing": "What is missing to believe it",
    "unstated": "What is not stated",
}


def describe_missing_mode(modes: Sequence[str]) -> str:
    """`modes`: those of the system, where it is known."""
    choices = ""
    if modes:
        choices = f": {', '.join(modes)}"
    return f"No file says what a power failure may take. State the durability mode (--mode){choices}."


NO_LOGIN: Final = "No site or no token: run `benchsite login ADDRESS`, or set BENCHSITE_URL and BENCHSITE_TOKEN."
NO_ADDRESS: Final = "State the address of the site, as in `benchsite login https://benchsite.example`."
NO_TOKEN: Final = "The token is empty. Create one on your team's page Tokens."
TOKEN_PROMPT: Final = "Token (from your team's page Tokens): "
UNREADABLE_TOKEN: Final = "The token cannot be read from {path}: {reason}."
WRONG_PATIENCE: Final = "BENCHSITE_PATIENCE is {value!r}: write a number of seconds."
UNREADABLE_LOGIN: Final = "{path} cannot be read: remove it and run `benchsite login` again."
LOGGED_IN: Final = "Signed in at {address}. The token is stored in {path}."
LOGIN_FORGOTTEN: Final = "No site and no token are stored any more."

NO_PLAN: Final = "Your team has no plan with the name or id {name}."
ALREADY_QUEUED: Final = "{name} was queued before. With --again a copy of it is queued."
QUEUED: Final = "{name} is queued: {permalink}"
NO_OUTPUT: Final = "State the file to write with --output."
NOTHING_TO_EXPORT: Final = "No run matches: nothing was written."
EXPORT_BROKE_OFF: Final = "The site's answer ended early: nothing was written. Run it again."
EXPORTED: Final = "{path}: {size:,} bytes."
UNWRITABLE: Final = "{path} cannot be written: {reason}."
NO_PYARROW: Final = 'Parquet needs pyarrow: pipx install "./client[parquet]".'


def describe_run(run: Mapping[str, Any]) -> str:
    """A run that has ended."""
    if run["status"] != "succeeded":
        return f"{run['name']}: {run['status']} {run['reason']} {run['reason_detail']}".rstrip()
    rejections = ", ".join(f"{each['check_id']} {each['title']}" for each in run["rejected_by"])
    rate = "no throughput"
    if run["throughput_ops_s"] is not None:
        rate = f"{run['throughput_ops_s']:,.0f} ops/s"
    return f"{run['name']}: {rate}, checks: {run['verdict']} {rejections}".rstrip()


def describe_end(runs: int, permalink: str) -> str:
    if not runs:
        return f"The plan has no runs: queue them first. {permalink}"
    return f"All {runs:,} runs have ended: {permalink}"


UNREADABLE: Final = "{path} cannot be read: {reason}."
CONFIRM: Final = "Change this? [y/N] "
NOT_APPLIED: Final = "Nothing was changed."
CHANGED_ELSEWHERE: Final = (
    "Others changed what this file would replace, see “changed elsewhere”. Take it into the file, or replace it with "
    "--overwrite. Nothing was changed."
)


def list_changes(diff: Mapping[str, Any]) -> Iterator[str]:
    """What an apply would change, and what its plan would run."""
    unchanged = 0
    for change in diff["changes"]:
        if change["action"] == "none":
            unchanged += 1
            continue
        yield f"{change['action']} {change['kind']} {change['name']}"
        for field in change["fields"]:
            yield f"  {_unescape(field['field'])}: {describe_field(field, change['action'])}"
    yield f"{unchanged} unchanged"
    matrix = diff["matrix"] or {}
    preview = matrix.get("preview")
    if preview:
        yield f"plan {matrix['name']}: {preview['runs']:,} runs, {duration(3600 * preview['hours'])}"
        yield from (f"  problem: {problem['detail']}" for problem in preview["problems"])


def describe_field(field: Mapping[str, Any], action: str) -> str:
    text = _as_json(field["to"])
    if action == "change":
        text = f"{_as_json(field['from'])} -> {text}"
    if field["changed_elsewhere"]:
        text = f"{text} (changed elsewhere; the last apply set {_as_json(field['applied'])})"
    return text


def describe_applied(diff: Mapping[str, Any]) -> str:
    changed = sum(change["action"] != "none" for change in diff["changes"])
    text = f"{changed} changed."
    matrix = diff["matrix"]
    if matrix and matrix["is_queued"]:
        return f"{text} {QUEUED.format(name=matrix['name'], permalink=matrix['permalink'])}"
    if matrix:
        return f"{text} {matrix['permalink']}"
    return text


def _as_json(value: object) -> str:
    if value is None:
        return "not there"
    return json.dumps(value, ensure_ascii=False)


def _unescape(pointer: str) -> str:
    """A field's path for people."""
    return " ".join(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/"))


UNSAFE_EVENT: Final = (
    "The event pull_request_target gives code of forks the secrets of the repository: use pull_request, and have a "
    "maintainer start the builds of forks."
)
NO_TOKEN_HERE: Final = "No token here, as in builds of forks: nothing is measured (--without-token=skip)."
NO_MATRIX: Final = "{path} has no table [matrix]."
WRONG_BUILD: Final = "{pair} is no KEY=VALUE of a build. Keys: {fields}."
COMMENTED: Final = "The comment is written: {address}"
NOT_COMMENTED: Final = "No comment was written: {reason}"
NO_FORGE: Final = "This is no job of GitHub Actions or GitLab CI."
NO_PULL_REQUEST: Final = "This job is of no pull request, or has no GITHUB_TOKEN."
NO_MERGE_REQUEST: Final = "This job is of no merge request, or has no GITLAB_TOKEN."
FORGE_REFUSED: Final = "HTTP {status}. See the permissions of the token."
FORGE_WITHOUT_TLS: Final = "Without TLS the token could be read on the way."
MARKED: Final = "\\`*_[]|#<>"


def describe_builds(answer: Mapping[str, Any], permalink: str) -> str:
    """The verdict of builds, in Markdown."""
    builds = {build["name"]: build for build in answer["builds"]}
    lines = [
        f"## Benchsite: {answer['verdict']}",
        "",
        "| build | commit | branch | version | runs |",
        "|---|---|---|---|---:|",
    ]
    for build in answer["builds"]:
        cells = (build["name"], build["commit"][:12], build["branch"], build["version"], str(build["counted"]))
        lines.append(f"| {' | '.join(map(escape_markdown, cells))} |")
    for comparison in answer["comparisons"]:
        new, base = (_name_build(builds[comparison[side]]) for side in ("new", "base"))
        lines += ["", f"**{escape_markdown(new)} against {escape_markdown(base)}: {comparison['verdict']}**", ""]
        for test in comparison["tests"]:
            lines += [f"- {escape_markdown(reason)}" for reason in test["reasons"]]
    return "\n".join([*lines, "", f"[All runs]({permalink})"])


def _name_build(build: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (build["name"], build["commit"][:12])))


def escape_markdown(text: str) -> str:
    return "".join(f"\\{sign}" if sign in MARKED else sign for sign in " ".join(text.split()))


NO_MCP: Final = 'The server needs the MCP SDK: pipx install "./client[mcp]".'
INSTRUCTIONS: Final = (
    "Results of database benchmarks on a Benchsite. Every measured number comes with n (how many runs it is made of), "
    "its 95 % interval or why it has none, its verdict, and the durability mode it was measured in. Repeat all four "
    "with the number. n = 1 supports no comparison. Numbers of different durability modes promise different things. "
    "To say which of two is faster, ask compare or judge_builds: never compare numbers yourself."
)
NO_INTERVAL: Final = {
    "none": "No run counts.",
    "single": "One run says nothing of how much the next would differ.",
    "alike": "The runs agree to the last digit, which says nothing of how much the next would differ.",
    "upper": "An upper end only: a run that failed by itself has none.",
}
NO_SWEEP: Final = "Your team has no curve with the id {name}."
NO_POINT: Final = "The curve has no load {load}. It has: {loads}."
NO_OPERATION: Final = "No counted run measured {operation} {statistic}. Measured: {measured}."
NOT_COMPARED: Final = "Nothing of both sides can be compared."


def describe_load(threads: int, target_ops_s: int | None) -> str:
    if target_ops_s is None:
        return f"{threads} threads"
    return f"{threads} threads, {target_ops_s} ops/s offered"


def describe_quantity(value: float | None, unit: str, low: float | None, high: float | None, n: str) -> str:
    if value is None:
        return f"no value, n = {n}"
    interval = ""
    if low is not None and high is not None:
        interval = f" [{_write(low)}, {_write(high)}]"
    return f"{_write(value)} {unit}{interval}, n = {n}".replace("  ", " ")


def _write(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def describe_preview(preview: Mapping[str, Any]) -> list[str]:
    """What a plan would make and cost, without a measured number."""
    lines = [
        f"{preview['runs']} measured runs and {preview['loads']} loads, about {preview['hours']:.2f} h (predicted)",
        *(f"problem: {problem['pointer']}: {problem['detail']}" for problem in preview["problems"]),
        *(f"rejected by {row['code']}: {row['detail']}" for row in preview.get("rejections", ())),
        *(f"warning: {warning}" for warning in preview["warnings"]),
    ]
    return [*lines, *(f"{cell['database']} {cell['mode']} {cell['workload']}" for cell in preview["cells"])]


def describe_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number)
