#!/usr/bin/env python3
"""Upload YCSB results to Benchsite from a pipeline, and end as the verdict says. One file, Python 3.8 or newer.

The token is read from the environment (BENCHSITE_TOKEN) or from a file, never from the command line. In GitHub Actions,
GitLab CI and Jenkins the commit, the branch, the job and its address are taken from the environment. The upload is
repeated with the same key until the site has it: nothing is stored twice.

Exit codes: 0 pass or improvement; 1 regression, or mixed; 2 usage; 3 the upload failed (0 with --on-upload-error=warn);
4 inconclusive (0 without --strict); 5 the benchmark itself failed: no result, or rejected by the validity checks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener
from xml.sax.saxutils import escape, quoteattr

PASS, REGRESSION, USAGE, UPLOAD_FAILED, INCONCLUSIVE, BENCHMARK_FAILED = range(6)
AGAIN = {429, 500, 502, 503, 504}  # answers after which the same request is sent again
WAIT_AT_ONCE_S = 30  # for which the site lets one request wait
CHUNK = 1 << 16
# The options that are fields of the manifest.
STATED = (
    "system", "mode", "database", "database_version", "workload", "purpose", "notes", "commit", "branch",
    "committed_at", "ci_url", "session", "threads", "target", "warmup", "repeat",
)  # fmt: skip
VERSION = "1"
# Options whose fields have another name, with these.
FIELDS = {"database_version": "version", "target": "target_ops_s", "warmup": "warmup_s"}
# Every field that an option states, and the option.
OPTIONS = {
    **{FIELDS.get(name, name): f"--{name.replace('_', '-')}" for name in STATED},
    "labels": "--label", "grouping": "--each", "cluster/hardware": "--hardware", "cluster/name": "--runner",
}  # fmt: skip


class Ended(Exception):
    """It is over, with this exit code; the message says why."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class Refused(Exception):
    """The site refused a request, and would refuse it again."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status, self.problem = status, problem
        self.slug = str(problem.get("type", "")).rsplit("/", 1)[-1]
        reason = str(problem.get("detail") or problem.get("title") or "no reason given")
        errors = problem.get("errors") or []
        # The longest first: a pointer may begin another one.
        for pointer in sorted((str(error.get("pointer", "")) for error in errors), key=len, reverse=True):
            reason = reason.replace(pointer, name_option(pointer)) if pointer else reason
        faults = [
            f"{error.get('file') or name_option(str(error.get('pointer', '')))}: {error.get('detail', '')}"
            for error in errors
        ]
        faults = [fault for fault in faults if fault.rstrip(".") not in reason]
        if len(errors) == 1 and str(errors[0].get("detail", "")) in reason:
            faults = []
            file = str(errors[0].get("file", ""))
            reason = reason if file in reason else f"{file}: {reason}"
        super().__init__(
            f"{reason} (HTTP {status}, {self.slug or 'no problem document'})"
            + "".join(f"\n  {fault}" for fault in faults[:10])
        )


def name_option(pointer: str) -> str:
    """The option that states a field of the manifest; of a field without one, where in the manifest it is."""
    before, _, field = pointer.partition("/manifest/")
    if not field or before != "#":
        return pointer
    parts = field.split("/")
    if parts[0] == "runs" and len(parts) == 3 and parts[1].isdecimal() and parts[2] in OPTIONS:
        return f"{OPTIONS[parts[2]]} of run {int(parts[1]) + 1}"
    return OPTIONS.get(field, f"{field} in --manifest")


def main(argv: list[str] | None = None, prog: str | None = None) -> int:
    """Everything; the exit code is the answer."""
    options = arguments(prog).parse_args(argv)
    try:
        return run(options)
    except Ended as end:
        if end.code == UPLOAD_FAILED and options.on_upload_error == "warn":
            say(f"benchsite: {end} (only a warning: --on-upload-error=warn)", sys.stderr)
            return PASS
        say(f"benchsite: {end}", sys.stderr)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            say(f"::error title=Benchsite::{str(end).splitlines()[0]}")
        write_reports(options, end.code, str(end), {}, [])
        return end.code


def arguments(prog: str | None) -> argparse.ArgumentParser:
    text = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog=prog, description=__doc__, formatter_class=text, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="what the YCSB clients left: text, JSON, .hdr logs, .gz, .zip")
    add("--site", default=os.environ.get("BENCHSITE_URL", ""), help="address of the site (default: $BENCHSITE_URL)")
    add("--token-file", metavar="PATH", help="file that holds the token (default: $BENCHSITE_TOKEN)")
    add(
        "--without-token",
        choices=("fail", "skip"),
        default="fail",
        help="skip: end with 0 where there is no token, as in builds of forks",
    )
    add_manifest_options(parser)
    add("--baseline", default="", metavar="NAME", help="judge against this baseline (default: the site's rule)")
    add("--flagged", metavar="PATH", help="append the manifest's path where the test is to be measured in a new job")
    add("--strict", action="store_true", help="end with 4 where the verdict is inconclusive")
    add("--mixed", choices=("fail", "pass"), default="fail", help="what a loss beside a gain means (default: fail)")
    add("--on-upload-error", choices=("fail", "warn"), default="fail", help="warn: end with 0 where the upload fails")
    add("--key", help="idempotency key (default: from the CI's ids and the content)")
    add("--dry-run", action="store_true", help="have it read and judged, and nothing stored")
    add("--no-verdict", action="store_true", help="upload only; a rejected run still ends with 5")
    add("--wait", type=float, default=600, metavar="S", help="for a large upload to be read (default: 600)")
    add(
        "--patience",
        type=float,
        default=os.environ.get("BENCHSITE_PATIENCE") or "300",
        metavar="S",
        help="for a site that is busy or away (default: $BENCHSITE_PATIENCE, else 300)",
    )
    add(
        "--summary",
        default=os.environ.get("GITHUB_STEP_SUMMARY", ""),
        metavar="PATH",
        help="append a summary in Markdown (default: $GITHUB_STEP_SUMMARY)",
    )
    add("--json", metavar="PATH", help="write what the site said as JSON")
    add("--junit", metavar="PATH", help="write the verdicts as JUnit XML")
    add("--allow-http", action="store_true", help="send the token without TLS to a host that is not this one")
    add("--version", action="version", version=f"benchsite-upload {VERSION}")
    return parser


def add_manifest_options(parser: argparse.ArgumentParser) -> None:
    """The options of which `build_manifest` makes the manifest."""
    add = parser.add_argument
    add("--manifest", metavar="PATH", help="JSON with what the files cannot know; the options below outweigh it")
    for name, said in (
        ("system", "slug in the catalog, such as redis"), ("mode", "durability mode, such as always"),
        ("database", "what the database is called in figures"), ("database-version", "version of the system"),
        ("workload", "name of a workload, such as 'YCSB A'"), ("hardware", "what it ran on"),
        ("purpose", "measured, smoke, tuning ..."), ("notes", "text shown with the run"),
        ("commit", "commit that was measured (default: the CI's)"), ("branch", "its branch (default: the CI's)"),
        ("committed-at", "when, with its zone: its place in histories (default: the CI's)"),
        ("ci-url", "address of the build (default: the CI's)"),
        ("session", "job that measured; its runs count as one session (default: the CI's job)"),
        ("runner", "label of the machines: the variation between sessions is estimated for each"),
    ):  # fmt: skip
        add(f"--{name}", metavar="TEXT", help=said)
    for name, said in (
        ("threads", "client threads in all"), ("target", "offered load in ops/s"),
        ("warmup", "seconds that do not count"), ("repeat", "number of the repeat"),
    ):  # fmt: skip
        add(f"--{name}", type=int, metavar="N", help=said)
    add("--label", action="append", default=[], metavar="NAME=VALUE", help="label of the run; may be repeated")
    add("--each", action="store_true", help="every file is a run (a repeat) of its own, not a client of one run")


def run(options: argparse.Namespace) -> int:
    token = get_token(options)
    if not token:
        if options.without_token == "skip":
            say("benchsite: no token here, as in builds of forks: nothing is uploaded (--without-token=skip).")
            return PASS
        raise Ended(USAGE, "no token: set BENCHSITE_TOKEN from your CI's secrets, or give --token-file.")
    site = Site(get_site_url(options), token, options.patience)
    ci = continuous_integration(os.environ)
    manifest, files = build_manifest(options, ci), list_files(options)
    key = options.key or build_key(ci, manifest, files)
    said = uploaded(site, options, manifest, files, key)
    if options.dry_run:
        verdicts: list[dict[str, Any]] = []
    else:
        verdicts = [] if options.no_verdict else collect_verdicts(site, options, said["runs"])
    code, headline = outcome(options, said, verdicts)
    show(said, verdicts, headline)
    write_reports(options, code, headline, said, verdicts)
    return code


# --- What is sent ---


def get_token(options: argparse.Namespace) -> str:
    if not options.token_file:
        return os.environ.get("BENCHSITE_TOKEN", "").strip()
    try:
        return Path(options.token_file).read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise Ended(USAGE, f"the token cannot be read from {options.token_file}: {error}.") from None


def get_site_url(options: argparse.Namespace) -> str:
    parts = urlsplit(options.site)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Ended(USAGE, "no site: set BENCHSITE_URL or --site, as in https://benchsite.example.")
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost") and not options.allow_http:
        raise Ended(USAGE, "without TLS the token could be read on the way: use https, or --allow-http.")
    return str(options.site).rstrip("/") + "/"


def continuous_integration(env: Any) -> dict[str, str]:
    """What the CI says: ids for the key, commit, branch, address. A fork's branch is never taken for one of yours."""
    if env.get("GITHUB_ACTIONS") == "true":
        return github(env)
    if env.get("GITLAB_CI"):
        branch = (
            env.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME")
            or env.get("CI_COMMIT_BRANCH")
            or env.get("CI_COMMIT_REF_NAME", "")
        )
        if env.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", env.get("CI_PROJECT_ID")) != env.get("CI_PROJECT_ID"):
            branch = f"{env.get('CI_MERGE_REQUEST_SOURCE_PROJECT_PATH', 'fork')}:{branch}"
        ids = [env.get(name, "") for name in ("CI_PROJECT_ID", "CI_PIPELINE_ID", "CI_JOB_NAME")]
        return {
            "ids": ":".join(["gitlab", *ids]),
            "commit": env.get("CI_COMMIT_SHA", ""),
            "committed_at": env.get("CI_COMMIT_TIMESTAMP", ""),
            "branch": branch,
            "ci_url": env.get("CI_JOB_URL", ""),
            "session": ":".join(["gitlab", *ids]),
        }
    if env.get("JENKINS_URL"):
        branch = env.get("CHANGE_BRANCH") or env.get("BRANCH_NAME") or env.get("GIT_BRANCH", "")
        branch = branch[7:] if branch.startswith("origin/") else branch
        if env.get("CHANGE_FORK"):
            branch = f"{env['CHANGE_FORK']}:{branch}"
        ids = [env.get(name, "") for name in ("JOB_NAME", "BUILD_NUMBER")]
        return {
            "ids": ":".join(["jenkins", *ids]),
            "commit": env.get("GIT_COMMIT", ""),
            "committed_at": "",
            "branch": branch,
            "ci_url": env.get("BUILD_URL", ""),
            "session": ":".join(["jenkins", *ids]),
        }
    return {"ids": "local", "commit": "", "committed_at": "", "branch": "", "ci_url": "", "session": ""}


