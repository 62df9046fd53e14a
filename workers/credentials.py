"""Credentials of load generators: `bsg_<name>_<secret>`, shown once; only the secret's SHA-256 is kept."""

import secrets
from hmac import compare_digest
from typing import Final

from django.db import transaction
from django.db.models.functions import Now

from benchsite.teams import audit
from benchsite.teams.models import User
from benchsite.teams.sign_in_link import digest
from workers.models import GeneratorCredential

PREFIX: Final = "bsg"
SECRET_BYTES: Final = 32


@transaction.atomic
def make(name: str, maker: User | None) -> str:
    """A credential for the load generator of this name, in place of an earlier one. Only the answer holds it."""
    revoke(name, maker)
    secret = secrets.token_hex(SECRET_BYTES)
    GeneratorCredential.objects.create(generator=name, secret_sha256=digest(secret))
    if maker is not None:
        audit.note("generator_credential_made", team=None, actor=maker, subject=name)
    return f"{PREFIX}_{name}_{secret}"


def revoke(name: str, by: User | None) -> bool:
    """The credential of this load generator serves no more; False where it had none."""
    revoked = GeneratorCredential.objects.filter(generator=name, revoked_at=None).update(revoked_at=Now())
    if revoked and by is not None:
        audit.note("generator_credential_revoked", team=None, actor=by, subject=name)
    return bool(revoked)


def generator_of(credential: str) -> str | None:
    """The name of the load generator that holds this credential; None for one that is malformed, unknown or revoked."""
    prefix, _, rest = credential.partition("_")
    name, _, secret = rest.rpartition("_")
    if prefix != PREFIX or not name or "\0" in name:
        return None
    rows = GeneratorCredential.objects.filter(generator=name, revoked_at=None)
    kept = rows.values_list("secret_sha256", flat=True).first() or ""
    return name if compare_digest(digest(secret), kept) else None
