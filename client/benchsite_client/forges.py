"""One comment of a pull or merge request, which is updated: of GitHub and GitLab, by their REST APIs."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, build_opener

from benchsite_client import messages
from benchsite_client.upload import NoRedirects

# The comment begins with it, by which the next verdict finds it.
MARKER: Final = "<!-- benchsite builds -->"
TIMEOUT_S: Final = 30.0
PER_PAGE: Final = 100
MAX_PAGES: Final = 20
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


class CommentFailed(Exception):
    """No comment was written. The message says why."""


@dataclass(frozen=True, slots=True)
class Forge:
    """Where comments are: `comments` is their list, `comment` one of them, with its id in the place of {id}."""

    comments: str
    comment: str
    update_method: str
    headers: Mapping[str, str]


def update_comment(env: Mapping[str, str], text: str) -> str:
    """Writes the text in the place of the earlier one; answers the comment's address. Raises CommentFailed."""
    forge = _find_forge(env)
    body = {"body": f"{MARKER}\n{text}"}
    try:
        earlier = next((row for row in _list_comments(forge) if str(row.get("body")).startswith(MARKER)), None)
        if earlier is None:
            answer = _ask(forge, "POST", forge.comments, body)
        else:
            answer = _ask(forge, forge.update_method, forge.comment.format(id=earlier["id"]), body)
    except HTTPError as error:
        raise CommentFailed(messages.FORGE_REFUSED.format(status=error.code)) from None
    except (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommentFailed(str(error)) from None
    return str(answer.get("html_url") or answer.get("id"))


def _find_forge(env: Mapping[str, str]) -> Forge:
    if env.get("GITHUB_ACTIONS") == "true":
        return _get_github(env)
    if env.get("GITLAB_CI"):
        return _get_gitlab(env)
    raise CommentFailed(messages.NO_FORGE)


def _get_github(env: Mapping[str, str]) -> Forge:
    event: Any = {}
    with suppress(OSError, ValueError):
        event = json.loads(Path(env.get("GITHUB_EVENT_PATH", "")).read_text(encoding="utf-8"))
    number, token = (event.get("pull_request") or {}).get("number"), env.get("GITHUB_TOKEN", "")
    if not number or not token:
        raise CommentFailed(messages.NO_PULL_REQUEST)
    root = f"{_check_address(env.get('GITHUB_API_URL', 'https://api.github.com'))}/repos/{env['GITHUB_REPOSITORY']}"
    return Forge(
        f"{root}/issues/{int(number)}/comments", f"{root}/issues/comments/{{id}}", "PATCH",
        {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"},
    )  # fmt: skip


def _get_gitlab(env: Mapping[str, str]) -> Forge:
    number, token = env.get("CI_MERGE_REQUEST_IID", ""), env.get("GITLAB_TOKEN", "")
    if not number or not token:
        raise CommentFailed(messages.NO_MERGE_REQUEST)
    project = quote(env["CI_PROJECT_ID"], safe="")
    root = f"{_check_address(env['CI_API_V4_URL'])}/projects/{project}/merge_requests/{int(number)}/notes"
    return Forge(root, f"{root}/{{id}}", "PUT", {"PRIVATE-TOKEN": token})


def _check_address(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise CommentFailed(messages.FORGE_WITHOUT_TLS)
    return address.rstrip("/")


def _list_comments(forge: Forge) -> Iterator[dict[str, Any]]:
    for page in range(1, MAX_PAGES + 1):
        rows = _ask(forge, "GET", f"{forge.comments}?per_page={PER_PAGE}&page={page}")
        yield from rows
        if len(rows) < PER_PAGE:
            return


def _ask(forge: Forge, method: str, address: str, body: Any = None) -> Any:
    data = None
    headers = {**forge.headers, "User-Agent": "benchsite"}
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    request = Request(address, data=data, headers=headers, method=method)
    with build_opener(NoRedirects).open(request, timeout=TIMEOUT_S) as answer:
        return json.loads(answer.read())
