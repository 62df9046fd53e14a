"""A page of a team is kept by nobody on the way, and its links' tokens are in no log."""

import pytest
from django.urls import reverse

from benchsite.core.logs import mask

pytestmark = pytest.mark.slow

TOKEN = "34IE6X9yxxoCXBU9kMV9Rw"


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["home", "runs", "reports", "databases", "matrices"])
def test_pages_of_a_team_are_for_whoever_asked(client_in, page):
    assert client_in.get(reverse(page)).headers["Cache-Control"] == "private, no-cache"


@pytest.mark.django_db
def test_page_of_members_is_not_stored_for_its_new_link(client_in):
    assert "no-store" in client_in.get(reverse("members")).headers["Cache-Control"]


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/runs.csv", "/runs.json", "/api/v1/runs", "/nothing/"])
def test_so_are_files_answers_to_programs_and_refusals(client_in, path):
    assert client_in.get(path).headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    "path",
    [
        f"/r/{TOKEN}",
        f"/r/{TOKEN}@2",
        f"/r/{TOKEN}.json",
        f"/r/{TOKEN}@2/figures/ceilings/",
        f"/api/v1/badges/reports/{TOKEN}.svg",
        f"/api/v1/badges/{TOKEN}/history.svg",
    ],
)
def test_tokens_of_reports_and_badges_are_masked_in_logs(path):
    masked = mask(f"Gone: {path}")
    assert TOKEN not in masked
    assert masked.endswith(path.partition(TOKEN)[2])


@pytest.mark.parametrize("path", ["/reports/", "/runs/", "/public/team/"])
def test_other_addresses_stay_readable_in_logs(path):
    assert mask(path) == path
