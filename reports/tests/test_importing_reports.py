"""A report goes from one team to another: the same bytes, the same digest, and nothing that was altered."""

import copy
import hashlib
import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import DatabaseError, transaction

from benchsite.accounts.models import AuditEntry, Role
from conftest import signed_in
from reports.frozen.content import canonical
from reports.frozen.links import link_of
from reports.frozen.publication import content_of
from reports.frozen.report_import import ImportRefused, checked, import_report, stated_in
from reports.models import Report, ReportRevision
from reports.tests.snapshots import published
from runs.tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db
DIGEST = "0" * 64


@pytest.fixture
def other(db):
    return make_team(name="Elsewhere")


@pytest.fixture
def olga(other):
    return make_user(team=other, username="olga")


def sha(data):
    return hashlib.sha256(data).hexdigest()


def test_it_has_the_same_digest_in_another_team(team, other, olga, client):
    original = published(team)
    answer = client.get(f"/r/{link_of(original).token}.json")
    name = answer["Content-Disposition"].split('"')[1]
    imported = import_report(other, olga, answer.content, stated_in(name))
    assert imported.team == other and imported.access == Report.Access.PRIVATE
    assert imported.revisions.get().digest == original.revisions.get().digest
    again = signed_in(olga).get(f"/r/{link_of(imported).token}.json")
    assert again.content == answer.content
    assert AuditEntry.objects.filter(team=other, kind="report_imported", actor=olga).exists()


@pytest.mark.slow
def test_its_page_is_that_of_the_original(team, other, olga, client):
    original = published(team)
    data = canonical(content_of(original.revisions.get()))
    imported = import_report(other, olga, data, sha(data))
    pages = []
    for reader, report in ((client, original), (signed_in(olga), imported)):
        page = reader.get(f"/r/{link_of(report).token}").content.decode()
        pages.append(page[page.index("<main") : page.index('id="cite"')].replace(link_of(report).token, ""))
    assert pages[0] != pages[1]
    assert pages[0] == re.sub(r"<p class=\"note note--warn\"><strong>Imported report.*?</p>", "", pages[1], count=1)


RENDERINGS = (
    "", "@1", "/embed", ".html", ".csv", ".md", "/figures/ceilings/", "/figures/ceilings/?medium=slide",
    "/figures/ceilings.json", "/tables/points.json",
)  # fmt: skip


@pytest.mark.slow
def test_renderings_show_who_imported_a_report(team, other, olga, client):
    """The JSON must keep the digest, and tables of numbers have no place for a sentence: their names show it."""
    original = published(team)
    imported = import_report(
        other, olga, canonical(content_of(original.revisions.get())), original.revisions.get().digest
    )
    Report.objects.filter(pk=imported.pk).update(access=Report.Access.PUBLIC)
    own, foreign = (f"/r/{link_of(report).token}" for report in (original, imported))
    sentence = f"Imported by Elsewhere on {imported.revisions.get().imported_at:%Y-%m-%d}."
    for rendering in RENDERINGS:
        assert sentence in client.get(foreign + rendering).content.decode(), rendering
        assert "Imported by" not in client.get(own + rendering).content.decode(), rendering
    for export in (".json", ".html", ".csv", ".md", "/tables/points.csv", "/figures/ceilings.tex"):
        assert 'filename="imported-' in client.get(foreign + export)["Content-Disposition"], export
        assert 'filename="imported-' not in client.get(own + export)["Content-Disposition"], export
    assert "imported by <bdi>Elsewhere" in client.get(f"/public/{other.slug}/").content.decode()
    assert "imported by olga" in signed_in(olga).get(f"/reports/{imported.pk}/").content.decode()


def test_a_revision_keeps_who_imported_it(team, other, olga):
    original = published(team).revisions.get()
    imported = import_report(other, olga, canonical(content_of(original)), original.digest).revisions.get()
    with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
        ReportRevision.objects.filter(pk=imported.pk).update(imported_at=None, imported_by="")


def test_large_harmless_numbers_are_shown(team, other, olga):
    """The largest numbers that an import takes have a place in every rendering."""
    content = content_of(published(team).revisions.get())
    content["tables"][0]["table"]["rows"][0] = [int(1e18), -1e18, *content["tables"][0]["table"]["rows"][0][2:]]
    content["verdicts"][0] |= {"ratio": int(1e18), "low": -1e18, "high": 5e-324}
    content["figures"][0]["drawn"]["light"]["layout"]["margin"]["l"] = int(1e18)
    data = canonical(content)
    url = f"/r/{link_of(import_report(other, olga, data, sha(data))).token}"
    for rendering in RENDERINGS:
        assert signed_in(olga).get(url + rendering).status_code == 200, rendering


@pytest.mark.parametrize(
    "alter",
    [
        lambda text: text.replace("1.3k", "9.3k", 1),
        lambda text: text.replace('"version":1', '"version":2', 1),
        lambda text: json.dumps(json.loads(text), indent=2),
        lambda text: text + "\n",
        lambda text: text[:-1],
    ],
    ids=["a number", "the version", "written anew", "a line", "cut"],
)
def test_what_was_altered_is_refused(team, other, olga, alter):
    data = canonical(content_of(published(team).revisions.get()))
    altered = alter(data.decode()).encode()
    assert altered != data
    with pytest.raises(ImportRefused, match="altered"):
        import_report(other, olga, altered, sha(data)[:16])
    assert not Report.objects.filter(team=other).exists()


