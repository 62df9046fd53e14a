"""Keys for programs: `bs_<key>_<secret><checksum>`, shown once, of which only the secret's SHA-256 is kept.

The checksum tells a token that was cut or mistyped from one that is unknown without asking the database.
"""

import secrets
import string
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from hmac import compare_digest
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from benchsite.accounts import audit, limits
from benchsite.accounts.messages import BEYOND_ROLE, LIFE_TOO_LONG, MEMBERS_ONLY, NO_SCOPE, TOKEN_ENDED, TOKEN_ROTATED
from benchsite.accounts.models import ApiToken, Membership, Role, Scope, Team, User
from benchsite.accounts.permissions import ORDER
from benchsite.accounts.sign_in_link import digest
from benchsite.accounts.tenancy import all_teams

PREFIX: Final = "bs"
_ALPHABET: Final = string.ascii_letters + string.digits
_KEY: Final = 8
_SECRET: Final = 32  # of 62 characters: 190 bits
_CHECKSUM: Final = 6
DEFAULT_LIFE: Final = timedelta(days=90)
MAX_LIFE: Final = timedelta(days=365)
OVERLAP: Final = timedelta(days=1)  # a rotated token serves on while its successor is brought everywhere
SEEN_EVERY: Final = timedelta(minutes=1)  # the last use is not written more often
# The least role whose members may hold each scope.
MIN_ROLE: Final = {
    Scope.RUNS_READ: Role.VIEWER,
    Scope.RUNS_WRITE: Role.RUNNER,
    Scope.RUNS_DELETE: Role.ADMIN,
    Scope.MATRICES_RUN: Role.RUNNER,
    Scope.BUILDS_RUN: Role.BUILDER,
    Scope.REPORTS_WRITE: Role.RUNNER,
    Scope.SCHEDULES_WRITE: Role.RUNNER,
    Scope.WEBHOOKS_WRITE: Role.ADMIN,
    Scope.MACHINES_WRITE: Role.RUNNER,  # of whom operators and admins alone may do it, as on the pages
    Scope.DATABASES_WRITE: Role.RUNNER,
}


class TokenRefused(Exception):
    """The token cannot be made as asked. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who asks by a token: its row, and the scopes that its maker's role of today still allows."""

    token: ApiToken
    scopes: frozenset[str]

    @property
    def team(self) -> Team:
        return self.token.team

    @property
    def user(self) -> User:
        return self.token.maker


def allowed_scopes(role: str) -> list[Scope]:
    """The scopes that a member of this role may give to a token."""
    return [scope for scope, least in MIN_ROLE.items() if ORDER[Role(role)] >= ORDER[least]]


@transaction.atomic
def make(team: Team, maker: User, *, name: str, scopes: Collection[str], life: timedelta = DEFAULT_LIFE) -> str:
    """The whole token, which is nowhere but in the answer. Raises TokenRefused and LimitReached."""
    membership = Membership.objects.filter(team=team, user=maker).first()
    if membership is None:
        raise TokenRefused(MEMBERS_ONLY)
    if not scopes:
        raise TokenRefused(NO_SCOPE)
    excess = set(scopes) - set(allowed_scopes(membership.role))
    if excess:
        raise TokenRefused(BEYOND_ROLE.format(role=membership.role, scopes=", ".join(sorted(excess))))
    if not timedelta(0) < life <= MAX_LIFE:
        raise TokenRefused(LIFE_TOO_LONG.format(days=MAX_LIFE.days))

    limits.lock(team)
    limits.refuse_beyond("tokens-per-team", live_tokens(team) + 1)
    text, _ = _insert(team, maker, name=name, scopes=sorted(scopes), life=life)
    audit.note("token_made", team=team, actor=maker, subject=name, text=", ".join(sorted(scopes)))
    return text


def live_tokens(team: Team) -> int:
    """How many of its tokens work."""
    return team.tokens.filter(revoked_at__isnull=True, expires_at__gt=Now()).count()


@transaction.atomic
def rotate(token: ApiToken, by: User) -> str:
    """A successor of the same name, scopes and length of life; the old one ends a day from now. Raises TokenRefused."""
    old = ApiToken.objects.select_for_update().get(pk=token.pk)
    if old.revoked_at or old.expires_at <= timezone.now():
        raise TokenRefused(TOKEN_ENDED.format(name=old.name))
    if ApiToken.objects.filter(rotated_from=old).exists():
        raise TokenRefused(TOKEN_ROTATED.format(name=old.name))
    life = min(old.expires_at - old.created_at, MAX_LIFE)
    text, successor = _insert(old.team, old.maker, name=old.name, scopes=old.scopes, life=life)
    ApiToken.objects.filter(pk=successor.pk).update(rotated_from=old)
    ApiToken.objects.filter(pk=old.pk).update(expires_at=min(old.expires_at, timezone.now() + OVERLAP))
    audit.note("token_rotated", team=old.team, actor=by, subject=old.name)
    return text


