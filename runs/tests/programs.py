"""What tests of uploads by programs share: a token, a manifest, and a request."""

import json
from collections.abc import Sequence
from typing import Any

from django.test import Client

from benchsite.accounts import tokens
from benchsite.accounts.models import Team, User
from runs.tests.importing import summary

MANIFEST: dict[str, Any] = {
    "system": "redis",
    "mode": "always",
    "version": "7.2.4",
    "workload": {"name": "YCSB A", "records": 100_000},
}
MULTIPART = "multipart/form-data; boundary=a-boundary"
SCOPES = ("runs:read", "runs:write", "runs:delete")


def read_answer(response: Any, status: int) -> Any:
    assert response.status_code == status, response.content.decode()[:3000]
    return json.loads(response.content)


def get_token(team: Team, user: User, *scopes: str) -> str:
    return tokens.make(team, user, name="CI", scopes=scopes or SCOPES[:2])


class Program:
    """A program that holds a token."""

    def __init__(self, team: Team, user: User, *scopes: str) -> None:
        self.client = Client(raise_request_exception=False)
        self.token = get_token(team, user, *scopes)
        self.number = 0

    def headers(self, **more: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", **more}

    def post(self, *files: tuple[str, bytes], key: str | None = "", query: str = "", **manifest: Any) -> Any:
        """A key is made up where none is given; None sends none."""
        self.number += 1
        sent = {"Idempotency-Key": key or f"key-{self.number}"} if key is not None else {}
        return self.client.post(
            f"/api/v1/runs{query}", self.form(files, manifest), content_type=MULTIPART, headers=self.headers(**sent)
        )

    def get(self, path: str) -> Any:
        return self.client.get(path, headers=self.headers())

    @staticmethod
    def form(files: Sequence[tuple[str, bytes]], manifest: dict[str, Any]) -> bytes:
        stated = {name: value for name, value in (MANIFEST | manifest).items() if value is not ...}
        return multipart(json.dumps(stated).encode(), files or (("a.txt", summary()),))


def multipart(manifest: bytes, files: Sequence[tuple[str, bytes]], boundary: str = "a-boundary") -> bytes:
    """As curl writes it: names of files stand as they are, whatever is in them."""
    parts = [b'Content-Disposition: form-data; name="manifest"\r\n\r\n' + manifest]
    for name, content in files:
        quoted = name.replace("\\", "\\\\").replace('"', '\\"').encode(errors="surrogateescape")
        head = b'Content-Disposition: form-data; name="files"; filename="%s"\r\n' % quoted
        parts.append(head + b"Content-Type: application/octet-stream\r\n\r\n" + content)
    line = b"--" + boundary.encode()
    return b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
