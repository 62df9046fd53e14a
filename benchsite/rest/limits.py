"""How often a token may ask: requests and uploads a minute, counted in Redis and said in every answer.

Counting is one round trip. While Redis is away nobody is refused, and it is not waited for: a site that cannot count
goes on. The answers say it in the fields of the IETF's draft: `RateLimit-Policy`, `RateLimit`, `Retry-After`.
"""

import logging
import time
from collections.abc import Sequence
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


def spend(request: HttpRequest, token: UUID, names: Sequence[Name]) -> None:
    """Count this request. Raises Problem("quota-exceeded") for one too many."""
    wanted = [(name, quota) for name in names if (quota := quota_of(name))]
    spent = _count(token, wanted) if wanted else []
    request.spent = spent  # type: ignore[attr-defined]
    over = [one for one in spent if one.used > one.quota]
    if over:
        said = " and ".join(f"{one.quota} {one.name}" for one in over)
        wait = max(one.ends_in_s for one in over)
        raise Problem(
            "quota-exceeded",
            f"A token has {said} a minute, and this one has used them. Wait {wait} s.",
            headers={"Retry-After": str(wait)},
        )


def spend_uploads(request: HttpRequest, token: UUID, number: int) -> None:
    """Count so many uploads of one request, which may take those of the coming minutes too.

    Raises Problem("quota-exceeded") where this minute has none left; nothing is counted then.
    """
    quota = quota_of("uploads")
    found = _charge(token, number, quota) if quota else None
    if found is None:
        return
    spent, begun = found
    request.spent = [*_spent(request), spent]  # type: ignore[attr-defined]
    if begun:
        return
    wait = spent.ends_in_s
    raise Problem(
        "quota-exceeded",
        f"A token has {quota} uploads a minute, and this one has used them. Nothing of this batch was stored or "
        f"counted. Wait {wait} s.",
        headers={"Retry-After": str(wait)},
    )


def tell(request: HttpRequest, response: HttpResponseBase) -> None:
    """Say in the answer what is left."""
    if spent := _spent(request):
        response["RateLimit-Policy"] = ", ".join(f'"{one.name}";q={one.quota};w={WINDOW_S}' for one in spent)
        response["RateLimit"] = ", ".join(f'"{one.name}";r={one.left};t={one.ends_in_s}' for one in spent)


def _spent(request: HttpRequest) -> list[Spent]:
    return cast(list[Spent], getattr(request, "spent", []))


def _window() -> tuple[int, int]:
    """Its number, and in how many seconds it ends."""
    now = time.time()
    return int(now // WINDOW_S), WINDOW_S - int(now % WINDOW_S)


def _leave_alone(error: RedisError) -> None:
    global _away_until
    _away_until = time.monotonic() + AWAY_S
    log.warning("Redis does not answer (%s): requests are not counted for %g s", error, AWAY_S)


def _charge(token: UUID, number: int, quota: int) -> tuple[Spent, bool] | None:
    """What is used of this minute's uploads then, and whether these were counted; None: nobody counts now."""
    if time.monotonic() < _away_until:
        return None
    window, ends_in_s = _window()
    # What a batch before took from coming minutes ends where a minute has room, so those that follow are untouched.
    minutes = range(window, window + -(-number // quota) + 1)
    keys = [f"limit:uploads:{token}:{minute}" for minute in minutes]
    try:
        # Its types say that it may be awaited; this client never is.
        said = cast(list[int], _redis(settings.REDIS_URL).eval(CHARGE, len(keys), *keys, number, quota, WINDOW_S))
    except RedisError as error:
        _leave_alone(error)
        return None
    return Spent("uploads", quota, int(said[0]), ends_in_s), bool(said[1])


def _count(token: UUID, wanted: Sequence[tuple[Name, int]]) -> list[Spent]:
    if time.monotonic() < _away_until:
        return []
    window, ends_in_s = _window()
    try:
        with _redis(settings.REDIS_URL).pipeline(transaction=False) as pipe:
            for name, _ in wanted:
                key = f"limit:{name}:{token}:{window}"
                pipe.incr(key)
                pipe.expire(key, 2 * WINDOW_S)
            answers = pipe.execute()
    except RedisError as error:
        _leave_alone(error)
        return []
    return [Spent(name, quota, used, ends_in_s) for (name, quota), used in zip(wanted, answers[::2], strict=True)]


@lru_cache(maxsize=4)
def _redis(url: str) -> Redis:
    return Redis.from_url(
        url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S, retry=Retry(NoBackoff(), 0)
    )
