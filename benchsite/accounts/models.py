"""Who may do what: users, teams, memberships, the ways in, and what people did that others may ask about."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from ua_parser import parse
from uuid_utils.compat import uuid7

from benchsite.accounts.tenancy import TeamManager


def new_id() -> uuid.UUID:
    """A time-ordered key (UUIDv7), so that rows made together lie together in the index."""
    return uuid7()


class Row(models.Model):
    """What people open: with a time-ordered key, and called by its name where it has one."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(getattr(self, "name", self.pk))


class User(AbstractUser):
    """A person. `is_staff` marks an operator of the site."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # The address by which they opened a link. It gets notices as long as it is the one of the account.
    confirmed_email = models.EmailField(blank=True, default="", db_default="")

    @property
    def has_confirmed_email(self) -> bool:
        return bool(self.email) and self.email == self.confirmed_email

    @property
    def is_operator(self) -> bool:
        return self.is_staff


class Role(models.TextChoices):
    """What a member may do; each role includes the ones before it."""

    VIEWER = "viewer", "viewer"  # Reads everything of the team.
    RUNNER = "runner", "runner"  # Also describes databases and workloads, and runs matrices.
    BUILDER = "builder", "builder"  # Also starts servers that the team built itself.
    ADMIN = "admin", "admin"  # Also manages members and external clusters.


class Team(Row):
    """The owner of everything that is not the site's own."""

    name = models.CharField(max_length=80)
    slug = models.SlugField(max_length=80, unique=True)
    members = models.ManyToManyField(User, through="Membership", related_name="teams")
    # Of properties that look like those of secrets, and are none.
    harmless_properties = ArrayField(models.CharField(max_length=120), default=list, db_default=[], blank=True)
    # In which its external servers and their exporters may lie, beside those of all teams. Operators allow them.
    external_networks = ArrayField(models.CharField(max_length=50), default=list, db_default=[], blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]


class Membership(models.Model):
    """One user's role in one team."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "team"], name="one_membership_per_user_and_team")]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.team}"


class SignInLink(Row):
    """A link that signs one user in, once, within minutes. Only the token's SHA-256 is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    token_sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.user}, until {self.expires_at:%Y-%m-%d %H:%M}"


class Invitation(Row):
    """A link by which one person joins a team, with an account that they have or make. Only its SHA-256 is kept."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    note = models.CharField(max_length=120, blank=True)  # whom it is for, in the inviter's words
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)
    token_sha256 = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    accepted_at = models.DateTimeField(null=True, blank=True)
    objects = TeamManager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"invitation to {self.team} as {self.role}"


class Scope(models.TextChoices):
    """What a token may do; a page says the label."""

    RUNS_READ = "runs:read", "read runs, comparisons and the catalog"
    RUNS_WRITE = "runs:write", "upload runs, set baselines, annotate"
    RUNS_DELETE = "runs:delete", "delete runs"
    MATRICES_RUN = "matrices:run", "submit and cancel matrices"
    BUILDS_RUN = "builds:run", "start servers of own builds"
    REPORTS_WRITE = "reports:write", "make and publish reports"
    SCHEDULES_WRITE = "schedules:write", "make, change and delete schedules"
    WEBHOOKS_WRITE = "webhooks:write", "read, make, change and delete webhooks"
    MACHINES_WRITE = "machines:write", "make, change and delete machines and clusters"
    DATABASES_WRITE = "databases:write", "make, change and delete databases and workloads"


class ApiToken(Row):
    """A key for programs: of one team, with scopes, until a day. `key` finds it; of its secret only SHA-256 is kept."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80)
    key = models.CharField(max_length=8, unique=True)
    secret_sha256 = models.CharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=20, choices=Scope))
    maker = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    rotated_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    objects = TeamManager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} of {self.team}"


