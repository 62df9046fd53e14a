"""Revisions: numbered, compressed, read back as they were, and never changed."""

import subprocess
import sys

import pytest
from django.db import DatabaseError, transaction

from reports.models import Report, ReportRevision
from reports.published import content as shape
from reports.published.content import canonical, digest
from reports.published.publication import ContentRefused, load_content, write_revision
from reports.tests.frozen import published

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def report(team, user):
    return published(team, user=user)


def test_it_is_read_back_as_it_was_written(report):
    revision = report.revisions.get()
    content = load_content(revision)
    assert content["title"] == report.title and digest(content) == revision.digest
    assert [figure["name"] for figure in content["figures"]][:2] == ["ceilings", "latency"]
    assert set(content["figures"][0]["drawn"]) == {"light", "dark", "light-narrow", "dark-narrow"}
    assert len(revision.content) < len(canonical(content)) / 5


def test_it_is_numbered_after_the_last_one(report, user):
    content = load_content(report.revisions.get())
    second = write_revision(report, {**content, "headline": "Something else."}, user)
    assert second.number == 2 and second.digest != report.revisions.get(number=1).digest


@pytest.mark.parametrize(
    "change", [{"content": b"other"}, {"digest": "0" * 64}, {"number": 7}, {"published_at": "2020-01-01T00:00:00Z"}]
)
def test_it_never_changes(report, change):
    with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
        ReportRevision.objects.update(**change)


def test_it_has_the_same_digest_in_another_process(report, tmp_path):
    revision = report.revisions.get()
    (tmp_path / "content.json").write_bytes(canonical(load_content(revision)))
    program = (
        "import json, sys; from reports.published.content import digest;"
        "print(digest(json.load(open(sys.argv[1], encoding='utf-8'))))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "content.json")]
    process = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"})
    assert process.stdout.strip() == revision.digest


def test_it_refuses_what_is_no_report_or_too_large(report, user, monkeypatch):
    content = load_content(report.revisions.get())
    with pytest.raises(ContentRefused, match="benchsite-report"):
        write_revision(report, {**content, "format": "something"}, user)
    monkeypatch.setattr("reports.published.publication.MAX_BYTES", 1000)
    with pytest.raises(ContentRefused, match="Leave figures or tables out"):
        write_revision(report, content, user)


def test_two_who_publish_at_once_get_two_numbers(race, transactional_db):
    from runs.tests.factories import make_team

    report = published(make_team())
    content = load_content(report.revisions.get())
    race(lambda: write_revision(Report.objects.get(), content, None), times=3)
    assert sorted(report.revisions.values_list("number", flat=True)) == [1, 2, 3, 4]


def test_it_says_which_version_of_the_shape_it_has(report):
    assert load_content(report.revisions.get())["version"] == shape.VERSION
