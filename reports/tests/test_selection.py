"""The address of a comparison: one state, one address; what cannot be read is a sentence, never an error."""

import uuid

import pytest
from django.http import QueryDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reports.selection import NAMES, Selection, read

SWEEP = uuid.UUID("01a1fc46-58f0-777e-8fbe-44e9fd1efff7")


def state(query: str) -> Selection:
    return read(QueryDict(query))


def test_the_bare_address_is_the_defaults():
    assert state("") == Selection()
    assert Selection().query() == ""


def test_only_what_differs_from_the_defaults_is_written_in_one_order():
    asked = state("stat=p95&system=redis&op=update&system=postgresql&scale=auto&kind=service&v=1&mode=")
    assert asked.query() == "?v=1&system=postgresql&system=redis&op=UPDATE&stat=p95"
    assert asked.problems == ()


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
    ],
)
def test_what_cannot_be_read_is_said_and_left_out(query, said):
    found = state(query)
    assert found == Selection()
    assert said in " ".join(found.problems)


def test_too_many_sweeps_are_cut_with_a_sentence():
    found = state("&".join(f"sweep={uuid.UUID(int=number)}" for number in range(500)))
    assert len(found.sweeps) == 60 and "500 sweeps" in found.problems[0]


def test_a_value_is_toggled_in_and_out():
    one = Selection().toggled("system", "redis")
    assert one.systems == ("redis",) and one.toggled("system", "redis") == Selection()
    for name in ("mode", "workload", "purpose"):
        assert Selection().toggled(name, "x").facet(name) == ("x",)


# A machine that benchmarks other things meanwhile is slow, and no less right.
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*NAMES, "other"]), st.lists(st.text(max_size=60), max_size=4)))
def test_reading_never_fails_and_its_address_is_a_fixed_point(parameters):
    query = QueryDict(mutable=True)
    for name, values in parameters.items():
        query.setlist(name, values)
    found = read(query)
    again = state(found.query().removeprefix("?"))
    assert again == found and again.problems == () and again.query() == found.query()
