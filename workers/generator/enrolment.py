"""Credentials of load generators: `bsg_<name>_<secret>`; only the secret's SHA-256 is kept.

An operator makes an enrolment code, `bse_<secret>`, that is valid once and for an hour. The load generator exchanges it
for its credential.
"""

import secrets
from datetime import timedelta
from hmac import compare_digest
from typing import Final

from django.db import transaction
from django.db.models.functions import Now

from benchsite.accounts import audit
from benchsite.accounts.models import User
from benchsite.accounts.sign_in_link import digest
from workers.generator import redis_users
from workers.models import EnrolmentCode, GeneratorCredential

PREFIX: Final = "bsg"
CODE_PREFIX: Final = "bse"
CODE_LIFETIME: Final = timedelta(hours=1)
SECRET_BYTES: Final = 32


@transaction.atomic
def make_code(name: str, maker: User | None) -> str:
    """An enrolment code for the load generator of this name; earlier unused codes of it expire now."""
    _expire_codes(name)
    code = f"{CODE_PREFIX}_{secrets.token_hex(SECRET_BYTES)}"
    EnrolmentCode.objects.create(generator=name, code_sha256=digest(code), expires_at=Now() + CODE_LIFETIME)
    if maker is not None:
        audit.note("generator_enrolment_code_made", team=None, actor=maker, subject=name)
    return code


@transaction.atomic
def enrol(code: str) -> str | None:
    """The credential of the load generator for which the code was made; None for a code that is not valid."""
    valid = EnrolmentCode.objects.select_for_update().filter(used_at=None, expires_at__gt=Now())
    row = valid.filter(code_sha256=digest(code)).first()
    if row is None:
        return None
    EnrolmentCode.objects.filter(pk=row.pk).update(used_at=Now())
    audit.note("generator_enrolled", team=None, actor=None, subject=row.generator)
    return make(row.generator)


@transaction.atomic
def make(name: str) -> str:
    """A credential for the load generator of this name, in place of an earlier one. Only the answer holds it.

    Raises AccessRefused, and changes nothing, where Redis refuses its user.
    """
    GeneratorCredential.objects.filter(generator=name, revoked_at=None).update(revoked_at=Now())
    secret = secrets.token_hex(SECRET_BYTES)
    GeneratorCredential.objects.create(generator=name, secret_sha256=digest(secret))
    redis_users.create_user(name, digest(secret))
    transaction.on_commit(redis_users.synchronise, robust=True)
    return f"{PREFIX}_{name}_{secret}"


@transaction.atomic
def revoke(name: str, by: User | None) -> bool:
    """Revoke the credential and the unused codes of this load generator; False where it had no credential."""
    _expire_codes(name)
    revoked = GeneratorCredential.objects.filter(generator=name, revoked_at=None).update(revoked_at=Now())
    if revoked and by is not None:
        audit.note("generator_credential_revoked", team=None, actor=by, subject=name)
    transaction.on_commit(redis_users.synchronise, robust=True)
    return bool(revoked)


def _expire_codes(name: str) -> None:
    EnrolmentCode.objects.filter(generator=name, used_at=None, expires_at__gt=Now()).update(expires_at=Now())


def find_generator(credential: str) -> str | None:
    """The name of the load generator that holds this credential; None for one that is malformed, unknown or revoked."""
    prefix, _, rest = credential.partition("_")
    name, _, secret = rest.rpartition("_")
    if prefix != PREFIX or not name or "\0" in name:
        return None
    rows = GeneratorCredential.objects.filter(generator=name, revoked_at=None)
    kept = rows.values_list("secret_sha256", flat=True).first() or ""
    return name if compare_digest(digest(secret), kept) else None
