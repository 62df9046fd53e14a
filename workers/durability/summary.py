"""What one mode lost over many faults of one kind, and the table of a study. Pure."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchsite.formatting import NOTHING, grouped, percent, significant
from workers.durability.trials import Fault, Trial

COLUMNS = (
    "system", "mode", "fault", "faults", "with loss", "acknowledged", "lost, median / max", "oldest lost, median / max",
    "holes", "damaged", "not started", "recovery, median / max",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One mode and one kind of fault. Seconds are None where no trial has the value."""

    system: str
    version: str
    mode: str
    fault: Fault
    faults: int
    with_loss: int
    max_loss_share: float | None  # with 95 % confidence, where no fault lost anything
    acknowledged: int
    lost_median: float
    lost_max: int
    oldest_lost_median_s: float | None  # over the faults with loss
    oldest_lost_max_s: float | None
    holes: int
    damaged: int
    unreadable: int
    unacknowledged: int
    not_started: int
    recovery_median_s: float | None
    recovery_max_s: float | None

    def cells(self) -> tuple[str, ...]:
        share = f" (at most {percent(self.max_loss_share)})" if self.max_loss_share is not None else ""
        return (
            f"{self.system} {self.version}", self.mode, self.fault.value, grouped(self.faults),
            f"{self.with_loss} of {self.faults}{share}", grouped(self.acknowledged),
            f"{grouped(self.lost_median)} / {grouped(self.lost_max)}",
            _seconds(self.oldest_lost_median_s, self.oldest_lost_max_s),
            grouped(self.holes), grouped(self.damaged), grouped(self.not_started),
            _seconds(self.recovery_median_s, self.recovery_max_s),
        )  # fmt: skip


def summarise(system: str, version: str, mode: str, trials: Sequence[Trial]) -> Summary:
    """The summary of one or more trials of one fault."""
    losses = [trial.loss for trial in trials]
    ages = [loss.oldest_lost_s for loss in losses if loss.lost]
    recoveries = [trial.recovery_s for trial in trials if trial.recovery_s is not None]
    return Summary(
        system=system,
        version=version,
        mode=mode,
        fault=trials[0].fault,
        faults=len(trials),
        with_loss=len(ages),
        max_loss_share=None if ages else max_share(len(trials)),
        acknowledged=sum(loss.acknowledged for loss in losses),
        lost_median=statistics.median(loss.lost for loss in losses),
        lost_max=max(loss.lost for loss in losses),
        oldest_lost_median_s=statistics.median(ages) if ages else None,
        oldest_lost_max_s=max(ages, default=None),
        holes=sum(loss.holes for loss in losses),
        damaged=sum(loss.damaged for loss in losses),
        unreadable=sum(loss.unreadable for loss in losses),
        unacknowledged=sum(loss.unacknowledged for loss in losses),
        not_started=sum(trial.recovery_s is None for trial in trials),
        recovery_median_s=statistics.median(recoveries) if recoveries else None,
        recovery_max_s=max(recoveries, default=None),
    )


def max_share(faults: int) -> float:
    """The largest share of losing faults, with 95 % confidence, after so many without loss.

    The exact binomial bound: a larger share p has no loss in n faults with a probability (1 - p)^n below 5 %.
    """
    return float(1 - 0.05 ** (1 / faults))


def markdown_table(summaries: Sequence[Summary]) -> str:
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(summary.cells() for summary in summaries)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _seconds(median: float | None, highest: float | None) -> str:
    if median is None or highest is None:
        return NOTHING
    return f"{significant(median)} / {significant(highest)} s"
