"""Checks as objects: how they are registered, what their findings take from them, and severities together."""

import pytest

from runs.checks import CheckResult, compute_verdict, profile
from runs.checks.check import RUN_CHECKS, Check, Outcome, check, sentence
from runs.checks.results import at_most, find_worst, graded

MEASURED = profile("measured")


def test_registers_checks_in_the_order_of_their_ids():
    checks: list[Check] = []
    known = list(RUN_CHECKS)

    def later(facts, profile):
        return None

    def earlier(facts, profile):
        return None

    assert check("V97", "Later", "none", among=checks)(later) is later
    assert check("V96", "Earlier", "few", among=checks, loads=True, untrusted=True)(earlier) is earlier
    assert checks == [
        Check("V96", "Earlier", "few", earlier, True, True),
        Check("V97", "Later", "none", later, False, False),
    ]
    assert known == RUN_CHECKS


def test_a_finding_has_everything_of_its_outcome():
    outcome = Outcome("warn", "m" * 121, "It differs.", "Repeat it.", (("hardware", "It differs."),))
    entry = Check("V05", "Duration", "above {errors_warn}", lambda facts, profile: outcome)
    assert entry.result(None, profile=MEASURED) == CheckResult(
        "V05", "warn", "Duration", "m" * 120, "above 0.1\N{NARROW NO-BREAK SPACE}%", "It differs.", "Repeat it.",
        (("hardware", "It differs."),),
    )  # fmt: skip
    # The purpose makes it milder, and an outcome's own limits replace those of the check.
    outcome = Outcome("warn", "5 s", "It is short.", limits="{stall_rate_least}")
    finding = entry.result(None, profile=profile("demo"))
    assert finding == CheckResult(
        "V05", "info", "Duration", "5 s", "10.0\N{NARROW NO-BREAK SPACE}ops/s", "It is short."
    )


def test_limits_can_depend_on_the_facts():
    entry = Check("V99", "Sum", lambda a, b, profile: f"at most {a + b}", lambda a, b, profile: Outcome("pass", "", ""))
    finding = entry.result(1, 2, profile=MEASURED)
    assert finding is not None and finding.threshold == "at most 3"
    assert Check("V99", "None", "", lambda facts, profile: None).result(1, profile=MEASURED) is None


def test_explains_itself_by_the_lines_of_its_docstring():
    def judge(facts, profile):
        """What it asks.

        Formula: a /
            b
        Rejects: > {errors_reject}
        Not assessed without: a
        """

    parts = Check("V99", "Share", "", judge).explained(MEASURED)
    assert parts == ["a / b", "", "> 1\N{NARROW NO-BREAK SPACE}%", "a"]
    assert Check("V99", "Silent", "", lambda facts: None).explained(MEASURED) == [""] * 4


def test_a_sentence_begins_with_a_capital():
    assert sentence(["one Client", "two"]) == "One Client; two"
    assert sentence(["a", "b"], " and ") == "A and b"
    assert sentence([]) == ""


@pytest.mark.parametrize(
    ("value", "severity"), [(0.0, "pass"), (1.0, "pass"), (1.01, "warn"), (2.0, "warn"), (2.01, "reject")]
)
def test_a_value_that_equals_a_limit_is_good(value, severity):
    assert graded(value, 1.0, 2.0) == severity


def test_severities_come_to_a_verdict():
    assert compute_verdict(["pass", "not_assessed", "info", "not_assessed"]) == {
        "verdict": "pass", "checks": 4, "checks_assessed": 2,
    }  # fmt: skip
    assert compute_verdict(["warn", "info"]) == {"verdict": "warn", "checks": 2, "checks_assessed": 2}
    assert compute_verdict(["reject", "warn"])["verdict"] == "reject"
    assert compute_verdict([]) == {"verdict": "pass", "checks": 0, "checks_assessed": 0}
    assert (at_most("reject", "warn"), at_most("not_assessed", "warn")) == ("warn", "not_assessed")
    assert find_worst([]) == "pass"
