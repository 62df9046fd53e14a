"""Every address of the site with the id of every row of another team: none is there, and nothing of it changes.

Nobody keeps a list: addresses come from the URL configuration, rows from every model, so what is added is asked too.
"""

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.converters import IntConverter, UUIDConverter

from benchsite.teams import membership, tokens
from benchsite.teams.models import Role
from reports import watch_links
from reports.selection import Selection
from reports.tests.frozen import published
from runs.models import Machine
from runs.tests.factories import make_run, make_team, make_user
from runs.tests.world import make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
APPS = ("teams", "runs", "workers", "reports")
# Neither API takes a session: one has a walk of its own, the other answers 401 (test_generator_api.py).
ELSEWHERE = ("api/", "generator-api/", "admin/", "sso/")
NOT_THERE = {403, 404, 405}


def addresses(patterns=None, prefix="") -> Iterator[tuple[str, type]]:
    """Every route with exactly one id in it: ("runs/{}/cancel/", UUID)."""
    for one in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(one.pattern)
        if route.startswith(ELSEWHERE):
            continue
        if isinstance(one, URLResolver):
            yield from addresses(one.url_patterns, route)
        elif isinstance(one, URLPattern):
            yield from _asked(route, {**one.pattern.converters})


def _asked(route: str, converters: dict[str, object]) -> Iterator[tuple[str, type]]:
    kinds = {UUIDConverter: UUID, IntConverter: int}
    ids = [name for name, converter in converters.items() if type(converter) in kinds]
    for name, converter in converters.items():
        said = f"<{_name_of(converter)}:{name}>"
        if name in ids:
            route = route.replace(said, "{}" if name == ids[0] else "1")
        else:
            route = route.replace(said, "csv" if name == "form" else "x")
    if ids and not route.startswith(("r/", "watch/<")):
        yield route, kinds[type(converters[ids[0]])]


def _name_of(converter) -> str:
    from django.urls.converters import get_converters

    return next(name for name, get_converter in get_converters().items() if type(get_converter) is type(converter))


def everything_of_a_team():
    """One row of every model at least, so far as a test can make it."""
    team = make_team(name="Others")
    admin = make_user(team=team, role=Role.ADMIN, username="theirs")
    world = make_world(team, name="theirs")
    make_run(world.sweep, threads=64, status="queued")
    membership.invite(team, admin, role=Role.VIEWER)
    tokens.make(team, admin, name="theirs", scopes=["runs:read"])
    watch_links.make(team, admin, title="theirs", selection=Selection())
    published(team)
    return team


def ids_of(kind: type) -> list[object]:
    """One of every model's rows."""
    found: list[object] = []
    for app in APPS:
        for model in apps.get_app_config(app).get_models():
            rows = model._default_manager.order_by("pk")
            if model is Machine:  # One without a team is the whole site's.
                rows = rows.filter(teams__isnull=False)
            found += [key for key in rows.values_list("pk", flat=True)[:1] if isinstance(key, kind)]
    return found


def state() -> dict[str, list[tuple[object, ...]]]:
    """Which rows there are, and which version of each."""
    found = {}
    with connection.cursor() as cursor:
        for app in APPS:
            for model in apps.get_app_config(app).get_models():
                cursor.execute(f'SELECT ctid::text, xmin::text FROM "{model._meta.db_table}" ORDER BY 1')
                found[model._meta.label] = cursor.fetchall()
    return found


def test_nothing_of_another_team_is_there():
    me = make_user(team=make_team(name="Ours"), role=Role.ADMIN, username="ours")
    everything_of_a_team()
    mine = set(me.memberships.values_list("pk", flat=True))
    keys = {kind: [key for key in dict.fromkeys(ids_of(kind)) if key not in mine] for kind in (UUID, int)}
    client = Client()
    client.force_login(me)
    before, asked, open_ones = state(), 0, []
    for route, kind in addresses():
        for key in keys[kind]:
            for method in (client.get, client.post):
                response = method("/" + route.format(key))
                asked += 1
                if response.status_code not in NOT_THERE:
                    open_ones.append((method.__name__, route.format(key), response.status_code))
    assert asked > 500
    assert not open_ones, f"{len(open_ones)} of {asked}"
    after = state()
    assert not [label for label in before if before[label] != after[label]]
