"""Owner, team-mate and stranger at every address of `runs` that names a thing."""

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse

from benchsite.accounts.models import Role
from runs import urls
from runs.tests.factories import make_team
from runs.tests.world import browser, make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# Which thing of the world an address names, by the beginning of the address' name.
THINGS = ("machine", "cluster", "database", "workload", "matrix", "sweep", "run", "artifact", "import")
READ = ("machine", "cluster", "database", "workload", "matrix", "run")
LISTS = ("machines", "clusters", "databases", "workloads", "systems", "matrices", "runs")
# What viewers must not reach, and what only operators or admins may.
WRITE = (*(f"{thing}-{verb}" for thing in ("database", "workload") for verb in ("edit", "delete")), "import")
OPERATED = ("machine-edit", "machine-delete", "cluster-edit", "cluster-delete")
ADDED = ("database-add", "workload-add", "matrix-add", "imports")


def named(patterns) -> list[tuple[str, tuple[str, ...]]]:
    found = []
    for entry in patterns:
        if isinstance(entry, URLResolver):
            found += named(entry.url_patterns)
        elif isinstance(entry, URLPattern) and entry.name:
            found.append((entry.name, tuple(entry.pattern.converters)))
    return found


# Schedules have tests of their own, and a walk over every address of the site asks for all other rows.
NAMES = sorted(
    name for name, arguments in named(urls.urlpatterns) if arguments == ("pk",) and name.split("-")[0] in THINGS
)


def address(name, world):
    thing = next(t for t in THINGS if name == t or name.startswith(f"{t}-"))
    return reverse(name, args=[getattr(world, {"import": "upload"}.get(thing, thing)).pk])


def test_it_walks_every_address():
    assert set(READ) | set(WRITE) | set(OPERATED) <= set(NAMES)


def statuses(client, names, world, method="get"):
    """Each address' name with what it answers."""
    return {name: getattr(client, method)(address(name, world)).status_code for name in names}


def test_it_shows_a_stranger_nothing(team, stranger):
    world = make_world(team)
    got, posted = statuses(stranger, NAMES, world), statuses(stranger, NAMES, world, "post")
    for name in NAMES:
        # An address that takes only one method answers 405 to the other, whoever asks; operators' pages answer 403.
        assert {got[name], posted[name]} <= {404, 405} | ({403} if name in OPERATED else set()), name
        assert {got[name], posted[name]} & {403, 404}, name


def test_it_sends_whoever_is_not_signed_in_to_the_sign_in_page(team):
    world = make_world(team)
    for name in NAMES:
        response = Client().get(address(name, world))
        assert response.status_code == 405 or response["Location"].startswith("/sign-in/?next="), name


def test_it_lets_a_viewer_read(team):
    viewer = browser(team, Role.VIEWER)
    assert statuses(viewer, READ, make_world(team)) == dict.fromkeys(READ, 200)
    assert {name: viewer.get(reverse(name)).status_code for name in LISTS} == dict.fromkeys(LISTS, 200)


@pytest.mark.parametrize("method", ["get", "post"])
def test_it_refuses_a_viewer_who_writes(team, method):
    viewer = browser(team, Role.VIEWER)
    assert statuses(viewer, WRITE + OPERATED, make_world(team), method) == dict.fromkeys(WRITE + OPERATED, 403)
    assert {name: getattr(viewer, method)(reverse(name)).status_code for name in ADDED} == dict.fromkeys(ADDED, 403)


def test_it_offers_a_viewer_no_link_that_would_refuse_him(team):
    world, viewer = make_world(team), browser(team, Role.VIEWER)
    for name in READ:
        page = viewer.get(address(name, world)).content.decode()
        assert "/edit/" not in page, name
        assert "/delete/" not in page, name
        assert reverse("matrix-add") not in page, name


def test_it_lets_a_runner_write(team):
    assert statuses(browser(team), WRITE, make_world(team)) == dict.fromkeys(WRITE, 200)


def test_it_lets_only_operators_change_what_runs_on_the_site(team):
    world = make_world(team)
    assert statuses(browser(team, Role.ADMIN), OPERATED, world) == dict.fromkeys(OPERATED, 403)
    operator = browser(team, Role.VIEWER, is_staff=True)
    assert statuses(operator, OPERATED, world) == dict.fromkeys(OPERATED, 200)


def test_it_lets_an_admin_change_an_external_cluster(team):
    world = make_world(team)
    world.cluster.provisioner = "external"
    world.cluster.save()
    assert browser(team, Role.ADMIN).get(address("cluster-edit", world)).status_code == 200
    assert browser(team, Role.RUNNER).get(address("cluster-edit", world)).status_code == 403


def test_it_lists_nothing_of_another_team(team, stranger):
    world = make_world(team, name="Ours alone")
    for name in LISTS:
        page = stranger.get(reverse(name)).content.decode()
        assert "Ours alone" not in page, name
        assert str(world.machine.pk) not in page, name


def test_it_shows_a_machine_of_no_team_to_everybody(team, stranger):
    world = make_world(team)
    world.machine.teams.clear()
    page = stranger.get(address("machine", world))
    assert page.status_code == 200
    assert world.cluster.name not in page.content.decode()  # whose cluster it is in stays the team's own business


@pytest.mark.parametrize("verb", ["add", "edit"])
def test_it_takes_no_cluster_of_another_team(team, verb):
    world, foreign = make_world(team), make_world(make_team())
    data = {"system": "redis", "cluster": str(foreign.cluster.pk), "name": "Mine", "replication_factor": "1"}
    target = reverse("database-add") if verb == "add" else address("database-edit", world)
    response = browser(team).post(target, data)
    assert response.status_code == 422
    assert foreign.cluster.name not in response.content.decode()


def test_it_clones_no_matrix_of_another_team(stranger, team):
    world = make_world(team)
    assert stranger.get(reverse("matrix-add"), {"from": str(world.matrix.pk)}).status_code == 404
    assert stranger.get(reverse("matrix-add"), {"from": "nonsense"}).status_code == 404
