"""A program that asks the API, and what the API's description lists."""

import json
from typing import Any

from django.test import Client

from benchsite.accounts import tokens
from benchsite.accounts.models import Role, Scope, Team
from benchsite.api import api
from runs.tests.factories import make_user

ROOT = "/api/v1"


class Program:
    """Holds a token; answers are plain values."""

    def __init__(self, token: str | None) -> None:
        self.client = Client(raise_request_exception=False)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ask(self, method: str, where: str, body: Any = None, **headers: str) -> Any:
        url = where if where.startswith("/api/") else ROOT + where
        sent = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = headers.pop("content_type", "application/json")
        return self.client.generic(method.upper(), url, sent, content_type=kind, headers={**self.headers, **headers})

    def get(self, where: str) -> Any:
        return self.ask("GET", where)

    def said(self, where: str) -> Any:
        answer = self.get(where)
        assert answer.status_code == 200, answer.content
        return answer.json()


def make_program(team: Team, *scopes: str, role: str = Role.ADMIN) -> Program:
    """One with these scopes; without any, with all."""
    maker = make_user(team=team, role=role)
    return Program(tokens.make(team, maker, name="program", scopes=scopes or Scope.values))


def problem(answer: Any, status: int, slug: str) -> dict[str, Any]:
    """The problem document that this must be."""
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json"), answer.content
    data: dict[str, Any] = json.loads(answer.content)
    assert (data["type"], data["status"]) == (f"/problems/{slug}", status)
    assert data["title"] and data["detail"]
    return data


def described() -> list[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of every endpoint."""
    paths = api.get_openapi_schema(path_prefix=f"{ROOT}/")["paths"]
    return [(method, path, said) for path, methods in paths.items() for method, said in methods.items()]
