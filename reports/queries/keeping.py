"""What was computed once and may be forgotten, in Django's cache. Losing Redis loses time only."""

from typing import Any

from django.core.cache import cache
from redis.exceptions import RedisError


def recall(name: str) -> Any:
    """What was kept under a name; None where nothing was, or nobody remembers."""
    try:
        return cache.get(name)
    except RedisError:
        return None


def keep(name: str, value: object, seconds: int) -> None:
    try:
        cache.set(name, value, seconds)
    except RedisError:
        return
