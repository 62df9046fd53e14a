"""The document of the checks says what the checks say."""

import re

import pytest

from runs.checks import RUN_CHECKS, THRESHOLDS
from runs.checks.check import PAIR_CHECKS, PARTS
from runs.checks.default_thresholds import profile
from runs.checks.document import DOCUMENT, rendered


def test_document_is_current():
    """`python -m runs.checks.document` writes it anew."""
    document = DOCUMENT.read_text()
    assert rendered(document) == document
    assert len(re.findall("<!-- made of the checks: ", document)) == 5


@pytest.mark.parametrize("check", [*RUN_CHECKS, *PAIR_CHECKS], ids=lambda check: f"{check.id} {check.judge.__name__}")
def test_check_is_explained(check):
    """With its formula, with what it warns of or rejects, and with the data that it needs."""
    formula, warns, rejects, needs = check.explained(profile("measured"))
    assert formula
    assert needs
    assert warns or rejects
    assert not any("{" in part or f"{name}:" in part for part in (formula, warns, rejects) for name in PARTS)


def test_ids_are_told_apart():
    for checks in (RUN_CHECKS, PAIR_CHECKS):
        ids = [check.id for check in checks]
        assert ids == sorted(set(ids))
    assert {about.check_id for about in THRESHOLDS.values()} <= {check.id for check in (*RUN_CHECKS, *PAIR_CHECKS)}


def test_team_threshold_stands_in_the_limits():
    (errors,) = (check for check in RUN_CHECKS if check.id == "V07")
    assert errors.limits == "above {errors_warn} warn, above {errors_reject} reject"
    assert profile("measured", {"errors_warn": 0.5}).filled("{errors_warn}").startswith("50")