def test_a_digest_must_be_stated_and_long_enough(team):
    data = canonical(content_of(published(team).revisions.get()))
    for stated in ("", "abc", sha(data)[:11], "zz" * 32, sha(data) + "0"):
        with pytest.raises(ImportRefused, match="State the report's SHA-256"):
            checked(data, stated)
    assert checked(data, f"  {sha(data).upper()} ")


HOSTILE = {
    "no JSON": b"hello",
    "not UTF-8": b"\xff\xfe{}",
    "no object": b"[]",
    "another format": b'{"format":"other"}',
    "a later version": b'{"format":"benchsite-report","version":99}',
    "nothing in it": b'{"format":"benchsite-report","version":1}',
    "NaN": b'{"format":NaN}',
    "nested": b"[" * 100_000 + b"]" * 100_000,
    "a huge number": b'{"format":' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_report_is_refused_in_words(data):
    with pytest.raises(ImportRefused, match="This is no"):
        checked(data, sha(data))


def wrong(content, where, value):
    changed = copy.deepcopy(content)
    target = changed
    for step in where[:-1]:
        target = target[step]
    if value is None:
        del target[where[-1]]
    else:
        target[where[-1]] = value
    return changed


MISTAKES: dict[str, tuple[tuple[Any, ...], Any]] = {
    "missing": (("method",), None),
    "too many": (("extra",), 1),
    "a number for a text": (("title",), 5),
    "an empty title": (("title",), " "),
    "a text for a list": (("figures",), "x"),
    "a path for a name": (("figures", 0, "name"), "../../x"),
    "a name twice": (("tables", 0, "name"), "ceilings"),
    "a yes for a number": (("figures", 0, "height_px"), True),
    "as high as the moon": (("figures", 0, "height_px"), 10**9),
    "no drawing": (("figures", 0, "drawn", "light"), {"data": 1, "layout": []}),
    "another drawing": (("figures", 0, "drawn", "purple"), {"data": [], "layout": {}}),
    "a short row": (("tables", 0, "table", "rows", 0), ["x"]),
    "an object in a cell": (("tables", 0, "table", "rows", 0, 0), {"a": 1}),
    "a NUL": (("headline",), "a\0b"),
    "a NUL far inside": (("figures", 0, "drawn", "light", "layout"), {"title": {"text": ["\0"]}}),
    "a footnote without a text": (("tables", 0, "footnotes"), [{"row": 1, "column": 1}]),
    "no moment": (("published_at",), "yesterday"),
    "the first day of the calendar": (("published_at",), "0001-01-01T00:00:00+14:00"),
    "the last day of the calendar": (("published_at",), "9999-12-31T23:59:59-12:00"),
    "an unknown trace": (("figures", 0, "drawn", "light", "data", 0, "type"), "choropleth"),
    "a list for a trace's type": (("figures", 0, "drawn", "dark", "data", 0, "type"), ["bar"]),
    "a number beyond floats in a cell": (("tables", 0, "table", "rows", 0, 3), 10**400),
    "a number beyond floats in a layout": (("figures", 0, "drawn", "light", "layout", "margin"), {"l": 10**400}),
    "a number beyond floats in a verdict": (("verdicts", 0, "ratio"), 10**400),
    "a float at its end": (("verdicts", 0, "low"), 1e308),
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_has_another_shape_is_refused_in_words(team, other, olga, mistake):
    content = wrong(content_of(published(team).revisions.get()), *MISTAKES[mistake])
    data = canonical(content)
    with pytest.raises(ImportRefused, match="This is no exported report: "):
        import_report(other, olga, data, sha(data))
    assert not Report.objects.filter(team=other).exists()


def test_a_lone_surrogate_is_refused(team):
    data = canonical(content_of(published(team).revisions.get())).replace(b"sustains 1.3k", b"sustains \\ud800")
    with pytest.raises(ImportRefused):
        checked(data, sha(data))


def send(client, data, name="report.json", **fields):
    return client.post("/reports/import/", {"file": SimpleUploadedFile(name, data), **fields})


def test_the_page_takes_the_file_as_it_was_exported(team, other, olga, client):
    answer = client.get(f"/r/{link_of(published(team)).token}.json")
    name = answer["Content-Disposition"].split('"')[1]
    browser = signed_in(olga)
    assert "Import a report" in browser.get("/reports/import/").content.decode()
    assert send(browser, answer.content, name.replace(".json", " (1).json")).status_code == 302
    assert Report.objects.filter(team=other).count() == 1


def test_the_page_says_what_is_wrong(other, olga):
    browser = signed_in(olga)
    for data, fields, said in (
        (b"{}", {}, "State the report"),
        (b"{}", {"digest": DIGEST}, "was altered"),
    ):
        answer = send(browser, data, **fields)
        assert answer.status_code == 422 and said in answer.content.decode()
    assert browser.post("/reports/import/").status_code == 422


def test_only_who_may_make_reports_imports_them(team, client):
    viewer = signed_in(make_user(team=team, role=Role.VIEWER, username="viola"))
    assert send(viewer, b"{}").status_code == 403
    assert send(client, b"{}").status_code == 302


def test_the_form_is_protected_against_forgery(olga):
    from django.test import Client

    browser = Client(enforce_csrf_checks=True)
    browser.force_login(olga)
    assert send(browser, b"{}").status_code == 403
