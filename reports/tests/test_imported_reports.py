"""Reports that earlier versions imported from other sites: each rendering shows who imported them."""

import re

import pytest
from django.db import DatabaseError, transaction

from conftest import signed_in
from reports.models import Report, ReportRevision
from reports.published.links import find_link
from reports.published.publication import load_content, write_revision
from reports.tests.snapshots import imported, published
from runs.tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(db):
    return make_team(name="Elsewhere")


@pytest.fixture
def olga(other):
    return make_user(team=other, username="olga")


@pytest.mark.slow
def test_its_page_is_that_of_the_original(team, other, olga, client):
    original = published(team)
    foreign = imported(other, olga, original.revisions.get())

    pages = []
    for reader, report in ((client, original), (signed_in(olga), foreign)):
        page = reader.get(f"/r/{find_link(report).token}").content.decode()
        pages.append(page[page.index("<main") : page.index('id="cite"')].replace(find_link(report).token, ""))

    assert pages[0] != pages[1]
    assert pages[0] == re.sub(r"<p class=\"note note--warn\"><strong>Imported report.*?</p>", "", pages[1], count=1)


RENDERINGS = (
    "", "@1", "/embed", ".html", ".zip", ".md", "/figures/ceilings/", "/figures/ceilings/?medium=slide",
    "/figures/ceilings.json", "/tables/points.json",
)  # fmt: skip


@pytest.mark.slow
def test_renderings_show_who_imported_a_report(team, other, olga, client):
    """The JSON must keep the digest, and tables of numbers have no place for a sentence: their names show it."""
    original = published(team)
    copy = imported(other, olga, original.revisions.get())
    Report.objects.filter(pk=copy.pk).update(access=Report.Access.PUBLIC)
    own, foreign = (f"/r/{find_link(report).token}" for report in (original, copy))
    sentence = f"Imported by Elsewhere on {copy.revisions.get().imported_at:%Y-%m-%d}."

    for rendering in RENDERINGS:
        assert sentence in client.get(foreign + rendering).content.decode(errors="replace"), rendering
        assert "Imported by" not in client.get(own + rendering).content.decode(errors="replace"), rendering
    for export in (".json", ".html", ".zip", ".md", "/tables/points.csv", "/figures/ceilings.tex"):
        assert 'filename="imported-' in client.get(foreign + export)["Content-Disposition"], export
        assert 'filename="imported-' not in client.get(own + export)["Content-Disposition"], export
    assert "imported by <bdi>Elsewhere" in client.get(f"/public/{other.slug}/").content.decode()
    assert "imported by olga" in signed_in(olga).get(f"/reports/{copy.pk}/").content.decode()


def test_a_revision_keeps_who_imported_it(team, other, olga):
    original = published(team).revisions.get()
    revision = imported(other, olga, original).revisions.get()

    with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
        ReportRevision.objects.filter(pk=revision.pk).update(imported_at=None, imported_by="")


def test_large_harmless_numbers_are_shown(team, other, olga):
    """Numbers at the end of what an import took have a place in every rendering."""
    original = published(team)
    content = load_content(original.revisions.get())
    content["tables"][0]["table"]["rows"][0] = [int(1e18), -1e18, *content["tables"][0]["table"]["rows"][0][2:]]
    content["verdicts"][0] |= {"ratio": int(1e18), "low": -1e18, "high": 5e-324}
    content["figures"][0]["drawn"]["light"]["layout"]["margin"]["l"] = int(1e18)
    copy = imported(other, olga, write_revision(original, content, None))

    url = f"/r/{find_link(copy).token}"
    for rendering in RENDERINGS:
        assert signed_in(olga).get(url + rendering).status_code == 200, rendering