def github(env: Any) -> dict[str, str]:
    """A pull request's commit is its head, not the merge that was checked out; after workflow_run it is the run's."""
    event: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        event = json.loads(Path(env.get("GITHUB_EVENT_PATH", "")).read_text(encoding="utf-8"))
    mine, server = env.get("GITHUB_REPOSITORY", ""), env.get("GITHUB_SERVER_URL", "https://github.com")
    attempt = env.get("GITHUB_RUN_ATTEMPT", "1")
    commit, branch, run_id = (
        env.get("GITHUB_SHA", ""),
        env.get("GITHUB_HEAD_REF") or env.get("GITHUB_REF_NAME", ""),
        env.get("GITHUB_RUN_ID", ""),
    )
    theirs, head = mine, event.get("head_commit") or {}
    if env.get("GITHUB_EVENT_NAME") == "workflow_run":
        before = event.get("workflow_run") or {}
        head = before.get("head_commit") or {}
        commit, branch, run_id = (
            before.get("head_sha", commit),
            before.get("head_branch", branch),
            str(before.get("id", run_id)),
        )
        attempt = before.get("run_attempt", attempt)
        theirs = (before.get("head_repository") or {}).get("full_name", mine)
    elif event.get("pull_request"):
        source = event["pull_request"].get("head") or {}
        commit, branch = source.get("sha", commit), source.get("ref", branch)
        theirs = (source.get("repo") or {}).get("full_name", "fork")
    if theirs != mine:
        branch = f"{theirs}:{branch}"
    ids = ["github", mine, run_id, env.get("GITHUB_JOB", "")]
    return {
        "ids": ":".join(ids),
        "commit": commit,
        "committed_at": str(head.get("timestamp") or "") if head.get("id") == commit else "",
        "branch": branch,
        "ci_url": f"{server}/{mine}/actions/runs/{run_id}",
        "session": ":".join([*ids, str(attempt)]),
    }


