"""The figures of many faults."""

import json
from dataclasses import asdict, replace

import pytest

from runs.catalog.measured_losses import Disk, Fault, measured_loss
from workers.durability.ledger import Loss
from workers.durability.summary import COLUMNS, cells, markdown_table, summarise
from workers.durability.trials import Trial

NO_LOSS = Loss(
    acknowledged=100, lost=0, oldest_lost_s=0, holes=0, present=100, older=0, absent=0, damaged=0, unreadable=0,
    unacknowledged=1,
)  # fmt: skip
TRIAL = Trial(fault=Fault.POWER_CUT, recovery_s=0.5, problem="", loss=NO_LOSS)


def with_loss(lost: int, oldest_s: float) -> Trial:
    return replace(TRIAL, loss=replace(NO_LOSS, lost=lost, oldest_lost_s=oldest_s, absent=lost))


def result(*trials: Trial):
    return summarise("redis", "7.0", "always", 1, Disk(), trials)


@pytest.mark.parametrize(("faults", "share"), [(60, 0.0487), (6, 0.393), (1, 0.95)])
def test_bounds_the_share_of_losing_faults(faults, share):
    assert result(*[TRIAL] * faults).max_loss_share == pytest.approx(share, abs=5e-4)


def test_faults_without_loss_bound_the_share():
    summary = result(*[TRIAL] * 60)
    assert (summary.with_loss, summary.acknowledged, summary.unacknowledged) == (0, 6000, 60)
    assert cells(summary)[5].startswith("0 (at most 4.87")


def test_ages_are_those_of_losing_faults():
    summary = result(TRIAL, with_loss(10, 0.2), with_loss(30, 0.6))
    assert (summary.with_loss, summary.max_loss_share) == (2, None)
    assert (summary.lost_median, summary.lost_max) == (10, 30)
    assert (summary.oldest_lost_median_s, summary.oldest_lost_max_s) == (pytest.approx(0.4), 0.6)


def test_server_that_does_not_start_has_no_recovery_time():
    summary = result(replace(TRIAL, recovery_s=None, problem="AOF damaged"))
    assert (summary.not_started, summary.recovery_median_s) == (1, None)


def test_table_has_a_row_for_each_summary():
    lines = markdown_table(COLUMNS, cells(result(TRIAL))).splitlines()
    assert len(lines) == 3
    assert {line.count(" | ") for line in lines} == {len(COLUMNS) - 1}


def test_result_survives_its_file():
    loss = result(TRIAL, with_loss(10, 0.2))
    assert measured_loss(json.loads(json.dumps(asdict(loss)))) == loss
