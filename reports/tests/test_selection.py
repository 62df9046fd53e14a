"""The address of a comparison: one state, one address; what cannot be read is a sentence, never an error."""

import datetime as dt
import uuid

import pytest
from django.http import QueryDict
from hypothesis import HealthCheck, given, settings, strategies as st

from reports.compare.analysis.comparability import VARIES
from reports.compare.selection import FACETS, NAMES, Selection, read

SWEEP = uuid.UUID("01a1fc46-58f0-777e-8fbe-44e9fd1efff7")


def state(query: str) -> Selection:
    return read(QueryDict(query))


def test_the_bare_address_is_the_defaults():
    assert state("") == Selection()
    assert Selection().query() == ""


def test_query_has_only_non_defaults_in_fixed_order():
    content = state("stat=p95&system=redis&op=update&system=postgresql&scale=auto&kind=&v=1&mode=")
    assert content.query() == "?v=1&system=postgresql&system=redis&op=UPDATE&stat=p95"
    assert content.problems == ()


def test_an_address_means_itself():
    full = Selection(
        matrix="all",
        systems=("redis",),
        modes=("always", "off"),
        workloads=("A & B",),
        purposes=("demo",),
        operation="READ",
        statistic="mean",
        kind="response",
        scale="loglog",
        highlight="Redis 7.0",
        classes=("the disk", "the server's memory (may lose any)"),
        clusters=("1 node",),
        versions=("7.0.15",),
        labels=("nightly",),
        sources=("scheduled", "uploaded"),
        phase="load",
        since=dt.date(2026, 1, 31),
        until=dt.date(2026, 11, 21),
        baseline=SWEEP,
        vary=("mode", "version"),
        load_ops_s=41_234.5,
        limit_us=2_500.0,
        anyway=True,
        published=("thumbtack-2013",),
    )
    assert state(full.query()[1:]) == full
    assert state(Selection(sweeps=(SWEEP,)).query()[1:]).sweeps == (SWEEP,)


@pytest.mark.parametrize(
    "query, said",
    [
        ("matrix=nonsense", "is no matrix"),
        ("sweep=1&sweep=x", "2 of the sweeps in the address are none"),
        ("stat=p42", "is none of mean, p50"),
        ("scale=%00", ""),
        ("kind=wall", "is none of service, response"),
        ("op=DROP TABLE", "is no operation"),
        ("v=9", "speaks version"),
        ("colour=red", "which means nothing here"),
        ("phase=lead", "phase=“lead” is none of load; it is left out."),
        ("baseline=the-first", "is no sweep that could be the baseline"),
        ("vary=colour", "is none of mode, database, nodes"),
        ("source=heaven", "is none of scheduled, uploaded"),
        ("load=many", "give ops/s as a number above 0"),
        ("load=nan", "give ops/s as a number above 0"),
        ("load=inf", "give ops/s as a number above 0"),
        ("load=-3", "give ops/s as a number above 0"),
        ("load=0", "give ops/s as a number above 0"),
        ("load=1e400", "give ops/s as a number above 0"),
        ("load=1,5", "with a point, like 1250.5"),
        ("within=-0.1", "give ms as a number above 0"),
        ("within=1e400", "give ms as a number above 0"),
        ("since=yesterday", "is no day; it is left out. Write it like 2026-11-21."),
        ("since=2026-02-30", "is no day"),
        ("until=0001-01-01", "is no day"),
        ("since=2026-02-02&until=2026-02-01", "until=2026-02-01 lies before since=2026-02-02"),
        ("anyway=yes", "anyway=“yes” is none of 1; it is left out."),
    ],
)
def test_what_cannot_be_read_is_said_and_left_out(query, said):
    content = state(query)
    assert content == Selection()
    assert said in " ".join(content.problems)


def test_too_many_sweeps_are_cut_with_a_sentence():
    content = state("&".join(f"sweep={uuid.UUID(int=number)}" for number in range(500)))
    assert len(content.sweeps) == 60 and "500 sweeps" in content.problems[0]


def test_a_value_is_taken_away():
    for name, column in FACETS.items():
        chosen = Selection(**{column: ("x", "y")})
        assert chosen.facet(name) == ("x", "y")
        assert chosen.without(name, "x").facet(name) == ("y",)
        assert chosen.without(name, "x").without(name, "y") == Selection()
    assert Selection(phase="load").without("phase", "load") == Selection()
    assert Selection(vary=("mode", "version")).without("vary", "mode").vary == ("version",)
    assert Selection(published=("a", "b")).without("published", "b").published == ("a",)


def test_axes_are_written_in_one_order():
    assert state("vary=version&vary=mode&vary=mode").query() == "?v=1&vary=mode&vary=version"
    assert state("&".join(f"vary={axis}" for axis in VARIES)).vary == VARIES


def test_the_latency_limit_stands_in_the_address_in_milliseconds():
    assert state("within=2").limit_us == 2000.0
    assert Selection(limit_us=1500.0).query() == "?v=1&within=1.5"


def test_pairs_leave_out_the_fields_of_the_form():
    held = Selection(systems=("redis",), load_ops_s=100.0, limit_us=2000.0)
    assert held.pairs() == [("system", "redis"), ("load", "100"), ("within", "2")]
    assert held.pairs(without=("load", "within")) == [("system", "redis")]


def test_what_only_a_drawing_needs_is_no_part_of_the_state():
    assert state("theme=dark&narrow=1&with=UPDATE&zoom=1") == Selection()
    assert state("theme=dark&narrow=1&with=UPDATE&zoom=1").problems == ()


WRITTEN = st.one_of(
    st.text(max_size=60),
    st.floats(allow_nan=True, allow_infinity=True).map(str),
    st.dates().map(str),
    st.uuids().map(str),
    st.sampled_from(["", "1", "load", "p50", "log", "response", "1e400", "-0", "NaN", "0x10", "1_000", "١٢", *VARIES]),
)


# A machine that benchmarks other things meanwhile is slow, and no less right.
@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*NAMES, "with", "other"]), st.lists(WRITTEN, max_size=4)))
def test_reading_never_fails_and_its_address_is_a_fixed_point(parameters):
    query = QueryDict(mutable=True)
    for name, values in parameters.items():
        query.setlist(name, values)
    content = read(query)
    again = state(content.query().removeprefix("?"))
    assert again == content and again.problems == () and again.query() == content.query()