def build_manifest(options: argparse.Namespace, ci: dict[str, str]) -> dict[str, Any]:
    """The file's, outweighed by the options; what the CI says fills what is empty."""
    manifest: Any = {}
    if options.manifest:
        try:
            manifest = json.loads(Path(options.manifest).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise Ended(USAGE, f"the manifest {options.manifest} cannot be read: {error}.") from None
        if not isinstance(manifest, dict):
            raise Ended(USAGE, f"the manifest {options.manifest} must be a JSON object.")
    for name in STATED:
        if getattr(options, name) is not None:
            manifest[FIELDS.get(name, name)] = getattr(options, name)
    for name, value in (("hardware", options.hardware), ("name", options.runner)):
        if value is not None:
            manifest["cluster"] = {**manifest.get("cluster", {}), name: value}
    if options.label:
        manifest["labels"] = options.label
    if options.each:
        manifest["grouping"] = "apart"
    for name, longest in (("commit", 64), ("branch", 120), ("ci_url", 500), ("session", 200)):
        if not manifest.get(name) and ci[name]:
            manifest[name] = ci[name][:longest]
    if ci.get("committed_at") and manifest.get("commit") == ci["commit"]:
        manifest.setdefault("committed_at", ci["committed_at"])
    return dict(manifest)


def list_files(options: argparse.Namespace) -> list[Path]:
    files = [Path(name) for name in options.files]
    for one in files:
        if not one.is_file() or not one.stat().st_size:
            what = "is empty" if one.is_file() else "is not there"
            raise Ended(BENCHMARK_FAILED, f"{one} {what}: the benchmark left no result.")
    return files


def build_key(ci: dict[str, str], manifest: dict[str, Any], files: list[Path]) -> str:
    """Equal for the same build and the same content, so that a job that is repeated stores nothing twice."""
    whole = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode())
    for one in files:
        whole.update(hashlib.sha256(one.name.encode()).digest())
        with one.open("rb") as opened:
            for chunk in iter(lambda: opened.read(CHUNK), b""):
                whole.update(chunk)
    ids = "".join(sign if 32 < ord(sign) < 127 else "-" for sign in ci["ids"])[:180]
    return f"{ids}:{whole.hexdigest()[:40]}"


