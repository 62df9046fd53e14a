"""What the purpose of a run changes about its verdict, and what it never changes."""

from dataclasses import fields, replace

import pytest

from runs.checks import THRESHOLDS, OperationFacts, judge_run, profile
from runs.checks.default_thresholds import ORDERED, Threshold, _threshold, refusal, shown
from runs.checks.tests.test_checks import both, client, facts, severity
from runs.checks.tests.verdicts import worst

# A demo point at its worst: seconds long, one machine for everything, no CPU left, clients that hold each other up.
POOR = facts(
    window_s=8.3,
    window_asked_s=10.0,
    total_operations=4_000,
    ok_operations=4_000,
    operations=(OperationFacts("READ", ok=2_000), OperationFacts("UPDATE", ok=2_000)),
    rate_ops_s=[400.0, 100.0] * 5,
    client_on_database_host=True,
    overlap=0.8,
    clients=(
        client(0, busy_us=0.5 * 8 * 10e6, covered_s=10.0, init_s=40.0, cpu_percent=100.0, cores=2, machine="one"),
        client(
            1, busy_us=0.5 * 8 * 10e6, covered_s=10.0, started_s=1003.0, throughput_ops_s=300.0, cpu_percent=100.0,
            cores=2, machine="one",
        ),
    ),
)  # fmt: skip
WRONG = {
    "arithmetic": facts(clients=both(printed_throughput_ops_s=1.0)),
    "impossible": facts(clients=both(busy_us=2 * 8 * 300e6)),
    "errors": facts(failed_operations=100_000),
    "key space": facts(rows_loaded=7),
    "evidence": facts(missing=("client 1: it left no log",), clients=(client(0),)),
    "latencies": facts(operations=(OperationFacts("READ", ok=1, mean_us=5.0, min_us=6.0),)),
}


@pytest.mark.parametrize("purpose", ["demo", "smoke"])
def test_demo_is_not_rejected_for_length_or_shared_machine(purpose):
    results = judge_run(POOR, profile(purpose))
    assert [result.check_id for result in results if result.severity == "reject"] == []
    assert worst(results) == "warn"
    severities = {result.check_id: result.severity for result in results}
    assert (severities["V05"], severities["V24"], severities["V06"]) == ("info", "info", "info")


def test_the_same_run_is_rejected_when_it_claims_to_be_measured():
    rejected = {finding.check_id for finding in judge_run(POOR, profile("measured")) if finding.severity == "reject"}
    assert rejected == {"E01", "V01", "V03", "V05", "V06", "V14", "V15"}


@pytest.mark.parametrize("purpose", ["smoke", "demo", "tuning", "measured", "soak"])
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_rejected_under_every_purpose(purpose, wrong):
    assert worst(judge_run(WRONG[wrong], profile(purpose))) == "reject"


@pytest.mark.parametrize("purpose", ["smoke", "demo", "tuning"])
def test_lenient_purposes_only_warn_of_what_they_do_not_claim(purpose):
    for check_id in ("V03", "V05", "V06", "V14", "V24"):
        assert severity(check_id, POOR, profile(purpose)) in ("info", "warn"), check_id


def test_a_soak_wants_more_time():
    assert severity("V05", facts(window_s=200.0), profile("soak")) == "warn"
    assert severity("V05", facts(window_s=200.0), profile("measured")) == "pass"


def test_a_team_may_move_a_threshold_and_its_findings_say_so():
    strict = profile("measured", {"errors_warn": 0.0, "errors_reject": 0.00001})
    found = {finding.check_id: finding for finding in judge_run(facts(failed_operations=58), strict)}
    assert found["V07"].severity == "reject"
    assert found["V07"].threshold.endswith("(team threshold)")
    assert not any("team" in one.threshold for check_id, one in found.items() if check_id != "V07")


def test_a_team_cannot_make_a_demo_stricter_than_its_purpose():
    assert severity("V05", POOR, profile("demo", {"duration_warn_s": 1000.0})) == "info"


