"""Every page of `runs` with nothing in it, with ugly names, and at a constant number of queries."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_run,
    make_sweep,
    make_team,
    make_workload,
)
from runs.tests.world import UGLY, make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

LISTS = ("machines", "clusters", "databases", "workloads", "systems", "matrices", "matrix-add")
PAGES = ("machine", "cluster", "database", "workload", "machine-edit", "cluster-edit", "database-edit", "workload-edit",
         "machine-delete", "cluster-delete", "database-delete", "workload-delete")  # fmt: skip
EMPTY = {
    "clusters": "cluster-add",
    "machines": "machine-add",
    "workloads": "workload-add",
    "matrices": "matrix-add",
    "databases": "clusters",  # a database needs a cluster, so that comes first
}


@pytest.mark.parametrize(("name", "leads_to"), EMPTY.items())
def test_it_says_what_to_do_where_there_is_nothing(operator, name, leads_to):
    page = operator.get(reverse(name)).content.decode()
    assert re.search(rf'<a class="button button--primary" href="{reverse(leads_to)}', page)


def test_it_offers_a_database_once_there_is_a_cluster(team, operator):
    make_cluster(team=team)
    assert f'href="{reverse("database-add")}"' in operator.get(reverse("databases")).content.decode()


def test_it_says_what_the_builder_lacks(operator):
    page = operator.get(reverse("matrix-add")).content.decode()
    assert page.count("There is no") >= 2
    assert "Choose at least one load generator." in page


def test_it_shows_ugly_names_as_they_are(team, operator):
    world = make_world(team, name=UGLY)
    addresses = [reverse(name) for name in LISTS]
    addresses += [reverse(name, args=[getattr(world, name.partition("-")[0]).pk]) for name in PAGES]
    for address in addresses:
        response = operator.get(address)
        page = response.content.decode()
        assert response.status_code == 200, address
        assert "<script>alert" not in page, address
        assert "alert(&#x27;x&#x27;)" in page or "www" not in page, address


def test_it_still_shows_a_database_whose_system_left_the_catalog(team, operator):
    database = make_database(team=team, system="oldbase")
    page = operator.get(reverse("database", args=[database.pk]))
    assert b"does not know the system" in page.content
    assert operator.get(reverse("matrix-add")).status_code == 200


def test_shows_a_stored_workload_with_now_invalid_properties(team, operator):
    workload = make_workload(team=team, properties={"recordcount": "0", "oldproperty": "x", "readproportion": "lots"})
    page = operator.get(reverse("workload", args=[workload.pk]))
    assert page.status_code == 200
    assert b"oldproperty" in page.content


@pytest.mark.parametrize("name", ["machines", "clusters", "databases", "workloads", "matrices", "matrix-add"])
def test_it_asks_the_database_as_often_for_many_rows_as_for_one(team, operator, name):
    grow(team, 1)
    operator.get(reverse(name))  # fills what is cached per process
    statements = queries(operator, name)
    grow(team, 15)
    assert queries(operator, name) == statements


def grow(team, count):
    for _ in range(count):
        machine = make_machine()
        make_load_generator(machine=machine)
        cluster = make_cluster(team=team, machines=[machine, make_machine()])
        database, workload = make_database(team=team, cluster=cluster), make_workload(team=team)
        matrix = make_matrix(team=team, entries=[(database, "always")], workloads=[workload])
        sweep = make_sweep(team=team, matrix=matrix, database=database, workload=workload)
        make_run(sweep, status="queued")


def queries(client, name):
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(reverse(name)).status_code == 200
    return len(captured)


@pytest.mark.parametrize("page", ["0", "-1", "99", "x", "1e9", "\0"])
def test_it_shows_the_nearest_page_of_a_list(team, operator, page):
    make_world(team)
    assert operator.get(reverse("databases"), {"page": page}).status_code == 200


def test_it_pages_long_lists_and_keeps_the_search(team, operator):
    for number in range(51):
        make_matrix(team=team, name=f"study {number}")
    first = operator.get(reverse("matrices"), {"q": "study"}).content.decode()
    assert "1\N{EN DASH}50 of 51" in first
    assert 'href="?q=study&amp;page=2"' in first
    assert first.count("?from=") == 50
    assert operator.get(reverse("matrices"), {"q": "study", "page": "2"}).content.decode().count("?from=") == 1


@pytest.mark.parametrize(
    "query, names",
    [("", ["b", "c", "a"]), ("?sort=oldest", ["a", "c", "b"]), ("?sort=name", ["a", "b", "c"]),
     ("?sort=name-reversed", ["c", "b", "a"]), ("?sort=purpose", ["b", "c", "a"]), ("?sort=none", ["b", "c", "a"])],
)  # fmt: skip
def test_it_sorts_matrices_by_column(team, operator, query, names):
    for name, purpose in (("a", "smoke"), ("c", "measured"), ("b", "measured")):
        make_matrix(team=team, name=name, purpose=purpose)
    html = operator.get(reverse("matrices") + query).content.decode()
    assert re.findall(r'<th scope="row"><a [^>]*>(\w)<', html) == names
    assert html.count("aria-sort") == 1
    assert f'href="/matrices.csv{query.replace("?sort=none", "")}"' in html.replace("&amp;", "&")


@pytest.mark.parametrize("search", ["nothing like it", "%", "'", "\0%", "x" * 500])
def test_it_says_when_no_matrix_matches(team, operator, search):
    make_matrix(team=team, name="study")
    assert b"No matrix matches" in operator.get(reverse("matrices"), {"q": search}).content


def test_it_needs_no_script_to_move_about(team, operator):
    make_world(team)
    page = operator.get(reverse("matrices")).content.decode()
    menu = re.search(r'<details class="menu menu--nav">.*?</details>', page, re.DOTALL)
    assert menu is not None
    for name in ("databases", "workloads", "clusters", "matrices"):
        assert f'href="{reverse(name)}"' in menu[0]


def test_it_marks_the_part_of_the_site_one_is_in(team, operator):
    world = make_world(team)
    page = operator.get(reverse("database-edit", args=[world.database.pk])).content.decode()
    assert f'<a href="{reverse("databases")}" aria-current="page">Databases</a>' in page
    assert page.count('aria-current="page"') == 2  # once in the bar and once in the folded menu


def test_it_shows_another_teams_rows_to_nobody_by_search(team, operator):
    make_matrix(team=make_team(), name="secret study")
    assert b"secret study" not in operator.get(reverse("matrices"), {"q": "secret"}).content
