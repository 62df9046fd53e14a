"""Open loads in plans: what is refused, what the specs say, and how clients share them."""

import json
from html import unescape
from typing import Any

import numpy as np
import pytest
from django.urls import reverse

from runs.models import Matrix
from runs.plans.forms.plan_fields import build_plan_fields
from runs.plans.plan_spec import PlanRequest
from runs.plans.profiles import PRESETS, ProfileError, find_overload, make_preset, parse_profile
from runs.results.denormalised_columns import config_key
from runs.results.measures.recovery import find_return_s
from runs.tests.factories import make_spec, make_sweep, make_team
from runs.tests.planning_world import a_matrix
from runs.tests.test_plan_files_over_rest import ROOT, program
from runs.tests.test_searches import submitted
from runs.ycsb.command import open_load_properties
from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import check_workload


def test_points_of_hours_stay_what_they_are_in_the_form():
    """A plan that is cloned writes its points into the field again."""
    field = build_plan_fields()["profile"]
    points = [[0.0, 12.5], [3600.0, 1500.0], [86_400.5, 100.0]]
    assert field.clean(field.prepare_value(points)) == points


@pytest.mark.parametrize("name", ["open.rate", "open.output"])
def test_workloads_cannot_set_what_a_plan_decides(name):
    with pytest.raises(PropertyError, match=name):
        check_workload({"recordcount": "1000", "readproportion": "1", "updateproportion": "0", name: "/tmp/file"})


@pytest.mark.django_db
def test_trials_of_a_search_are_offered_as_the_plan_says():
    """The first run of a search has no target, and the trials are copies of it."""
    sweep = submitted(make_team(), arrivals="poisson", patience_ms=2.0)
    runs = {run.phase: run for run in sweep.matrix.runs.all()}
    assert runs["measure"].target_ops_s is None
    assert runs["measure"].spec["load"]["open"] == {"arrivals": "poisson", "patience_ms": 2.0, "profile": []}
    assert "open" not in runs["load"].spec["load"]


def test_open_loads_never_stop_early():
    """An overload steps over the ceiling on purpose."""
    closed, overload = (PlanRequest(ladder="target", threads=8, **more) for more in ({}, {"arrivals": "poisson"}))
    assert (closed.columns["stops_early"], overload.columns["stops_early"]) == (True, False)


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets_are_profiles(name):
    text = "\n".join(f"{second}, {percent}" for second, percent in make_preset(name, 180))
    points, peak_ops_s = parse_profile(text)
    assert points == make_preset(name, 180)
    assert peak_ops_s is None


def test_recorded_rates_become_shares_of_their_peak():
    points, peak_ops_s = parse_profile("second,ops/s\n0,500\n60,2000\n120,1000\n")
    assert peak_ops_s == 2000
    assert points == [[0, 25], [60, 100], [120, 50]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0, 100\n60", "Line 2 of the profile, “60”, is no point"),
        ("0, -5", "Line 1 of the profile"),
        ("60, 100\n30, 50", "seconds ascend from 0"),
        ("0, 0", "is 0 % all the time"),
        ("0, 10001", "lies between 0 and 10,000 %"),
        ("second,ops/s\n0, 0", "0 all the time"),
        ("\n".join(f"{second}, 1" for second in range(10_001)), "10,001 points; at most 10,000"),
        ("1.2.3, 5", "Line 1"),
    ],
)
def test_bad_profiles_are_refused(text, message):
    with pytest.raises(ProfileError, match=message.replace("(", r"\(")):
        parse_profile(text)


def test_a_million_lines_are_refused_at_once():
    with pytest.raises(ProfileError, match="1,000,000 points"):
        parse_profile("0, 1\n" * 1_000_000)


def test_clients_share_rate_and_shift_and_have_their_own_seeds():
    clients = [
        open_load_properties(
            target_ops_s=1000, arrivals="constant", patience_ms=None, profile=[[0, 50], [60, 100]],
            client=number, clients=4, run="run",
        )
        for number in range(4)
    ]  # fmt: skip
    assert {client["open.rate"] for client in clients} == {"250.0"}
    assert [client["open.shift"] for client in clients] == ["0.0", "0.25", "0.5", "0.75"]
    assert len({client["open.seed"] for client in clients}) == 4
    assert clients[0]["open.patience_ms"] == "never"
    assert clients[0]["open.profile"] == "0:50,60:100"
    # A quarter of a second, in whole gaps of 4 ms.
    assert {client["open.begin_every_s"] for client in clients} == {"0.252"}


def test_overload_lies_between_quieter_parts():
    assert find_overload(make_preset("overload", 300)) == (pytest.approx(99.99), pytest.approx(200.01))
    assert find_overload(make_preset("ramp", 300)) is None
    assert find_overload([[0, 200], [10, 50]]) is None


