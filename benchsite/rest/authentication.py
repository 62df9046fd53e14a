"""Who asks: a bearer token with the scope that the endpoint needs. Sessions and cookies count for nothing here.

Whoever is known is counted: `benchsite.rest.limits`.
"""

from collections.abc import Sequence
from typing import Any, cast

from django.http import HttpRequest
from ninja.security import HttpBearer

from benchsite.accounts import tenancy
from benchsite.accounts.models import Scope, Team
from benchsite.accounts.tokens import Bearer, find_bearer
from benchsite.rest import limits
from benchsite.rest.problems import Problem

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="benchsite"'}


class Needs(HttpBearer):
    """`auth=Needs(Scope.RUNS_READ)` on an endpoint or a router; `request.auth` is the `Bearer` then.

    Of several scopes any one will do. A request counts as each of `counted`.
    """

    def __init__(self, *scopes: Scope, counted: Sequence[limits.Name] = ("requests",)) -> None:
        self.scopes = [str(scope) for scope in scopes]
        self.counted = counted
        self.openapi_description = "A token of a team: `bs_...`. Members make them on their team's page of tokens."
        super().__init__()

    def __call__(self, request: HttpRequest) -> Any:
        bearer = super().__call__(request)
        if bearer is None:
            raise Problem(
                "unauthenticated",
                "Send a token as “Authorization: Bearer bs_…”. Members of a team make tokens on its page “Tokens”.",
                headers=CHALLENGE,
            )
        return bearer

    def authenticate(self, request: HttpRequest, token: str) -> Bearer:
        bearer = find_bearer(token.strip())
        if bearer is None:
            raise _unknown()
        tenancy.enter(bearer.token.team_id)
        limits.spend(request, bearer.token, self.counted)
        require_scope(bearer, self.scopes)
        return bearer


def require_scope(bearer: Bearer, scopes: Sequence[str]) -> None:
    """Raises Problem where the token has none of these."""
    if bearer.scopes.intersection(scopes):
        return
    has = ", ".join(sorted(bearer.scopes)) or "none"
    scheme = CHALLENGE["WWW-Authenticate"]
    raise Problem(
        "insufficient-scope",
        f"This needs the scope {' or '.join(scopes)}; the token has {has}.",
        headers={"WWW-Authenticate": f'{scheme}, error="insufficient_scope", scope="{" ".join(scopes)}"'},
    )


def _unknown() -> Problem:
    return Problem(
        "unauthenticated",
        "This token is unknown, has expired or was revoked, or its maker has left the team.",
        headers={"WWW-Authenticate": CHALLENGE["WWW-Authenticate"] + ', error="invalid_token"'},
    )


def ask_again(request: HttpRequest) -> None:
    """Once a long body has come: what was taken from its sender meanwhile is theirs no more. Raises Problem."""
    bearer = find_bearer(request.headers.get("Authorization", "").partition(" ")[2].strip())
    if bearer is None or not bearer.scopes >= bearer_in(request).scopes:
        raise _unknown()


def bearer_in(request: HttpRequest) -> Bearer:
    """Who asks, below an endpoint that has `Needs`."""
    return cast(Bearer, request.auth)  # type: ignore[attr-defined]


def team_in(request: HttpRequest) -> Team:
    """Whose rows may be seen."""
    return bearer_in(request).team
