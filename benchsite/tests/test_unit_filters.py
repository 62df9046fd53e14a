"""The filters that pages use for numbers, instants and states."""

import datetime as dt

import pytest
from django.template import Context, Template

from benchsite.templatetags import units


def render(text, **context):
    return Template("{% load units %}" + text).render(Context(context))


def test_it_keeps_the_full_value_for_a_look_on_hover():
    html = render("{{ value|ops }}", value=41_237.5)
    assert "41.2k" in html
    assert 'title="41,237.500 ops/s"' in html


@pytest.mark.parametrize("name", ["ops", "short", "latency", "bytes", "duration", "percent", "signed_percent"])
@pytest.mark.parametrize("value", [None, "", "no number", float("nan"), True])
def test_it_shows_a_dash_for_what_is_no_number(name, value):
    assert "\N{EN DASH}" in render(f"{{{{ value|{name} }}}}", value=value)


def test_it_takes_a_length_of_time():
    assert "1\N{NARROW NO-BREAK SPACE}min" in render("{{ value|duration }}", value=dt.timedelta(seconds=60))


@pytest.mark.parametrize(
    ("change", "better", "tone", "arrow"),
    [(0.1, "higher", "better", "▲"), (0.1, "lower", "worse", "▲"), (-0.1, "lower", "better", "▼"), (0.1, "", "", "▲")],
)
def test_it_says_better_and_worse_by_arrow_and_colour(change, better, tone, arrow):
    html = units.signed_percent(change, better)
    assert arrow in html
    assert f'class="nowrap {tone}"' in html


def test_it_escapes_a_state_it_does_not_know():
    assert "<b>" not in units.status_badge("<b>")
    assert "badge--none" in units.status_badge("<b>")
    assert "not judged" in units.verdict_badge("<b>")


def test_it_gives_every_status_its_word_and_its_shape():
    from runs.models.run import Status

    for status in Status:
        assert f"badge--{status.value}" in units.status_badge(status.value)
        assert status.value in units.status_badge(status.value)


def test_it_writes_instants_in_utc_for_the_script_to_turn():
    zone = dt.timezone(dt.timedelta(hours=2))
    html = units.moment(dt.datetime(2026, 1, 2, 1, 30, tzinfo=zone))
    assert 'datetime="2026-01-01T23:30:00+00:00"' in html
    assert "1 Jan 2026 23:30 UTC" in html


def test_it_marks_code_and_escapes_the_rest():
    html = units.backticks("set `fsync` to <on> and `x")
    assert "<code>fsync</code>" in html
    assert "&lt;on&gt;" in html
    assert html.count("<code>") == 1
