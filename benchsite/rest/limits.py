"""How often a token may ask: requests and uploads a minute, counted in Redis and said in every answer.

Counting is one round trip, and what is refused is not counted. While Redis is away nobody is refused, and it is not
waited for: a site that cannot count goes on. The answers say it in the fields of the IETF's draft: `RateLimit-Policy`,
`RateLimit`, `Retry-After`.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, cast
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from benchsite.rest.problems import Problem

log = logging.getLogger(__name__)
Name = Literal["requests", "uploads"]
WINDOW_S: Final = 60
PATIENCE_S: Final = 0.2
# After Redis did not answer it is left alone for so long.
AWAY_S: Final = 5.0
# Begun only in a minute with room; what goes beyond it is taken from the minutes that follow, one of KEYS for each.
CHARGE: Final = """
local number, quota, used = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(redis.call('GET', KEYS[1]) or '0')
if used >= quota then return {used, 0} end
local first = used + math.min(number, quota - used)
for place, key in ipairs(KEYS) do
  local part = math.min(number, math.max(0, quota - tonumber(redis.call('GET', key) or '0')))
  if part > 0 then
    redis.call('INCRBY', key, part)
    redis.call('EXPIRE', key, (place + 1) * tonumber(ARGV[3]))
    number = number - part
  end
  if number == 0 then break end
end
return {first, 1}
"""
_away_until = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What a token has used of one policy in the present window."""

    name: str
    quota: int
    used: int
    ends_in_s: int

    @property
    def left(self) -> int:
        return max(0, self.quota - self.used)


def quota_of(name: Name) -> int:
    """How many a minute; 0: as many as one likes."""
    return int(settings.API_UPLOADS_PER_MINUTE if name == "uploads" else settings.API_REQUESTS_PER_MINUTE)


def spend(request: HttpRequest, token: UUID, costs: Mapping[Name, int], refusal: str = "") -> None:
    """Count what this request costs; more uploads than the minute has left are taken from the coming minutes.

    Raises Problem("quota-exceeded") where this minute has none left; `refusal` says what that means for the request.
    """
    charged = _charge(token, {name: quota for name in costs if (quota := quota_of(name))}, costs)
    request.spent = [*_spent(request), *(spent for spent, _ in charged)]  # type: ignore[attr-defined]
    if over := [spent for spent, is_counted in charged if not is_counted]:
        quotas = " and ".join(f"{spent.quota} {spent.name}" for spent in over)
        wait = max(spent.ends_in_s for spent in over)
        raise Problem(
            "quota-exceeded",
            f"A token has {quotas} a minute, and this one has used them. {refusal}Wait {wait} s.",
            headers={"Retry-After": str(wait)},
        )


def tell(request: HttpRequest, response: HttpResponseBase) -> None:
    """Say in the answer what is left."""
    if spent := _spent(request):
        response["RateLimit-Policy"] = ", ".join(f'"{limit.name}";q={limit.quota};w={WINDOW_S}' for limit in spent)
        response["RateLimit"] = ", ".join(f'"{limit.name}";r={limit.left};t={limit.ends_in_s}' for limit in spent)


def _spent(request: HttpRequest) -> list[Spent]:
    return cast(list[Spent], getattr(request, "spent", []))


def _charge(token: UUID, quotas: Mapping[Name, int], costs: Mapping[Name, int]) -> list[tuple[Spent, bool]]:
    """What is used of each quota then, and whether this was counted; nothing while nobody can count."""
    global _away_until
    if not quotas or time.monotonic() < _away_until:
        return []
    now = time.time()
    window, ends_in_s = int(now // WINDOW_S), WINDOW_S - int(now % WINDOW_S)
    try:
        with _redis(settings.REDIS_URL).pipeline(transaction=False) as pipe:
            for name, quota in quotas.items():
                # What a batch before took from coming minutes ends where a minute has room, so those that follow are
                # untouched.
                minutes = range(window, window + -(-costs[name] // quota) + 1)
                keys = [f"limit:{name}:{token}:{minute}" for minute in minutes]
                pipe.eval(CHARGE, len(keys), *keys, costs[name], quota, WINDOW_S)
            answers = pipe.execute()
    except RedisError as error:
        _away_until = time.monotonic() + AWAY_S
        log.warning("Redis does not answer (%s): requests are not counted for %g s", error, AWAY_S)
        return []
    return [
        (Spent(name, quota, int(used), ends_in_s), bool(is_counted))
        for (name, quota), (used, is_counted) in zip(quotas.items(), answers, strict=True)
    ]


@lru_cache(maxsize=4)
def _redis(url: str) -> Redis:
    return Redis.from_url(
        url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S, retry=Retry(NoBackoff(), 0)
    )
