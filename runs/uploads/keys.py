"""The keys under which programs upload: each names one upload of its team, however often the request is repeated.

Whoever works under a key holds PostgreSQL's advisory lock on it until the transaction ends that stores the key together
with what it names. So two requests at once make one run, and of a server that was killed nothing is left to wait for.
"""

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.db import connection
from django.db.models.functions import Now

from benchsite.accounts.models import Team
from runs.models import Upload, UploadKey

KEPT_FOR: Final = timedelta(days=7)
MAX_LENGTH: Final = 255
# The first of the two numbers of these locks; no other lock of this database has two.
_LOCKS: Final = 7_305_062
# Almost every key is new: what that costs is asked in SQL.
_IS_KNOWN: Final = "SELECT 1 FROM runs_uploadkey WHERE team_id = %s AND key = %s"


class KeyBusy(Exception):
    """Another request works under this key at this very moment."""


class KeyReused(Exception):
    """The key names another upload."""

    def __init__(self, earlier: UploadKey) -> None:
        self.earlier = earlier
        super().__init__(earlier.key)


def fits(key: str) -> bool:
    """Whether this can be a key: printable ASCII, and not too long."""
    return 0 < len(key) <= MAX_LENGTH and key.isascii() and key.isprintable()


def find(team: Team, key: str, fingerprint: str) -> UploadKey | None:
    """The row of this key, or None. Raises KeyReused."""
    earlier = UploadKey.objects.filter(team=team, key=key).select_related("upload").first()
    if earlier is not None and earlier.fingerprint != fingerprint:
        raise KeyReused(earlier)
    return earlier


def hold(team: Team, key: str, fingerprint: str) -> UploadKey | None:
    """Until the end of this transaction nobody else works under this key; then as `find`. Raises KeyBusy, KeyReused."""
    digest = hashlib.sha256(f"{team.pk}/{key}".encode()).digest()
    number = int.from_bytes(digest[:4], "big", signed=True)
    with connection.cursor() as cursor:
        # One round trip, but two statements: the second must see what the key's last holder committed.
        cursor.execute(f"SELECT pg_try_advisory_xact_lock(%s, %s); {_IS_KNOWN}", [_LOCKS, number, team.pk, key])
        is_held = cursor.fetchone()
        if not (is_held and is_held[0]):
            raise KeyBusy(key)
        cursor.nextset()
        is_known = cursor.fetchone() is not None

    if is_known:
        return find(team, key, fingerprint)

    return None


def make_row(
    team: Team, key: str, fingerprint: str, *, upload: Upload, status: int, answer: Mapping[str, Any]
) -> UploadKey:
    """A row that names what this transaction stores, itself not stored yet; the caller holds the key."""
    return UploadKey(team=team, key=key, fingerprint=fingerprint, upload=upload, status=status, answer=answer)


def free(upload: Upload) -> None:
    """Whatever names this upload may name another."""
    UploadKey.objects.filter(upload=upload).delete()


def expire() -> None:
    """Forget the keys that are too old to be repeated."""
    UploadKey.objects.filter(created_at__lt=Now() - KEPT_FOR).delete()
