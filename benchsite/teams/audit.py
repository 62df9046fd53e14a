"""The audit log: who did what that others may ask about later. Verbs write it in their own transaction."""

from typing import Final

from benchsite.teams.models import AuditEntry, Team, User

# What is written, and how a page says it.
KINDS: Final = {
    "sign_in": "signed in",
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
    "verdict_overridden": "let a rejected run count",
    "override_withdrawn": "let the verdict decide again",
    "handed_over": "handed everything over",
    "taken_over": "took everything over",
    "watch_link_made": "let anybody watch",
    "watch_link_ended": "ended a watch link",
    "report_published": "published a report",
    "report_imported": "imported a report",
    "report_revised": "published a new revision of a report",
    "link_rotated": "gave a report another link",
    "link_revoked": "took a report's link back",
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
    "baseline_set": "set a baseline",
    "baseline_unset": "unset a baseline",
    "badge_made": "made a badge link",
    "badge_revoked": "revoked a badge link",
}
LONGEST_SUBJECT: Final = 200


def note(kind: str, *, team: Team | None, actor: User | None, subject: str = "", text: str = "") -> None:
    """One entry. Raises KeyError for a kind that no page could say."""
    KINDS[kind]
    AuditEntry.objects.create(
        team=team,
        actor=actor,
        actor_name=actor.get_username() if actor else "",
        kind=kind,
        subject=subject[:LONGEST_SUBJECT],
        text=text,
    )
