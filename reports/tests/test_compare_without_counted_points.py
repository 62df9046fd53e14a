"""A side none of whose points counts says so on Compare, why, and what mends it."""

import pytest
from django.urls import reverse

from runs.tests.factories import make_matrix, make_run, make_sweep

pytestmark = pytest.mark.django_db
FINDING = {"check_id": "V25", "severity": "reject", "title": "Interference", "message": "Others used 1 of 2 cores."}


@pytest.fixture
def side(team):
    """A sweep whose two points a check rejects."""
    sweep = make_sweep(matrix=make_matrix(team=team, purpose="demo"))
    for threads in (4, 8):
        make_run(sweep, threads=threads, throughput=1000.0 * threads, verdict="reject", findings=[FINDING])
    return sweep


def test_side_without_counted_points_states_the_reason(client_in, side):
    address = f"{reverse('compare')}?v=1&matrix={side.matrix_id}"
    page = client_in.get(address).content.decode()

    assert "no point counts" in page and "Others used 1 of 2 cores." in page
    mended = f"{reverse('matrix', args=[side.matrix_id])}#rejections"
    assert mended in page and reverse("matrix-accept", args=[side.matrix_id]) in page

    make_run(side, threads=16, throughput=20_000.0)
    page = client_in.get(address).content.decode()
    assert mended not in page


def test_points_are_accepted_from_compare(client_in, side):
    client_in.post(reverse("matrix-accept", args=[side.matrix_id]), {"reason": "only its shape matters"})
    page = client_in.get(f"{reverse('compare')}?v=1&matrix={side.matrix_id}").content.decode()
    assert "no point counts" not in page
    assert side.runs.exclude(verdict_override="only its shape matters").count() == 0


def test_ceilings_figure_shows_what_was_measured(client_in, side):
    make_run(make_sweep(matrix=side.matrix), threads=4, throughput=100.0)
    figure = client_in.get(reverse("figure-ceilings") + f"?v=1&matrix={side.matrix_id}").json()["figure"]

    assert [bar["x"] for bar in figure["data"]] == [[100.0], [8000.0]]
    assert [bar["marker"]["color"] == "rgba(0,0,0,0)" for bar in figure["data"]] == [False, True]


@pytest.fixture
def mocked(team):
    """A sweep of two points, measured of a server that is not the product."""
    sweep = make_sweep(matrix=make_matrix(team=team, purpose="demo"))
    stated = {"stand_in": "vendor mock", "excluded_reason": "no product"}
    for threads in (4, 8):
        make_run(sweep, threads=threads, throughput=1000.0 * threads, **stated)
    return sweep


@pytest.mark.parametrize("name", ["compare", "matrix"])
def test_pages_say_that_a_stand_in_is_not_the_product(client_in, mocked, name):
    address = reverse("matrix", args=[mocked.matrix_id])
    if name == "compare":
        address = f"{reverse('compare')}?v=1&matrix={mocked.matrix_id}"
    page = " ".join(client_in.get(address).content.decode().split())

    words = {"compare": "Its server is a vendor mock and not the product.", "matrix": "Not the product: vendor mock."}
    assert words[name] in page
    assert "Measure them again" not in page and "left out by people" not in page


def test_points_of_a_stand_in_are_hollow_and_no_bar(client_in, mocked):
    query = f"?v=1&matrix={mocked.matrix_id}"
    ladder = client_in.get(reverse("figure-matrix", args=[mocked.matrix_id])).json()
    hollow = [trace for trace in ladder["figure"]["data"] if trace["y"] == [4000.0, 8000.0]]
    assert [trace["marker"]["symbol"].endswith("-open") for trace in hollow] == [True]
    assert "not the product: a stand-in" in hollow[0]["text"][0]
    assert "2 runs against a vendor mock" in ladder["caption"]

    ceilings = client_in.get(reverse("figure-ceilings") + query).json()
    assert "not the product: a stand-in" in str(ceilings["figure"])
    assert [bar["x"] for bar in ceilings["figure"]["data"] if any(bar["x"])] == []
    latency = client_in.get(reverse("figure-latency") + query).json()
    assert "not the product: a stand-in" in str(latency["figure"]["data"])
