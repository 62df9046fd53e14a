"""What people decide about changes of a history, and what they remark on it. Verbs for pages and API.

Numbers never change here: a decision says which changes count, and where a baseline begins.
"""

import datetime as dt
import uuid
from typing import Any

from django.utils import timezone

from benchsite.teams.models import Team, User
from reports.histories import Metric
from reports.models import ChangePoint, History, HistoryNote
from reports.queries.history import runs_of

MAX_NOTE_LENGTH = 200
MAX_REASON_LENGTH = 2_000
EARLIEST = dt.date(1990, 1, 1)


class TriageRefused(Exception):
    """What was asked for cannot be kept. The message says why and what to do."""


def decide(
    history: History, user: User, *, metric: Metric, run_id: uuid.UUID, state: str, note: str = ""
) -> ChangePoint.State:
    """Record what one change is; "new" with no note forgets it again. Raises TriageRefused."""
    if state not in ChangePoint.State.values:
        raise TriageRefused("Choose what the change is: new, confirmed, a false alarm, or accepted.")
    if not runs_of(history.team_id, history.config_key).filter(pk=run_id).exists():
        raise TriageRefused("That change is not part of this history any more. Look at the changes as they are now.")
    text = _plain(note, MAX_REASON_LENGTH)
    this: dict[str, Any] = {"config_key": history.config_key, "metric": str(metric), "run_id": run_id}
    chosen = ChangePoint.State(state)
    if chosen is ChangePoint.State.NEW and not text:
        ChangePoint.objects.filter(team=history.team_id, **this).delete()
    else:
        values = {"state": chosen, "note": text, "changed_by": user}
        ChangePoint.objects.update_or_create(team_id=history.team_id, **this, defaults=values)
    return chosen


def remark(team: Team, user: User, *, config_key: str, day: str, text: str) -> HistoryNote:
    """Add a note at a day (UTC); with an empty `config_key` on all histories of the team. Raises TriageRefused."""
    written = _plain(text, MAX_NOTE_LENGTH)
    if not written:
        raise TriageRefused("Write what happened, as in “new kernel”.")
    return HistoryNote.objects.create(team=team, config_key=config_key, at=_instant(day), text=written, created_by=user)


def forget(team: Team, note_id: uuid.UUID, config_key: str) -> bool:
    """Delete a note of this history, or one on all of them; whether there was one."""
    notes = HistoryNote.objects.filter(team=team, pk=note_id, config_key__in=["", config_key])
    return bool(notes.delete()[0])


def _instant(day: str) -> dt.datetime:
    """Midnight of a day; now where none is given."""
    if not day.strip():
        return timezone.now()
    try:
        date = dt.date.fromisoformat(day.strip())
    except ValueError:
        raise TriageRefused("Write the day as year, month and day: 2026-11-21.") from None
    if not EARLIEST <= date <= timezone.now().date() + dt.timedelta(days=366):
        raise TriageRefused("The day of a note lies between 1990 and a year from now.")
    return dt.datetime.combine(date, dt.time(), dt.UTC)


def _plain(text: str, most: int) -> str:
    """On one line and printable."""
    line = "".join(c for c in " ".join(text.split()) if c.isprintable())
    if len(line) > most:
        raise TriageRefused(f"That text has {len(line)} characters; at most {most} are allowed.")
    return line