class Form:
    """A multipart body that is read from the files while it is sent, as often as it has to be."""

    def __init__(self, manifest: dict[str, Any], files: list[Path]) -> None:
        self.boundary = f"benchsite{uuid.uuid4().hex}"
        self.content_type = f"multipart/form-data; boundary={self.boundary}"
        self.parts: list[tuple[bytes, Path | None]] = []
        self._add('name="manifest"', "application/json", json.dumps(manifest).encode(), None)
        for one, name in zip(files, list_names(files)):  # noqa: B905 - Python 3.8 knows no `strict`
            plain = quote(name, safe=" ./()+,=@[]{}~!$&';#-_")
            self._add(f'name="files"; filename="{plain}"', "application/octet-stream", b"", one)
        self.end = f"--{self.boundary}--\r\n".encode()

    def _add(self, names: str, kind: str, content: bytes, path: Path | None) -> None:
        head = f"--{self.boundary}\r\nContent-Disposition: form-data; {names}\r\nContent-Type: {kind}\r\n\r\n"
        self.parts.append((head.encode() + content, path))

    def __len__(self) -> int:
        inner = sum(len(head) + (path.stat().st_size if path else 0) + 2 for head, path in self.parts)
        return inner + len(self.end)

    def __iter__(self) -> Iterator[bytes]:
        for head, path in self.parts:
            yield head
            if path:
                with path.open("rb") as opened:
                    yield from iter(lambda: opened.read(CHUNK), b"")
            yield b"\r\n"
        yield self.end


