"""What one mode lost over many faults of one kind, and the table of a study. Pure."""

import statistics
from collections.abc import Sequence

from benchsite.core.formatting import NOTHING, grouped, percent, significant
from runs.catalog.measured_losses import NODE_LOSSES, Disk, MeasuredLoss
from workers.durability.trials import Trial

COLUMNS = (
    "system", "mode", "nodes", "fault", "faults", "with loss", "acknowledged", "lost, median / max",
    "oldest lost, median / max", "holes", "damaged", "not started", "recovery, median / max",
)  # fmt: skip


def summarise(system: str, version: str, mode: str, nodes: int, disk: Disk, trials: Sequence[Trial]) -> MeasuredLoss:
    """The result of one or more trials of one fault; `system` and `mode` are slugs."""
    losses = [trial.loss for trial in trials]
    ages = [loss.oldest_lost_s for loss in losses if loss.lost]
    # No server starts again where a replica is read.
    is_restarted = trials[0].fault not in NODE_LOSSES
    recoveries = [trial.recovery_s for trial in trials if is_restarted and trial.recovery_s is not None]
    oldest_lost_median_s = None
    if ages:
        oldest_lost_median_s = statistics.median(ages)
    recovery_median_s = None
    if recoveries:
        recovery_median_s = statistics.median(recoveries)

    return MeasuredLoss(
        system=system,
        version=version,
        mode=mode,
        nodes=nodes,
        fault=trials[0].fault,
        disk=disk,
        faults=len(trials),
        with_loss=len(ages),
        acknowledged=sum(loss.acknowledged for loss in losses),
        lost_median=statistics.median(loss.lost for loss in losses),
        lost_max=max(loss.lost for loss in losses),
        oldest_lost_median_s=oldest_lost_median_s,
        oldest_lost_max_s=max(ages, default=None),
        holes=sum(loss.holes for loss in losses),
        damaged=sum(loss.damaged for loss in losses),
        unreadable=sum(loss.unreadable for loss in losses),
        unacknowledged=sum(loss.unacknowledged for loss in losses),
        not_started=sum(trial.recovery_s is None for trial in trials),
        recovery_median_s=recovery_median_s,
        recovery_max_s=max(recoveries, default=None),
    )


def cells(result: MeasuredLoss) -> tuple[str, ...]:
    """A row of the table, in the order of COLUMNS."""
    share = ""
    if result.max_loss_share is not None:
        share = f" (at most {percent(result.max_loss_share)})"
    return (
        f"{result.system} {result.version}", result.mode, grouped(result.nodes), result.fault.value,
        grouped(result.faults), f"{grouped(result.with_loss)}{share}", grouped(result.acknowledged),
        f"{grouped(result.lost_median)} / {grouped(result.lost_max)}",
        _format_seconds(result.oldest_lost_median_s, result.oldest_lost_max_s),
        grouped(result.holes), grouped(result.damaged), grouped(result.not_started),
        _format_seconds(result.recovery_median_s, result.recovery_max_s),
    )  # fmt: skip


def markdown_table(columns: Sequence[str], *rows: Sequence[str]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, ("---",) * len(columns), *rows))


def _format_seconds(median: float | None, highest: float | None) -> str:
    if median is None or highest is None:
        return NOTHING
    return f"{significant(median)} / {significant(highest)} s"