def revoke(token: ApiToken, by: User) -> None:
    """It serves nobody from now on."""
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=Now()):
            audit.note("token_revoked", team=token.team, actor=by, subject=token.name)


def find_bearer(text: str) -> Bearer | None:
    """Who holds this token; None for one that is malformed, unknown, revoked, too old, or whose maker has left.

    One query, and once a minute a second that writes down the use.
    """
    parts = _split_token(text)
    if parts is None:
        return None

    key, secret = parts
    token, makers_role = _read_token(key)
    # Compared in any case, so that the answer takes as long for an unknown key.
    stored_digest = token.secret_sha256 if token else digest("")
    is_same = compare_digest(digest(secret), stored_digest)
    if token is None or not is_same:
        return None

    now = timezone.now()
    if token.revoked_at or token.expires_at <= now or not token.maker.is_active or makers_role is None:
        return None

    if token.last_used_at is None or now - token.last_used_at > SEEN_EVERY:
        unseen = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - SEEN_EVERY)
        with all_teams():
            ApiToken.objects.filter(unseen, pk=token.pk).update(last_used_at=now)

    return Bearer(token, frozenset(token.scopes) & {str(scope) for scope in allowed_scopes(makers_role)})


def _read_token(key: str) -> tuple[ApiToken | None, str | None]:
    """The token with its team and its maker, and the role that the maker has in the team today."""
    sql, models = _build_query()
    with connection.cursor() as cursor:
        cursor.execute(sql, [key])
        row = cursor.fetchone()

    if row is None:
        return None, None

    role, *values = row
    rows = []
    for model, names in models:
        rows.append(model.from_db(connection.alias, names, values[: len(names)]))
        del values[: len(names)]

    token, team, maker = rows
    token.team, token.maker = team, maker
    return token, role


@lru_cache(maxsize=1)
def _build_query() -> tuple[str, list[tuple[Any, list[str]]]]:
    """The statement, and the models with the fields whose columns follow the role in its rows. Every request of a
    program asks it, so it is written once and not made by the ORM each time.
    """
    columns: list[str] = []
    models: list[tuple[Any, list[str]]] = []
    for model in (ApiToken, Team, User):
        fields = model._meta.concrete_fields
        columns += [f'"{model._meta.db_table}"."{field.column}"' for field in fields]
        models.append((model, [field.attname for field in fields]))

    token, team, maker = ApiToken._meta.db_table, Team._meta.db_table, User._meta.db_table
    member = Membership._meta.db_table
    sql = (
        f"SELECT {member}.role, {', '.join(columns)} FROM {token}"
        f" JOIN {team} ON {team}.id = {token}.team_id JOIN {maker} ON {maker}.id = {token}.maker_id"
        f" LEFT JOIN {member} ON {member}.team_id = {token}.team_id AND {member}.user_id = {token}.maker_id"
        f" WHERE {token}.key = %s"
    )
    return sql, models


def _insert(team: Team, maker: User, *, name: str, scopes: list[str], life: timedelta) -> tuple[str, ApiToken]:
    key, secret = _generate_text(_KEY), _generate_text(_SECRET)
    token = ApiToken.objects.create(
        team=team,
        maker=maker,
        name=name,
        key=key,
        secret_sha256=digest(secret),
        scopes=scopes,
        expires_at=timezone.now() + life,
    )
    return f"{PREFIX}_{key}_{secret}{_compute_checksum(key + secret)}", token


def _split_token(text: str) -> tuple[str, str] | None:
    """Key and secret of a token that is whole."""
    if not text.isascii() or text.count("_") != 2:
        return None
    prefix, key, rest = text.split("_")
    secret, checksum = rest[:_SECRET], rest[_SECRET:]
    if prefix != PREFIX or len(key) != _KEY or checksum != _compute_checksum(key + secret):
        return None
    return key, secret


def _generate_text(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def _compute_checksum(text: str) -> str:
    """CRC-32 in the token's own alphabet."""
    number = zlib.crc32(text.encode())
    checksum = ""
    for _ in range(_CHECKSUM):
        number, digit = divmod(number, len(_ALPHABET))
        checksum += _ALPHABET[digit]
    return checksum
