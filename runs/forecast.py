"""When will a waiting run start? A simulation of the queue over the machines, pure: no Django, no rows."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Queued:
    """One run that waits or runs, as far as the forecast needs it."""

    id: Hashable
    machines: frozenset[Hashable]
    expected_s: float
    started_at: datetime | None = None  # it holds its machines since then; None: it waits
    needs: Hashable | None = None  # the run that must have ended before


@dataclass(frozen=True, slots=True)
class Forecast:
    starts_at: datetime
    ends_at: datetime


def predict_starts(runs: Sequence[Queued], now: datetime) -> dict[Hashable, Forecast]:
    """Predicted start and end of every run, given in the order of the queue.

    Running ones end when their expected seconds are over, at the earliest now. Each waiting one starts when the last of
    its machines is free and the run it needs has ended. An estimate: a run behind it may be taken first when its own
    machines are free earlier, and a change of priority moves everything.
    """
    free: dict[Hashable, datetime] = {}
    found: dict[Hashable, Forecast] = {}
    for run in sorted(runs, key=lambda one: one.started_at is None):
        if run.started_at is not None:
            starts = run.started_at
            ends = max(now, starts + timedelta(seconds=run.expected_s))
        else:
            waits_for = [free[machine] for machine in run.machines if machine in free]
            if run.needs in found:
                waits_for.append(found[run.needs].ends_at)
            starts = max([now, *waits_for])
            ends = starts + timedelta(seconds=run.expected_s)
        found[run.id] = Forecast(starts, ends)
        for machine in run.machines:
            free[machine] = max(ends, free.get(machine, ends))
    return found