class SignedIn(Row):
    """One browser in which a person is signed in, so that they can see it and end it."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="signed_in")
    session_key = models.CharField(max_length=40, unique=True)
    browser = models.CharField(max_length=200, blank=True)  # what it called itself
    address = models.GenericIPAddressField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "signed in"

    def __str__(self) -> str:
        return f"{self.user} since {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def name(self) -> str:
        """The browser and its system as people call them: "Firefox 128 on Ubuntu"; else how it called itself."""
        parsed = parse(self.browser)
        if parsed.user_agent is None:
            return self.browser[:60] or "unknown"
        name = " ".join(part for part in (parsed.user_agent.family, parsed.user_agent.major) if part)
        if parsed.os:
            return f"{name} on {parsed.os.family}"
        return name


class AuditEntry(models.Model):
    """Something that somebody may ask about later. Written by `benchsite.accounts.audit` and never changed.

    Only an entry about refused sign-ins counts those that follow it within its hour (`times`).
    """

    team = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="audit")  # None: the site's
    at = models.DateTimeField(db_default=Now())
    actor = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    actor_name = models.CharField(max_length=150, blank=True)  # stays when the account goes
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=200, blank=True)
    text = models.TextField(blank=True)
    times = models.PositiveIntegerField(default=1, db_default=1)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["team", "-id"]),
            models.Index(fields=["subject", "-id"], name="audit_refused", condition=Q(kind="sign_in_refused")),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.kind} {self.subject}"


class Counter(models.Model):
    """How often something was tried or used in its window. Written by `benchsite.accounts.counters`."""

    key = models.CharField(max_length=200, primary_key=True)
    used = models.PositiveIntegerField()
    ends_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.key}: {self.used}"


class NoticeKind(models.TextChoices):
    """What people and programs can be told of; a page says the label."""

    MATRIX_FINISHED = "matrix_finished", "a matrix has finished"
    REGRESSION = "regression", "a result is worse than its baseline"
    SCHEDULE_FAILED = "schedule_failed", "a schedule could not submit its matrix"
    CHANGE_POINT = "change_point", "a history has changed its level"


class Notice(Row):
    """Something that happened, written in the transaction in which it happened. Its id is the one receivers see."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=20)  # one of NoticeKind, or "test"
    # What happens once has one key, so that nobody is told twice of it.
    key = models.CharField(max_length=120, unique=True, null=True, blank=True)
    subject = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    path = models.CharField(max_length=500, blank=True)  # of the page it is about
    data = models.JSONField(default=dict, blank=True)
    at = models.DateTimeField(db_default=Now())
    objects = TeamManager()

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}"


class Preference(models.Model):
    """A member wants e-mail of one kind of notice. No row, no e-mail; who leaves the team takes theirs along."""

    membership = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="preferences")
    kind = models.CharField(max_length=20, choices=NoticeKind)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["membership", "kind"], name="one_preference_per_kind")]

    def __str__(self) -> str:
        return f"{self.membership}: {self.kind}"


class Webhook(Row):
    """An address that is told of notices by a signed POST. The secret signs, so it is kept; no page shows it again.

    It is kept sealed (`benchsite.core.encryption`). `secret` and `old_secret` are what the previous release wrote
    plainly; where they say something they are the newer ones, until the deliverer seals them.
    """

    class Shape(models.TextChoices):
        """What the body of its POST is; a page says the label."""

        PLAIN = "plain", "every field, as JSON"
        SLACK = "slack", "a message for Slack"
        TEAMS = "teams", "a card for Microsoft Teams"

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="webhooks")
    name = models.CharField(max_length=80)
    url = models.CharField(max_length=500)
    shape = models.CharField(max_length=10, choices=Shape, default=Shape.PLAIN, db_default=Shape.PLAIN.value)
    # None and not "", so that the previous release fails where it finds none and does not sign with an empty key.
    secret = models.CharField(max_length=80, null=True, blank=True)
    sealed = models.TextField(blank=True, default="", db_default="")
    # The one before signs too until `old_until`, while receivers change.
    old_secret = models.CharField(max_length=80, null=True, blank=True)
    old_sealed = models.TextField(blank=True, default="", db_default="")
    old_until = models.DateTimeField(null=True, blank=True)
    kinds = ArrayField(models.CharField(max_length=20, choices=NoticeKind))
    is_active = models.BooleanField(default=True)
    off_because = models.CharField(max_length=300, blank=True)  # empty where a person paused it
    failures = models.PositiveIntegerField(default=0)  # notices given up in a row
    last_at = models.DateTimeField(null=True, blank=True)
    last_status = models.CharField(max_length=300, blank=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    objects = TeamManager()

    class Meta:
        ordering = ["name"]


class Delivery(Row):
    """One notice on its way to one webhook or one member. Tried again until it arrives or is given up."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        DELIVERED = "delivered", "delivered"
        GIVEN_UP = "given_up", "given up"

    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="deliveries")
    webhook = models.ForeignKey(Webhook, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries")
    member = models.ForeignKey(Membership, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    # When it is tried (again). Whoever tries puts it off first, so that what dies with its worker is tried once more.
    next_at = models.DateTimeField(null=True, blank=True, db_default=Now())
    status_code = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "deliveries"
        indexes = [models.Index(fields=["next_at"], name="delivery_due", condition=Q(state="waiting"))]
        constraints = [
            models.CheckConstraint(
                condition=Q(webhook__isnull=True) ^ Q(member__isnull=True), name="delivery_to_webhook_or_member"
            ),
            models.CheckConstraint(
                condition=Q(state="waiting", next_at__isnull=False) | ~Q(state="waiting"), name="waiting_has_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.notice} to {self.webhook or self.member}"
