"""The builds of one plan against each other: by blocks, by test, and what is said where something is missing."""

import random

import pytest
from django.test import Client
from django.urls import reverse

from reports.tests.verdicts import headers
from runs.models import Matrix, Run
from runs.tests.factories import (
    make_database,
    make_matrix,
    make_run,
    make_spec,
    make_sweep,
    make_team,
    make_user,
    make_workload,
)
from runs.tests.pages import get_text
from runs.tests.test_own_builds_in_plans import BASE, THIS, build

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
MAIN = build("main", folder="/srv/main", commit="ffff0000", branch="main")
# What every repeat of all builds shares: a noisy machine, whose blocks differ by 10 %.
SHARED = (1.0, 0.9, 1.1, 0.95, 1.05)


def measure(matrix, levels, *, threads=8, repeats=5, **fields):
    """A run of each build in each block, at these levels (ops/s)."""
    dice = random.Random(7)
    entry = matrix.entries.first()
    for each in matrix.builds:
        sweep = make_sweep(
            team=matrix.team, matrix=matrix, database=entry.database, mode=entry.mode,
            workload=matrix.workloads.first(), name=f"redis {each['name']} {entry.mode} A",
        )  # fmt: skip
        for repeat in range(1, repeats + 1):
            spec = {**make_spec(sweep, threads=threads), "build": each}
            make_run(
                sweep, spec=spec, threads=threads, repeat=repeat, commit=each["commit"], branch=each["branch"],
                throughput=levels[each["name"]] * SHARED[repeat - 1] * dice.gauss(1, 0.004),
                evidence={"build": {**each, "digest": each["name"] * 8}, "server_version": "8.0"}, **fields,
            )  # fmt: skip


@pytest.fixture
def matrix(team):
    return make_matrix(
        team=team, entries=[(make_database(team=team), "always")], workloads=[make_workload(team=team)],
        builds=[THIS, BASE, MAIN], repeats=5, order="interleaved",
    )  # fmt: skip


def judge(matrix, user, **query):
    address = f"/api/v1/matrices/{matrix.pk}/verdict"
    return Client().get(address, query, **headers(matrix.team, user, "matrices:run"))


def test_loss_is_seen_through_the_noise_that_blocks_share(matrix, user):
    measure(matrix, {"this": 900.0, "base": 1000.0, "main": 1000.0})

    answer = judge(matrix, user).json()

    assert (answer["verdict"], answer["pending"]) == ("regression", False)
    assert [(each["new"], each["base"], each["verdict"]) for each in answer["comparisons"]] == [
        ("this", "base", "regression"), ("this", "main", "regression"), ("main", "base", "pass")
    ]  # fmt: skip
    metric = answer["comparisons"][0]["tests"][0]["metrics"][0]
    assert metric["ratio"] == pytest.approx(0.9, rel=0.01) and metric["low"] < metric["ratio"] < metric["high"] < 1
    assert (metric["new_sessions"], metric["new"]) == (5, pytest.approx(900, rel=0.03))
    assert "5 blocks against 5" in metric["reason"]
    named = {each["name"]: (each["commit"], each["digest"], each["counted"]) for each in answer["builds"]}
    assert named["this"] == ("abcd1234", "this" * 8, 5)


def test_repeats_as_listed_share_no_block(matrix, user):
    measure(matrix, {"this": 900.0, "base": 1000.0, "main": 1000.0})
    Matrix.objects.update(order="as_listed")

    answer = judge(matrix, user).json()

    assert answer["verdict"] == "inconclusive"
    assert "runs against" in answer["comparisons"][0]["tests"][0]["metrics"][0]["reason"]


def test_every_test_is_judged_and_shares_the_error(matrix, user):
    measure(matrix, {"this": 1000.0, "base": 1000.0, "main": 1000.0})
    measure(matrix, {"this": 800.0, "base": 1000.0, "main": 1000.0}, threads=16)

    (first, *_) = judge(matrix, user).json()["comparisons"]

    assert [test["verdict"] for test in first["tests"]] == ["pass", "regression"] and first["verdict"] == "regression"
    assert {test["tests"] for test in first["tests"]} == {2}


def test_builds_that_were_not_measured_are_an_error(matrix, user):
    assert judge(matrix, user).json()["verdict"] == "error"
    measure(matrix, {"this": 1000.0, "base": 1000.0, "main": 1000.0}, excluded_reason="noise")
    assert judge(matrix, user).json()["verdict"] == "error"


def test_queries_do_not_grow_with_runs(matrix, user, django_assert_max_num_queries):
    measure(matrix, {"this": 1000.0, "base": 1000.0, "main": 1000.0})
    with django_assert_max_num_queries(50):
        judge(matrix, user)


def test_names_choose_the_sides(matrix, user, team):
    measure(matrix, {"this": 900.0, "base": 1000.0, "main": 1000.0})

    chosen = judge(matrix, user, new="base", base="this").json()
    assert chosen["verdict"] == "improvement"
    unknown = judge(matrix, user, new="nobody")
    assert unknown.status_code == 404 and "this, base, main" in unknown.json()["detail"]
    Matrix.objects.update(builds=[THIS])
    assert judge(matrix, user).status_code == 404
    other = make_team(name="Other")
    foreign = Client().get(
        f"/api/v1/matrices/{matrix.pk}/verdict", **headers(other, make_user(team=other, username="o"), "matrices:run")
    )
    assert foreign.status_code == 404


def test_page_shows_builds_and_links_from_the_plan(matrix, client_in):
    measure(matrix, {"this": 900.0, "base": 1000.0, "main": 1000.0})
    address = reverse("matrix-builds", args=[matrix.pk])

    assert f'href="{address}"' in client_in.get(reverse("matrix", args=[matrix.pk])).content.decode()
    text = get_text(client_in.get(address))
    assert "this against base" in text and "abcd1234" in text and "5 blocks against 5" in text
    Matrix.objects.update(builds=[])
    assert client_in.get(address).status_code == 404
    assert Run.objects.count() == 15
