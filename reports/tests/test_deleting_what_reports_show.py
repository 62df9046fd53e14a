"""Deleting a matrix of which a report is made: the page names the report, and what is published stays as it is."""

import pytest
from django.test import Client

from benchsite.accounts.models import Role
from conftest import signed_in
from reports.models import Report
from reports.tests.frozen import measured_matrix, published
from runs.models import Matrix
from runs.tests.factories import make_user
from runs.tests.pages import artifact_folder, get_text

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_a_published_report_outlives_its_matrix(team, user, artifact_folder):
    matrix = measured_matrix(team)
    report = published(team, user=user, matrix=matrix)
    Report.objects.filter(pk=report.pk).update(draft={"query": f"v=1&matrix={matrix.pk}"})
    token = report.links.get().token
    admin = signed_in(make_user(team=team, role=Role.ADMIN, username="grace"))
    before = Client().get(f"/r/{token}").content
    page = get_text(admin.get(f"/matrices/{matrix.pk}/delete/"))
    assert "It is shown by" in page
    assert report.title in page
    admin.post(f"/matrices/{matrix.pk}/delete/")
    assert not Matrix.objects.exists()
    assert Report.objects.exists()
    assert Client().get(f"/r/{token}").content == before
