"""The page of a frozen report: what it says, from the snapshot alone."""

import pytest

from reports.frozen.links import link_of
from reports.tests.frozen import published
from runs.models import Matrix, Run, Sweep

pytestmark = pytest.mark.django_db


def test_it_is_read_without_an_account_when_no_run_is_left(team, client):
    report = published(team)
    token = link_of(report).token
    Run.objects.all().delete()
    Sweep.objects.all().delete()
    Matrix.objects.all().delete()
    answer = client.get(f"/r/{token}")
    assert answer.status_code == 200
    page = answer.content.decode()
    for said in ("What durability costs Redis", "sustains 1.3k ops/s", "revision 1 of 1", "not stated", "Figure 1"):
        assert said in page
    assert client.get(f"/r/{token}@1/figures/ceilings/").json()["figure"]["data"]
