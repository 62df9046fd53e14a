"""The audit log: who did what that others may ask about later. Verbs write it in their own transaction."""

from datetime import timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from benchsite.accounts.models import AuditEntry, Team, User

# What is written, and how a page says it.
KINDS: Final = {
    "sign_in": "signed in",
    "sign_in_refused": "was refused at signing in as",
    "sign_out": "signed out",
    "password_changed": "changed their password",
    "second_factor_on": "switched the second factor on",
    "second_factor_off": "switched the second factor off",
    "recovery_codes_renewed": "renewed the recovery codes",
    "recovery_code_used": "used a recovery code",
    "address_confirmed": "confirmed their e-mail address",
    "session_ended": "ended a session",
    "invited": "invited",
    "invitation_withdrawn": "withdrew an invitation",
    "joined": "joined",
    "role_changed": "changed a role",
    "removed": "removed a member",
    "left": "left the team",
    "team_made": "made the team",
    "token_made": "made a token",
    "token_rotated": "rotated a token",
    "token_revoked": "revoked a token",
    "run_deleted": "deleted a run",
    "thing_deleted": "deleted",
    "deletion_restored": "restored",
    "deletion_forgotten": "removed for ever",
    "verdict_overridden": "let a rejected run count",
    "override_withdrawn": "let the verdict decide again",
    # Entries of earlier versions.
    "handed_over": "handed everything over",
    "taken_over": "took everything over",
    "watch_link_made": "made a watch link",
    "watch_link_ended": "ended a watch link",
    "report_published": "published a report",
    "report_imported": "imported a report",
    "report_revised": "published a new revision of a report",
    "link_rotated": "gave a report another link",
    "link_revoked": "revoked a report's link",
    "report_deleted": "deleted a report",
    "access_changed": "changed who may read a report",
    "webhook_made": "made a webhook",
    "webhook_changed": "changed a webhook",
    "webhook_rotated": "gave a webhook another secret",
    "webhook_off": "switched a webhook off",
    "webhook_on": "switched a webhook on",
    "webhook_deleted": "deleted a webhook",
    "schedule_made": "made a schedule",
    "schedule_changed": "changed a schedule",
    "schedule_off": "switched a schedule off",
    "schedule_on": "switched a schedule on",
    "schedule_deleted": "deleted a schedule",
    "schedule_run": "ran a schedule now",
    "data_confirmed": "let Benchsite write and delete on an external server",
    "data_withdrawn": "withdrew the confirmation for an external server",
    "baseline_set": "set a baseline",
    "baseline_unset": "unset a baseline",
    "level_accepted": "accepted a new level from",
    "badge_made": "made a badge link",
    "badge_revoked": "revoked a badge link",
    "generator_released": "released a load generator from quarantine",
    "generator_credential_made": "made a credential of a load generator",
    "generator_enrolment_code_made": "made an enrolment code of a load generator",
    "generator_enrolled": "a load generator enrolled",
    "generator_credential_revoked": "revoked the credential of a load generator",
    "harmless_properties_changed": "changed which properties hold no secret:",
    "network_allowed": "allowed a network of external servers:",
    "network_withdrawn": "withdrew a network of external servers:",
    "generator_may_move": "let another host register a load generator",
}
MAX_SUBJECT: Final = 200
REFUSED: Final = "sign_in_refused"
# So long one entry counts the refused sign-ins of one account: nobody fills the log by trying.
WINDOW: Final = timedelta(hours=1)
SOMEBODY: Final = "somebody"


def note(kind: str, *, team: Team | None, actor: User | None, subject: str = "", text: str = "") -> None:
    """One entry. Raises KeyError for a kind that no page could say."""
    KINDS[kind]
    actor_name = ""
    if actor:
        actor_name = actor.get_username()
    AuditEntry.objects.create(
        team=team,
        actor=actor,
        actor_name=actor_name,
        kind=kind,
        subject=subject[:MAX_SUBJECT],
        text=text,
    )


@transaction.atomic
def note_refused(account: User | None, address: str) -> None:
    """A sign-in was refused: for an account, or for a name that none has, which may be a password and is not kept.

    The account's entry of this hour counts it, else there is a new one; names that no account has share one entry.
    """
    subject = ""
    if account:
        subject = account.get_username()[:MAX_SUBJECT]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{REFUSED}:{subject}"])
    whose = "A name that no account has. "
    if account:
        whose = ""
    text = f"{whose}The last at {timezone.now():%H:%M} UTC, from {address or 'an unknown address'}."
    rows = AuditEntry.objects.filter(team=None, kind=REFUSED, subject=subject, at__gt=Now() - WINDOW)
    entry = rows.order_by("-id").first()
    if entry is not None:
        AuditEntry.objects.filter(pk=entry.pk).update(times=F("times") + 1, text=text)
    else:
        AuditEntry.objects.create(team=None, actor_name=SOMEBODY, kind=REFUSED, subject=subject, text=text)


def get_entries(team: Team) -> QuerySet[AuditEntry]:
    """What a team's admins may read: what happened in the team, and who was tried to be signed in as."""
    names = list(team.members.values_list("username", flat=True))
    return AuditEntry.objects.filter(Q(team=team) | Q(team=None, kind=REFUSED, subject__in=names))
