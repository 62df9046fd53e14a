"""A machine that is restricted to some teams takes its load generators along: pages, API, submission and scheduler."""

import pytest

from benchsite.tests.asking import make_program
from conftest import signed_in
from runs.catalog.generators import waited_for_in_vain
from runs.models import LoadGenerator, Run
from runs.plans import PlanError, submit
from runs.plans.forms.matrices import generators_for
from runs.tests.factories import make_team, make_user
from runs.tests.planning_world import a_matrix
from workers.tests.test_dispatching import matrix as submitted, tick

__all__ = ["submitted"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def matrix(team):
    return a_matrix(team)


@pytest.fixture
def restricted(matrix):
    """The machine of one of the matrix's two load generators is another team's now."""
    generator = LoadGenerator.objects.order_by("name").first()

    def restrict():
        generator.machine.teams.add(make_team(name="Owners"))
        return generator.name

    return restrict


def test_pages_and_api_offer_it_no_more(matrix, restricted, client_in, team):
    name = LoadGenerator.objects.order_by("name").first().name
    assert name in client_in.get("/load-generators/").content.decode()
    assert restricted() == name
    for page in ("/load-generators/", "/matrices/add/", "/"):
        assert name not in client_in.get(page).content.decode(), page
    assert name not in [generator.name for generator in generators_for(team)]
    draft = {"name": "x", "load_generators": [name]}
    assert make_program(team).ask("POST", "/matrices", draft).status_code in (400, 422)


def test_the_owners_keep_it(matrix, restricted):
    generator = LoadGenerator.objects.get(name=restricted())
    assert generator in generators_for(generator.machine.teams.get())


def test_a_plan_with_it_is_refused(matrix, restricted):
    name = restricted()
    with pytest.raises(PlanError, match=f"may not use {name} any more"):
        submit(matrix, None)
    assert not Run.objects.filter(matrix=matrix).exists()


def test_runs_that_wait_for_it_do_not_start(submitted):
    [machine] = {generator.machine for generator in LoadGenerator.objects.all()}
    machine.teams.add(make_team(name="Owners"))
    assert tick() == []
    waiting = set(Run.objects.filter(matrix=submitted).values_list("pk", flat=True))
    names = sorted(LoadGenerator.objects.values_list("name", flat=True))
    assert {pk: sorted(unusable) for pk, unusable in waited_for_in_vain(waiting).items()} == dict.fromkeys(
        waiting, names
    )
    page = signed_in(make_user(team=submitted.team, username="quinn")).get("/queue/").content.decode()
    assert f"load generator {names[0]}" in page
    machine.teams.add(submitted.team)
    assert waited_for_in_vain(waiting) == {}
    assert len(tick()) == 1