class Json:
    """A body of JSON."""

    content_type = "application/json"

    def __init__(self, value: Any) -> None:
        self.content = json.dumps(value).encode()

    def __len__(self) -> int:
        return len(self.content)

    def __iter__(self) -> Iterator[bytes]:
        return iter((self.content,))


def list_names(files: list[Path]) -> list[str]:
    """Their names; with their folders where two files are called the same, for a folder tells whose client it is."""
    same = len({one.name for one in files}) < len(files)
    return [f"{one.absolute().parent.name}/{one.name}" if same else one.name for one in files]


# --- The site ---


class NoRedirects(HTTPRedirectHandler):
    """The token goes to the site that was named, and to no other."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Listening:
    """A connection that hears why a large body was refused before all of it was sent, be it gone then."""

    def send(self: Any, data: Any) -> None:
        if self.sock is None:
            self.connect()  # What fails here is no refusal, and nothing may be sent after it.
        with suppress(BrokenPipeError, ConnectionResetError):
            super().send(data)  # type: ignore[misc]


class Http(Listening, HTTPConnection):
    pass


class Https(Listening, HTTPSConnection):
    pass


class OverHttp(HTTPHandler):
    def http_open(self, request: Request) -> Any:
        return self.do_open(Http, request)


class OverHttps(HTTPSHandler):
    def https_open(self, request: Request) -> Any:
        return self.do_open(Https, request, context=self._context)  # type: ignore[attr-defined]


class Site:
    def __init__(self, address: str, token: str, patience_s: float) -> None:
        self.address, self.token, self.patience_s = address, token, patience_s
        self.opener = build_opener(NoRedirects(), OverHttp(), OverHttps())

    def ask(self, method: str, path: str, body: Form | Json | None = None, key: str = "") -> Any:
        """Status, JSON and headers; asked again while the site is busy or away. Raises Refused and Ended."""
        return self.repeat(lambda: self._once(method, path, body, key))

    def repeat(self, action: Callable[[], Any]) -> Any:
        """What the action returns, tried again while the site is busy or away. Raises Refused and Ended."""
        until, turn = time.monotonic() + self.patience_s, 0
        while True:
            try:
                return action()
            except Refused as refused:
                if refused.status not in AGAIN and refused.slug != "in-flight":
                    raise
                why, wait = str(refused), self._wait(refused.problem.get("retry_after"), turn)
            except (URLError, OSError, ValueError) as error:
                why, wait = f"the site cannot be reached: {getattr(error, 'reason', error)}", self._wait(None, turn)
            if time.monotonic() + wait > until:
                raise Ended(UPLOAD_FAILED, f"given up after {self.patience_s:g} s: {why}")
            say(f"benchsite: {why.splitlines()[0]}; again in {wait:.0f} s", sys.stderr)
            time.sleep(wait)
            turn += 1

    @staticmethod
    def _wait(asked: Any, turn: int) -> float:
        """What the site asked for, else twice as long each time, and a little more so that not all come at once."""
        if isinstance(asked, str) and asked.isdecimal():
            return min(float(asked), 120.0) + random.random()
        return min(2.0**turn, 60.0) * (0.5 + random.random())

    def _once(self, method: str, path: str, body: Form | Json | None, key: str) -> tuple[int, Any, Any]:
        with self.open(method, path, body, key) as response:
            return response.status, json.loads(response.read() or b"{}"), response.headers

    def open(self, method: str, path: str, body: Form | Json | None = None, key: str = "") -> Any:
        """The answer, not yet read. Raises Refused and URLError."""
        request = Request(urljoin(self.address, path), method=method, data=body)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Accept", "application/json")
        request.add_header("User-Agent", f"benchsite-upload/{VERSION}")
        if body is not None:
            request.add_header("Content-Type", body.content_type)
            request.add_header("Content-Length", str(len(body)))
        if key:
            request.add_header("Idempotency-Key", key)
        try:
            return self.opener.open(request, timeout=90)
        except HTTPError as error:
            raise Refused(error.code, problem_in(error)) from None


def problem_in(error: HTTPError) -> dict[str, Any]:
    try:
        found = json.loads(error.read())
    except (OSError, ValueError):
        found = {}
    problem = found if isinstance(found, dict) else {}
    return {"title": str(error.reason), **problem, "retry_after": error.headers.get("Retry-After")}


def uploaded(
    site: Site, options: argparse.Namespace, manifest: dict[str, Any], files: list[Path], key: str
) -> dict[str, Any]:
    """What the site says of the runs that it stored."""
    query = "?dry_run=1" if options.dry_run else ""
    try:
        status, said, _ = site.ask("POST", f"api/v1/runs{query}", Form(manifest, files), key)
        until = time.monotonic() + options.wait
        while status == 202 and said.get("state") not in ("saved", "failed"):
            if time.monotonic() > until:
                raise Ended(
                    UPLOAD_FAILED, f"after {options.wait:g} s the site has still not read it: {said.get('url')}"
                )
            time.sleep(1)
            _, said, _ = site.ask("GET", str(said["url"]).lstrip("/"))
    except Refused as refused:
        raise Ended(get_exit_code(refused), f"the upload was refused: {refused}") from None
    if said.get("state") == "failed":
        raise Ended(BENCHMARK_FAILED, f"the site cannot read the result: {said.get('detail')}")
    return dict(said)


def get_exit_code(refused: Refused) -> int:
    if refused.slug in ("malformed-result", "unsupported-format"):
        return BENCHMARK_FAILED
    return USAGE if refused.slug in ("validation-error", "unauthenticated", "insufficient-scope") else UPLOAD_FAILED


def collect_verdicts(site: Site, options: argparse.Namespace, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One for each test that the runs are measurements of: repeats of one commit are judged together."""
    found: list[dict[str, Any]] = []
    for one in runs:
        judged = {run for said in found for run in [*said["new"]["runs"], *(left["run"] for left in said["left_out"])]}
        if one["phase"] != "measure" or one["id"] in judged:
            continue
        query = urlencode({"wait": WAIT_AT_ONCE_S, **({"baseline": options.baseline} if options.baseline else {})})
        try:
            said = site.ask("GET", f"{one['verdict_url'].lstrip('/')}?{query}")[1]
        except Refused as refused:
            if refused.slug != "not-found":
                raise Ended(UPLOAD_FAILED, f"uploaded, but there is no verdict: {refused}") from None
            nothing = {"runs": [one["id"]]}
            said = {
                "verdict": "inconclusive",
                "reasons": [str(refused).splitlines()[0]],
                "new": nothing,
                "left_out": [],
                "metrics": [],
            }
        found.append({**said, "name": one["name"]})
    return found


