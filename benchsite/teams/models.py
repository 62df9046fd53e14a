"""Who may do what: users, teams, memberships, the ways in, and what people did that others may ask about."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


def new_id() -> uuid.UUID:
    """A time-ordered key (UUIDv7), so that rows made together lie together in the index."""
    return uuid7()


class User(AbstractUser):
    """A person. `is_staff` marks an operator of the site."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)

    @property
    def is_operator(self) -> bool:
        return self.is_staff


class Role(models.TextChoices):
    """What a member may do; each role includes the ones before it."""

    VIEWER = "viewer", "viewer"  # Reads everything of the team.
    RUNNER = "runner", "runner"  # Also describes databases and workloads, and runs matrices.
    ADMIN = "admin", "admin"  # Also manages members and external clusters.


class Team(models.Model):
    """The owner of everything that is not the site's own."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=80)
    slug = models.SlugField(max_length=80, unique=True)
    members = models.ManyToManyField(User, through="Membership", related_name="teams")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """One user's role in one team."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "team"], name="one_membership_per_user_and_team")]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.team}"


class SignInLink(models.Model):
    """A link that signs one user in, once, within minutes. Only the token's SHA-256 is kept."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    token_sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.user}, until {self.expires_at:%Y-%m-%d %H:%M}"


class Invitation(models.Model):
    """A link by which one person joins a team, with an account that they have or make. Only its SHA-256 is kept."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    note = models.CharField(max_length=120, blank=True)  # whom it is for, in the inviter's words
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)
    token_sha256 = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    accepted_at = models.DateTimeField(null=True, blank=True)

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
    REPORTS_WRITE = "reports:write", "make and publish reports"


class ApiToken(models.Model):
    """A key for programs: of one team, with scopes, until a day. `key` finds it; of its secret only SHA-256 is kept."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
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

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} of {self.team}"


class SignedIn(models.Model):
    """One browser in which a person is signed in, so that they can see it and end it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
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


class AuditEntry(models.Model):
    """Something that somebody may ask about later. Written once, by `benchsite.teams.audit`, and never changed."""

    team = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="audit")  # None: the site's
    at = models.DateTimeField(db_default=Now())
    actor = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    actor_name = models.CharField(max_length=150, blank=True)  # stays when the account goes
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=200, blank=True)
    text = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["team", "-id"])]

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.kind} {self.subject}"
