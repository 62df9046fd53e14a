"""Who may do what: users, teams, memberships, and the one-time sign-in link."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models
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
