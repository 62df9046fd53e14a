"""How often a token may ask: requests, uploads and pushes of metrics a minute, and uploads an hour of all tokens of its
team, counted in Redis and said in every answer.

Counting is one round trip, and what is refused is not counted. While Redis is away or full it is not waited for, and
PostgreSQL counts. The answers say it in the fields of the IETF's draft: `RateLimit-Policy`,
`RateLimit`, `Retry-After`.
"""

import contextlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final, Literal, cast
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import OutOfMemoryError, RedisError
from redis.retry import Retry

from benchsite.accounts import counters
from benchsite.accounts.models import ApiToken, Team
from benchsite.rest.problems import Problem

log = logging.getLogger(__name__)
Name = Literal["requests", "uploads", "pushes"]
WINDOW_S: Final = 60  # of a token
HOUR_S: Final = 3600
PATIENCE_S: Final = 0.2
# After Redis did not answer it is left alone for so long; after it was full, nothing is counted there for so long.
AWAY_S: Final = 5.0
# Of each of KEYS: its quota and the length of its window. What is beyond the quota is not counted.
CHARGE: Final = """
local answers = {}
for at, key in ipairs(KEYS) do
  local used, quota = tonumber(redis.call('GET', key) or '0'), tonumber(ARGV[2 * at - 1])
  local counted = 0
  if used < quota then
    used, counted = redis.call('INCR', key), 1
    redis.call('EXPIRE', key, 2 * ARGV[2 * at])
  end
  table.insert(answers, {used, counted})
end
return answers
"""
_away_until = _full_until = 0.0


@dataclass(frozen=True, slots=True)
class Policy:
    """How often its owner, a token or a team, may do something in a window."""

    name: str
    owner: UUID
    quota: int
    window_s: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What is used of one policy in the present window."""

    policy: Policy
    used: int
    ends_in_s: int

    @property
    def left(self) -> int:
        return max(0, self.policy.quota - self.used)


def get_policies(name: Name, token: ApiToken) -> list[Policy]:
    """The policies that apply; quotas of 0 limit nothing."""
    quotas: dict[Name, int] = {
        "requests": settings.API_REQUESTS_PER_MINUTE,
        "uploads": settings.API_UPLOADS_PER_MINUTE,
        "pushes": settings.API_PUSHES_PER_MINUTE,
    }
    policies = [Policy(name, token.pk, quotas[name], WINDOW_S, f"A token has {quotas[name]} {name} a minute")]
    if name == "uploads":
        quota = settings.LIMITS["uploads-per-team"]
        policies.append(Policy("uploads-per-team", token.team_id, quota, HOUR_S, f"A team has {quota} uploads an hour"))
    return [policy for policy in policies if policy.quota]


def spend(request: HttpRequest, token: ApiToken, names: Sequence[Name]) -> None:
    """Count this request. Raises Problem("quota-exceeded") where a window has none left."""
    policies = list(chain.from_iterable(get_policies(name, token) for name in names))
    charged = _charge(policies)
    request.spent = [*_get_spent(request), *(spent for spent, _ in charged)]  # type: ignore[attr-defined]
    exceeded = [spent for spent, is_counted in charged if not is_counted]
    if exceeded:
        wait_s = max(spent.ends_in_s for spent in exceeded)
        sentences = " and ".join(spent.policy.sentence for spent in exceeded)
        raise Problem(
            "quota-exceeded",
            f"{sentences}, and these are used. Wait {wait_s} s.",
            headers={"Retry-After": str(wait_s)},
            limit=exceeded[0].policy.name,
        )


def tell(request: HttpRequest, response: HttpResponseBase) -> None:
    """Say in the answer what is left."""
    policies, left = [], []
    for spent in _get_spent(request):
        policy = spent.policy
        policies.append(f'"{policy.name}";q={policy.quota};w={policy.window_s}')
        left.append(f'"{policy.name}";r={spent.left};t={spent.ends_in_s}')
    if policies:
        response["RateLimit-Policy"] = ", ".join(policies)
        response["RateLimit"] = ", ".join(left)


def _get_spent(request: HttpRequest) -> list[Spent]:
    return cast(list[Spent], getattr(request, "spent", []))


def _charge(policies: Sequence[Policy]) -> list[tuple[Spent, bool]]:
    """The used part of each policy afterwards, and whether this request was counted."""
    if not policies:
        return []

    now = time.time()
    keys = [_build_key(policy.name, policy.owner, int(now // policy.window_s)) for policy in policies]
    answers = _charge_in_redis(policies, keys)
    if not answers:
        earlier = _read_used(keys)
        answers = [_charge_in_database(*each) for each in zip(policies, keys, earlier, strict=True)]

    charged = []
    for policy, (used, is_counted) in zip(policies, answers, strict=True):
        ends_in_s = policy.window_s - int(now % policy.window_s)
        charged.append((Spent(policy, int(used), ends_in_s), bool(is_counted)))
    return charged


def _charge_in_redis(policies: Sequence[Policy], keys: Sequence[str]) -> list[tuple[int, int]]:
    """Used and counted for each; nothing while Redis does not count."""
    global _away_until, _full_until
    if time.monotonic() < max(_away_until, _full_until):
        return []

    numbers = chain.from_iterable((policy.quota, policy.window_s) for policy in policies)
    try:
        return cast(list[tuple[int, int]], _connect_redis(settings.REDIS_URL).eval(CHARGE, len(keys), *keys, *numbers))
    except OutOfMemoryError as error:
        _full_until = time.monotonic() + AWAY_S
        log.warning("Redis is full (%s): PostgreSQL counts requests for %g s", error, AWAY_S)
    except RedisError as error:
        _away_until = time.monotonic() + AWAY_S
        log.warning("Redis does not count (%s): PostgreSQL counts requests for %g s", error, AWAY_S)

    return []


def _read_used(keys: Sequence[str]) -> list[int]:
    """The counts of Redis before it was full; none while it does not answer."""
    if time.monotonic() >= _away_until:
        with contextlib.suppress(RedisError):
            return [int(used or 0) for used in _connect_redis(settings.REDIS_URL).mget(keys)]
    return [0] * len(keys)


def _charge_in_database(policy: Policy, key: str, earlier: int) -> tuple[int, int]:
    """Used, with what was used `earlier`, and counted."""
    used = None
    if earlier < policy.quota:
        used = counters.add(key, policy.quota - earlier, policy.window_s)
    if used is None:
        return (policy.quota, 0)
    return (earlier + used, 1)


def used_uploads(team: Team) -> int | None:
    """Uploads of all tokens of a team in this hour; None while nobody can count."""
    window = int(time.time() // HOUR_S)
    try:
        return int(_connect_redis(settings.REDIS_URL).get(_build_key("uploads-per-team", team.pk, window)) or 0)
    except RedisError:
        return None


def _build_key(policy: str, owner: UUID, window: int) -> str:
    return f"limit:{policy}:{owner}:{window}"


@lru_cache(maxsize=4)
def _connect_redis(url: str) -> Redis:
    return Redis.from_url(
        url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S, retry=Retry(NoBackoff(), 0)
    )