# --- What is said ---


def outcome(options: argparse.Namespace, said: dict[str, Any], verdicts: list[dict[str, Any]]) -> tuple[int, str]:
    """The exit code, and a line that says why. What went wrong with the benchmark outweighs what it measured."""
    words = [one["verdict"] for one in verdicts]
    rejected = [one for one in said["runs"] if one["verdict"] == "reject"]
    if rejected or "error" in words or not said["runs"]:
        why = [
            f"{one['name']}: {finding['message']}"
            for one in rejected
            for finding in one["findings"]
            if finding["severity"] == "reject"
        ]
        more = f" And {len(why) - 1} more rejections, listed above." if len(why) > 1 else ""
        return BENCHMARK_FAILED, f"The benchmark failed. {why[0] if why else 'No run counts.'}{more}"
    if options.dry_run or options.no_verdict:
        return PASS, "Nothing was stored: a dry run." if options.dry_run else "Uploaded; no verdict was asked for."
    if "regression" in words:
        since = next((verdict["since"] for verdict in verdicts if verdict.get("since")), "")
        return REGRESSION, f"Regression since commit {since[:12]}." if since else "Regression."
    if "mixed" in words or ("improvement" in words and "regression" in words):
        return (REGRESSION if options.mixed == "fail" else PASS), "Mixed: a loss beside a gain."
    if any(one.get("flagged") for one in verdicts):
        return (INCONCLUSIVE if options.strict else PASS), "Flagged: measure this test again in a new job."
    if "inconclusive" in words:
        return (INCONCLUSIVE if options.strict else PASS), "No decision yet."
    return (
        PASS,
        "Improvement." if "improvement" in words else "Pass." if words else "Uploaded: no measured run is in it.",
    )


