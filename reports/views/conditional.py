"""Answers that a browser keeps and asks about: "still the same?" costs a digest of rows, and no drawing."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response

from benchsite.teams.permissions import team_of
from reports.queries import key_of


def unless_known(request: HttpRequest, version: str, make: Callable[[], HttpResponse]) -> HttpResponse:
    """304 for whoever holds the answer to this address in this version of its rows; else what `make` answers.

    The tag names the team and the code too: whoever changes the team, or asks a new release, is answered anew. The
    version is read before the rows, so that what changes in between is at worst drawn twice.
    """
    tag = f'"{key_of(team_of(request).pk, "answer", request.get_full_path(), version).rpartition(":")[2]}"'
    response = get_conditional_response(request, etag=tag)
    if response is None:
        response = make()
    response.headers["ETag"] = tag
    return response