def serve(*parts):
    """Seconds of (number, offered, done, p99 µs)."""
    rows = np.array([row for number, *row in parts for _ in range(number)], dtype=float)
    return np.arange(len(rows), dtype=float), rows[:, 1], rows[:, 0], rows[:, 2]


USUAL, OVER = (10, 1000, 1000, 500), (10, 2000, 1200, 90_000)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([(10, 1000, 1000, 500)], 0.0),
        ([(3, 1000, 1200, 90_000), (10, 1000, 1000, 500)], 3.0),
        ([(3, 1000, 1000, 1100), (10, 1000, 1000, 900)], 3.0),
        ([(10, 1000, 900, 500)], None),
        ([(4, 1000, 1000, 500)], None),  # five in a row are needed
    ],
)
def test_served_as_before_after_an_overload(after, expected):
    seconds, goodput, offered, p99 = serve(USUAL, OVER, *after)
    assert find_return_s(seconds, goodput, offered, p99, began_s=10, ended_s=20) == expected


@pytest.mark.django_db
def test_other_arrivals_are_another_test():
    closed = make_spec(make_sweep(), target_ops_s=1000)
    load = closed["load"]
    opened = {**closed, "load": {**load, "open": {"arrivals": "poisson", "patience_ms": 1.0, "profile": []}}}
    assert config_key(closed) != config_key(opened)


MILLION_LINES = "0, 1\n" * 1_000_000
# What the form says, and what programs are told.
BAD_LOADS = [
    ({"rungs": "900000"}, "is more than 2 clients can offer", "is more than 2 clients can offer"),
    ({"rungs": "2000", "profile": "0, 50\n60, 9000"}, "is more than 2 clients", "is more than 2 clients can offer"),
    (
        {"profile": "0, 100\n30, -5"},
        "Line 2 of the profile, “30, -5”, is no point",
        "point 2 of \u22125 %: it lies between 0",
    ),
    ({"profile": "0, 100\n30"}, "Line 2 of the profile, “30”, is no point", "point 2 "),
    ({"profile": "0, 100\n30, 20001"}, "it lies between 0 and 10,000 %", "it lies between 0 and 10,000 %"),
    ({"profile": MILLION_LINES}, "more than 2.5 MB", "send less at a time"),
    ({"threads": "0"}, "greater than or equal to 1", "from 1 to 100,000"),
    ({"patience_ms": "0"}, "It must be a number from 0.001 to 86,400,000", "from 0.001 to 86,400,000"),
    ({"patience_ms": "soon"}, "It must be a number such as 5, or never", "never"),
    ({"arrivals": "sometimes"}, "sometimes is not one of the available choices", "poisson"),
]


def write_points(text: str) -> list[list[float]]:
    return [[float(number) for number in line.split(",")] for line in text.splitlines()]


@pytest.mark.django_db
@pytest.mark.slow
@pytest.mark.parametrize(("changes", "in_form", "in_answer"), BAD_LOADS, ids=range(len(BAD_LOADS)))
def test_form_and_programs_refuse_bad_loads(team, user, client_in, changes, in_form, in_answer):
    matrix = a_matrix(team, overrides=[], exclusions=[], bracket=False)
    entry = matrix.entries.first()
    load = {"ladder": "target", "rungs": "100", "threads": "8", "arrivals": "poisson", **changes}
    sent = client_in.get(reverse("matrix-add"), {"from": matrix.pk}).context["form"].as_posted()
    sent = {**dict(sent.lists()), "entries": [f"{entry.database_id}:{entry.mode}"], **load, "submit": "1"}
    answer = client_in.post(reverse("matrix-add"), sent)
    assert answer.status_code in (400, 422) and in_form in unescape(answer.content.decode())
    as_json: dict[str, Any] = {**load, "rungs": [int(load["rungs"])], "threads": int(load["threads"])}
    if "profile" in load:
        as_json["profile"] = write_points(load["profile"])
    body = {
        "entries": [{"database": entry.database.name, "mode": entry.mode}],
        "workloads": [matrix.workloads.first().name], "measure_s": 60, **as_json,
    }  # fmt: skip
    answer = program(team, user).post(f"{ROOT}?dry_run=1", json.dumps(body), content_type="application/json")
    assert not answer.json().get("can_be_submitted")
    assert in_answer in answer.json().get("detail", "") + json.dumps(answer.json(), ensure_ascii=False)
    assert Matrix.objects.count() == 1


@pytest.mark.django_db
def test_builder_says_what_rungs_of_targets_are(client_in):
    page = client_in.get(reverse("matrix-add")).content.decode()
    assert "The rungs are operations per second now" in page
    assert "optional" not in page[page.index('for="id_threads"') :].split("</label>")[0]