def test_thresholds_keep_their_order():
    thresholds = profile("measured")
    assert not refusal("setup_warn", 0.10, thresholds) and refusal("setup_warn", 0.11, thresholds)
    assert not refusal("setup_reject", 0.02, thresholds) and refusal("setup_reject", 0.01, thresholds)
    assert all(name in THRESHOLDS for pair in ORDERED for name in pair)


def test_every_number_of_the_profile_is_a_threshold_of_a_check():
    thresholds = profile("measured")
    numbers = {field.name for field in fields(thresholds) if isinstance(getattr(thresholds, field.name), float)}
    assert numbers == set(THRESHOLDS)
    assert (
        len({about.check_id for about in THRESHOLDS.values()}) == 27
    )  # E01, V01 to V23, V25, V30, V31, V36 and V40, but V19 and V20 know no number.


def test_there_is_no_other_threshold():
    with pytest.raises(ValueError, match="no threshold 'nonsense'"):
        profile("measured", {"nonsense": 1.0})


def test_an_unknown_purpose_is_no_profile():
    with pytest.raises(KeyError):
        profile("holiday")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("errors_warn", 0.001, "0.1 %"),
        ("operations_least", 100_000.0, "100,000"),
        ("latency_risen", 2.5, "2.5"),
        ("stall_s", 2.0, "2 s"),
        ("stall_rate_least", 10.0, "10 ops/s"),
        ("cpu_cache_mib", 64.0, "64 MiB"),
    ],
)
def test_shows_a_threshold_in_its_unit(name, value, expected):
    assert shown(name, value) == expected


def test_formats_thresholds_in_texts_of_limits():
    text = (
        "{errors_warn}, {duration_warn_s}, {operations_least}, {latency_risen}, {stall_rate_least}, {cpu_cache_mib}, "
        "{mix_points:points} points, {backlog_least_s:latency}, {resolution_warn_s:ms}"
    )
    fresh = replace(profile("measured"))  # A profile keeps the texts that it filled.
    assert fresh.filled(text).replace("\N{NARROW NO-BREAK SPACE}", " ") == (
        "0.1 %, 2 min, 100,000, 2, 10.0 ops/s, 64, 1 points, 100 ms, 1 ms"
    )


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("errors_warn", 0.0, ""),
        ("errors_reject", 1.0, ""),
        ("errors_reject", 1.01, "It lies between 0 % and 100 %."),
        ("little_reject_above", 1.0, ""),
        ("little_reject_above", 0.99, "It lies between 100 % and 200 %."),
        ("steady_least_s", 20.0, ""),
        ("steady_least_s", 19.0, "It lies between 20 s and 1,000,000,000 s."),
        ("percentile_shown", 50.0, ""),
        ("percentile_shown", 99.99, ""),
        ("percentile_shown", 99.991, "It lies between 50 and 99.99."),
        ("setup_warn", 0.11, "It would lie above 10 % (of the run time in set-up and clean-up rejects)."),
        ("duration_warn_s", 29.0, "It would lie below 30 s (a shorter window rejects)."),
    ],
)
def test_refuses_a_threshold_outside_its_limits(name, value, expected):
    assert refusal(name, value, profile("measured")) == expected


def test_a_threshold_knows_its_check_and_limits():
    assert THRESHOLDS["percentile_shown"] == Threshold(
        "percentile_shown", "V05", "factor", "is the percentile that must be supported", 50, 99.99
    )
    assert THRESHOLDS["stall_rate_least"] == Threshold(
        "stall_rate_least", "V13", "ops/s", "a slower run has empty seconds by chance", 1, 1e9
    )
    assert THRESHOLDS["stall_rate_least"].title == "Stalls"


def test_a_threshold_is_a_field_with_its_default():
    column = _threshold("V05", "s", 120.0, "a shorter window warns", 1.0, 60.0)
    assert column.default == 120.0
    assert column.metadata == {
        "check_id": "V05", "unit": "s", "says": "a shorter window warns", "least": 1.0, "most": 60.0,
    }  # fmt: skip
    assert {name: _threshold("V05", "s", 1.0, "").metadata[name] for name in ("least", "most")} == {
        "least": 0.0,
        "most": 1e9,
    }
