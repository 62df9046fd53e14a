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
    assert mended in page

    make_run(side, threads=16, throughput=20_000.0)
    page = client_in.get(address).content.decode()
    assert mended not in page


def test_ceilings_figure_shows_what_was_measured(client_in, side):
    make_run(make_sweep(matrix=side.matrix), threads=4, throughput=100.0)
    figure = client_in.get(reverse("figure-ceilings") + f"?v=1&matrix={side.matrix_id}").json()["figure"]

    assert [bar["x"] for bar in figure["data"]] == [[100.0], [8000.0]]
    assert [bar["marker"]["color"] == "rgba(0,0,0,0)" for bar in figure["data"]] == [False, True]