def show(said: dict[str, Any], verdicts: list[dict[str, Any]], headline: str) -> None:
    for one in said["runs"]:
        rate = one["throughput_ops_s"]
        shown = f"{rate:,.0f} ops/s" if rate is not None else "no throughput"
        assessed = f", {one['checks_assessed']} of {one['checks']} assessed" if one.get("checks") else ""
        say(f"{one['name']}: {shown}, checks: {one['verdict']}{assessed}  {one['permalink'] or ''}")
        for finding in one["findings"]:
            say(f"  {finding['severity']}: {finding['message']}")
    for one in verdicts:
        headline_of_test, *reasons = one["reasons"]
        for sentence in (headline_of_test, one.get("certainty"), *reasons):
            if sentence:
                say(f"  {sentence}")
        if (one.get("base") or {}).get("chosen"):
            say(f"  {one['base']['chosen']}")
    say(headline)


def say(text: str, where: Any = None) -> None:
    """One line without control characters: names come from outside, and this is a terminal."""
    lines = ("".join(sign if sign.isprintable() else " " for sign in line) for line in text.split("\n"))
    stream = where or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print("\n".join(lines).encode(encoding, "replace").decode(encoding), file=stream, flush=True)


def write_reports(
    options: argparse.Namespace, code: int, headline: str, said: dict[str, Any], verdicts: list[dict[str, Any]]
) -> None:
    """The files that were asked for; one that cannot be written spoils nothing."""
    everything = {"exit_code": code, "headline": headline, "upload": said, "verdicts": verdicts}
    flagged = any(one.get("flagged") for one in verdicts)
    for path, text, mode in (
        (options.flagged if flagged else "", options.manifest or options.files[0], "a"),
        (options.summary, markdown(headline, said, verdicts), "a"),
        (options.json, json.dumps(everything, indent=1), "w"),
        (options.junit, junit(code, headline, verdicts), "w"),
    ):
        try:
            if path:
                with Path(path).open(mode, encoding="utf-8") as opened:
                    opened.write(text + "\n")
        except OSError as error:
            say(f"benchsite: {path} cannot be written: {error}", sys.stderr)


def markdown(headline: str, said: dict[str, Any], verdicts: list[dict[str, Any]]) -> str:
    def cell(text: Any) -> str:
        return "".join(f"\\{sign}" if sign in "\\`*_[]|#" else sign for sign in escape(" ".join(str(text).split())))

    lines = [f"## Benchsite: {cell(headline)}", ""]
    lines += [
        f"- [{cell(one['name'])}]({one['permalink'] or ''}): checks {cell(one['verdict'])}"
        for one in said.get("runs", [])
    ]
    for one in verdicts:
        lines += ["", f"**{cell(one['reasons'][0])}** {cell(one.get('certainty') or '')}".rstrip(), ""]
        if one["metrics"]:
            lines += ["| metric | ratio, above 1 is better | verdict | why |", "|---|---:|---|---|"]
        for metric in one["metrics"]:
            ratio = f"{metric['ratio']:.3f}" if metric["ratio"] is not None else "-"
            lines.append(f"| {cell(metric['name'])} | {ratio} | {metric['state']} | {cell(metric['reason'])} |")
    return "\n".join(lines)


def junit(code: int, headline: str, verdicts: list[dict[str, Any]]) -> str:
    """A test case for each metric; without any, one for the upload."""
    cases = []
    for one in verdicts:
        for metric in one["metrics"]:
            said, inner = escape(clean(metric["reason"])), ""
            if metric["state"] == "regressed":
                inner = f"<failure message={quoteattr(clean(metric['reason']))}>{said}</failure>"
            elif metric["state"] in ("flagged", "inconclusive", "not comparable"):
                inner = f"<skipped message={quoteattr(clean(metric['reason']))}/>"
            names = f"classname={quoteattr(clean(one['name']))} name={quoteattr(clean(metric['name']))}"
            cases.append(f"<testcase {names}>{inner}</testcase>")
    if not cases or code in (UPLOAD_FAILED, BENCHMARK_FAILED, USAGE):
        inner = f"<error message={quoteattr(clean(headline))}/>" if code not in (PASS, INCONCLUSIVE) else ""
        cases.append(f'<testcase classname="benchsite" name="upload">{inner}</testcase>')
    failures, errors = (sum(f"<{what} " in one for one in cases) for what in ("failure", "error"))
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="benchsite" {counts}>{"".join(cases)}</testsuite>'


def clean(text: Any) -> str:
    """Text that XML may hold."""
    return "".join(sign if sign.isprintable() else " " for sign in str(text))


def entry() -> NoReturn:
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    entry()
