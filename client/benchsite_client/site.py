"""The site that commands speak to: where it is, the stored token, and requests that fail with one sentence."""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from benchsite_client import messages
from benchsite_client.upload import UPLOAD_FAILED, USAGE, Ended, Json, Refused, Site, get_site_url

API: Final = "api/v1"
DEFAULT_PATIENCE_S: Final = 10.0  # a person waits; a pipeline sets BENCHSITE_PATIENCE
WRONG_REQUESTS: Final = range(400, 500)
PAGE_SIZE: Final = 200


@dataclass(frozen=True, slots=True)
class Login:
    address: str = ""
    token: str = ""
    allow_http: bool = False


def get_login_path() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "benchsite" / "login.json"


def read_login() -> Login:
    """The stored site and token; BENCHSITE_URL and BENCHSITE_TOKEN outweigh them. Raises Ended."""
    path = get_login_path()
    stored = Login()
    try:
        stored = Login(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        pass
    except (OSError, ValueError, TypeError):
        raise Ended(USAGE, messages.UNREADABLE_LOGIN.format(path=path)) from None
    address = os.environ.get("BENCHSITE_URL") or stored.address
    token = os.environ.get("BENCHSITE_TOKEN", "").strip()
    is_stored = address.rstrip("/") == stored.address.rstrip("/")
    if not token and is_stored:
        token = stored.token  # It is sent to no other site.
    return Login(address, token, stored.allow_http and is_stored)


def store_login(login: Login) -> Path:
    """Readable by this account only."""
    path = get_login_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
        json.dump(asdict(login), opened)
    draft.replace(path)
    return path


class Client:
    """A site's REST API. Every method raises Ended with the site's own reason."""

    def __init__(self, login: Login) -> None:
        if not login.address or not login.token:
            raise Ended(USAGE, messages.NO_LOGIN)
        self.address = get_site_url(argparse.Namespace(site=login.address, allow_http=login.allow_http))
        patience = os.environ.get("BENCHSITE_PATIENCE") or DEFAULT_PATIENCE_S
        try:
            self.site = Site(self.address, login.token, float(patience))
        except ValueError:
            raise Ended(USAGE, messages.WRONG_PATIENCE.format(value=patience)) from None

    def get(self, path: str, **query: Any) -> Any:
        return self.ask("GET", _with_query(path, query))

    def post(self, path: str, value: Any = None, **query: Any) -> Any:
        return self.ask("POST", _with_query(path, query), value)

    def ask(self, method: str, path: str, value: Any = None) -> Any:
        """The JSON of the answer."""
        body = None
        if value is not None:
            body = Json(value)
        try:
            return self.site.ask(method, f"{API}/{path}", body)[1]
        except Refused as refused:
            raise end_by(refused) from None

    def get_text(self, path: str, **query: Any) -> str:
        with self.stream(path, **query) as answer:
            return str(answer.read().decode())

    def stream(self, path: str, **query: Any) -> Any:
        """An answer that is read piece by piece; a context."""
        address = f"{API}/{_with_query(path, query)}"
        try:
            return self.site.repeat(lambda: self.site.open("GET", address))
        except Refused as refused:
            raise end_by(refused) from None

    def list(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Every item of a list, page after page."""
        page = self.get(path, limit=PAGE_SIZE, **query)
        while True:
            yield from page["items"]
            if not page["next_cursor"]:
                return
            page = self.get(path, limit=PAGE_SIZE, cursor=page["next_cursor"], **query)


def find_row(client: Client, lists: Sequence[str], row_id: str) -> dict[str, Any] | None:
    """The row of this id in the first of the lists that has it."""
    if not is_id(row_id):
        return None
    for path in lists:
        try:
            row: dict[str, Any] = client.site.ask("GET", f"{API}/{path}/{row_id}")[1]
        except Refused as refused:
            if refused.slug != "not-found":
                raise end_by(refused) from None
        else:
            return row
    return None


def find_matrix(client: Client, name: str) -> dict[str, Any]:
    """The plan of this id, or the newest of this name. Raises Ended."""
    matrix = find_row(client, ["matrices"], name)
    if matrix is None:
        matrix = next((item for item in client.list("matrices") if item["name"] == name), None)
    if matrix is None:
        raise Ended(USAGE, messages.NO_PLAN.format(name=name))
    return matrix


def is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def end_by(refused: Refused) -> Ended:
    """What the site refuses is a wrong request; what it cannot answer is a failure."""
    code = UPLOAD_FAILED
    if refused.status in WRONG_REQUESTS:
        code = USAGE
    return Ended(code, str(refused))


def _with_query(path: str, query: dict[str, Any]) -> str:
    stated = {name: value for name, value in query.items() if value not in (None, "")}
    if stated:
        return f"{path}?{urlencode(stated, doseq=True)}"
    return path
