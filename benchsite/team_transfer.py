"""Handing everything of a team over to another: when a group is renamed, merged or dissolved, its results stay.

Every model that belongs to a team has its way in `WAYS`; a test sees to it that none is forgotten.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.apps import apps
from django.db import connection, transaction
from django.db.models import Model

from benchsite.accounts import audit
from benchsite.accounts.models import Membership, Role, Team, User
from benchsite.accounts.tenancy import all_teams
from runs.models import Machine, Run
from runs.models.run import Status

MAX_SUFFIX: Final = 40
Way = Callable[[type[Model], Team, Team], None]


class HandOverRefused(Exception):
    """It cannot be done now. The message says why and what to do."""


def stays(model: type[Model], old: Team, new: Team) -> None:
    """Who may enter, by what keys, and what they did there, is the old team's own."""


def moves(model: type[Model], old: Team, new: Team) -> None:
    _rows(model).filter(team=old).update(team=new)


def moves_by_name(model: type[Model], old: Team, new: Team) -> None:
    """A name that the new team has already is followed by where it came from."""
    taken = set(_rows(model).filter(team=new).values_list("name", flat=True))
    longest: int = getattr(model._meta.get_field("name"), "max_length", None) or 80
    for key, name in _rows(model).filter(team=old).values_list("pk", "name"):
        found = name if name not in taken else _renamed(name, old, taken, longest)
        taken.add(found)
        _rows(model).filter(pk=key).update(team=new, name=found)


def _renamed(name: str, old: Team, taken: set[str], longest: int) -> str:
    for number in range(1, 1000):
        suffix = f" ({old.name[:MAX_SUFFIX]}{'' if number == 1 else f' {number}'})"
        found = name[: longest - len(suffix)] + suffix
        if found not in taken:
            return found
    raise HandOverRefused(f"There are too many things called “{name}”: rename some of them first.")


def moves_unless_taken(*columns: str) -> Way:
    """What the new team has under the same key stays as the new team has it."""

    def way(model: type[Model], old: Team, new: Team) -> None:
        taken = set(_rows(model).filter(team=new).values_list(*columns))
        keys = [row[0] for row in _rows(model).filter(team=old).values_list("pk", *columns) if row[1:] not in taken]
        _rows(model).filter(pk__in=keys).update(team=new)

    return way


def adds_up(model: type[Model], old: Team, new: Team) -> None:
    """Counted histories of one test become one."""
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} AS new SET runs = new.runs + old.runs, last_at = greatest(new.last_at, old.last_at) "
            f"FROM {table} AS old WHERE new.team_id = %s AND old.team_id = %s AND new.config_key = old.config_key",
            [new.pk, old.pk],
        )
        cursor.execute(
            f"DELETE FROM {table} AS old USING {table} AS new "
            "WHERE new.team_id = %s AND old.team_id = %s AND new.config_key = old.config_key",
            [new.pk, old.pk],
        )
    moves(model, old, new)


WAYS: Final[Mapping[str, Way]] = {
    "teams.Membership": stays,
    "teams.Invitation": stays,
    "teams.ApiToken": stays,
    "teams.AuditEntry": stays,
    "teams.Notice": stays,
    "teams.Webhook": stays,
    "runs.Cluster": moves_by_name,
    "runs.Database": moves_by_name,
    "runs.Workload": moves_by_name,
    "runs.Matrix": moves,
    "runs.Upload": moves,
    "runs.UploadKey": moves_unless_taken("kind", "key"),
    "runs.Sweep": moves,
    "runs.Run": moves,
    "runs.Artifact": moves,
    "runs.Schedule": moves,
    "runs.ThresholdOverride": moves_unless_taken("threshold", "purpose"),
    "reports.History": adds_up,
    "reports.CommitLook": moves_unless_taken("config_key", "commit"),
    "reports.ChangePoint": moves_unless_taken("config_key", "metric", "run"),
    "reports.HistoryNote": moves,
    "reports.Report": moves,
    "reports.WatchLink": moves,
    "reports.Baseline": moves_by_name,
    "reports.BadgeLink": moves,
}


@all_teams()
def hand_over(old: Team, new: Team, by: User) -> None:
    """Everything that `old` owns becomes `new`'s, in one transaction. Raises HandOverRefused.

    Members, tokens, webhooks and the audit log stay. Reports and their links stay what they are.
    """
    if old == new:
        raise HandOverRefused("Choose another team: this one has it all already.")
    admin = Membership.objects.filter(user=by, role=Role.ADMIN, team__in=[old, new]).count()
    if admin < 2:
        raise HandOverRefused("Only somebody who is an admin of both teams hands one over to the other.")
    with transaction.atomic():
        # Both are locked in one order, so that two who hand over crosswise do not wait for each other.
        list(Team.objects.select_for_update().filter(pk__in=[old.pk, new.pk]).order_by("pk"))
        if Run.objects.filter(team=old).exclude(status__in=Status.terminal()).exists():
            raise HandOverRefused("Runs are queued or going: wait for their end or cancel them, then hand over.")
        for label, way in WAYS.items():
            way(apps.get_model(label), old, new)
        for machine in Machine.objects.filter(teams=old):
            machine.teams.add(new)
        audit.note("handed_over", team=old, actor=by, subject=old.name, text=f"to {new.name}")
        audit.note("taken_over", team=new, actor=by, subject=old.name, text=f"from {old.name}")


def _rows(model: type[Model]) -> Any:
    return model._default_manager
