"""Badges and sparklines: words and a line for everybody who has the secret address, and nothing else."""

import xml.etree.ElementTree as ET

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from benchsite.accounts.models import Role
from reports.models import BadgeLink
from reports.tests.verdicts import commit_runs, make_test
from reports.trends.badges import (
    SIGNS,
    BadgeRefused,
    badge,
    make_badge,
    measure_width,
    revoke_badge,
    sparkline,
    verdict_badge,
)
from runs.tests.factories import make_user

pytestmark = pytest.mark.slow

UGLY = "<script>alert(1)</script>&\"'\x00\x1b{{ x }}\u202e\ud800"


def width(svg: str) -> float:
    return float(ET.fromstring(svg).attrib["width"])


@pytest.mark.parametrize("text", [UGLY, "", "x" * 500, "结果", "=cmd"])
def test_every_text_is_escaped_and_well_formed(text):
    for svg in (badge(text, text, "#000"), sparkline(text, [1.0, 2.0]), sparkline(text, [])):
        root = ET.fromstring(svg)
        assert "<script" not in svg and root.tag.endswith("svg")
        svg.encode()


def test_it_is_as_wide_as_its_texts():
    svg = badge("benchmark", "pass", "#000")
    assert width(svg) == pytest.approx(measure_width("benchmark") + measure_width("pass") + 24, abs=0.2)
    assert width(badge("benchmark", "inconclusive", "#000")) > width(svg)
    places = [
        (float(element.attrib["x"]), float(element.attrib["textLength"]))
        for element in ET.fromstring(svg).iter()
        if "textLength" in element.attrib
    ]
    assert all(x + length < width(svg) for x, length in places)


def test_a_verdict_is_a_word_and_a_sign():
    for verdict, sign in SIGNS.items():
        assert f"{sign} {verdict}" in verdict_badge("a", verdict)


def test_a_line_says_no_number():
    svg = sparkline("reads", [123456.0, 234567.0, 345678.0])
    assert "123" not in svg and "345678" not in svg and svg.count("polyline") == 1
    ET.fromstring(sparkline("flat", [5.0, 5.0])), ET.fromstring(sparkline("odd", [1.0, float("nan"), 2.0]))


@pytest.fixture
def link(team):
    cache.clear()
    sweep = make_test(team)
    commit_runs(sweep, "aaaa1111", 1000.0, days_ago=9)
    new = commit_runs(sweep, "cccc3333", 700.0, days_ago=1)
    return make_badge(team, make_user(team=team, role=Role.ADMIN), new[0], label="reads & writes")


@pytest.mark.django_db
def test_whoever_has_the_address_sees_the_verdict_and_no_more(link):
    response = Client().get(f"/api/v1/badges/{link.token}.svg")
    text = response.content.decode()
    assert response.status_code == 200 and response["Content-Type"] == "image/svg+xml"
    assert "▼ regression" in text and "reads &amp; writes" in text
    assert "redis" not in text.lower() and "cccc" not in text and "max-age" in response["Cache-Control"]
    again = Client().get(f"/api/v1/badges/{link.token}.svg", headers={"If-None-Match": response["ETag"]})
    assert again.status_code == 304 and not again.content and again["ETag"] == response["ETag"]
    line = Client().get(f"/api/v1/badges/{link.token}/history.svg")
    assert line.status_code == 200 and b"the last 10 points" in line.content


@pytest.mark.django_db
def test_revoked_badge_answers_410_and_unknown_badge_404(link, team):
    revoke_badge(link, make_user(team=team, role=Role.ADMIN))
    for address in (f"{link.token}.svg", f"{link.token}/history.svg"):
        assert Client().get(f"/api/v1/badges/{address}").status_code == 410
        assert Client().get(f"/api/v1/badges/{address.replace(link.token, 'nothing')}").status_code == 404
    kinds = list(team.audit.values_list("kind", flat=True))
    assert kinds[:2] == ["badge_revoked", "badge_made"]


@pytest.mark.django_db
@pytest.mark.parametrize("label", ["", "x" * 41, "a\x00b"])
def test_a_label_is_short_and_printable(team, label):
    run = commit_runs(make_test(team), "aaaa1111", 1000.0, days_ago=9, repeats=1)[0]
    with pytest.raises(BadgeRefused):
        make_badge(team, make_user(team=team), run, label=label)
    assert not BadgeLink.objects.filter(created_at__lte=timezone.now()).exists()
