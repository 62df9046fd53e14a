"""Typed reading of environment variables: nonsense raises, naming the variable and what would be right."""

import ipaddress
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

from benchsite.core.formatting import exact
from benchsite.core.messages import WRITE_NETWORKS

N = TypeVar("N", int, float)
# Where the processes of a web server count requests together, and which of them this one is.
METRICS_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
METRICS_NUMBER_VARIABLE = "BENCHSITE_COUNTING_PLACE"


def env_str(name: str, default: str) -> str:
    """The variable's text, or `default` where it is not set or empty."""
    return os.environ.get(name) or default


def env_bool(name: str, default: bool) -> bool:
    """True or False, written exactly so; anything else is refused rather than guessed."""
    raw = os.environ.get(name, "")
    if not raw:
        return default
    if raw not in ("True", "False"):
        raise ImproperlyConfigured(f"{name}={raw!r}: write True or False.")
    return raw == "True"


def env_int(name: str, default: int, *, least: int, most: int) -> int:
    """A whole number in [least, most]."""
    return _number(name, default, least, most, int, "a whole number")


def env_float(name: str, default: float, *, least: float, most: float) -> float:
    """A number in [least, most]."""
    return _number(name, default, least, most, float, "a number")


def _number(name: str, default: N, least: N, most: N, read: Callable[[str], N], kind: str) -> N:
    raw = os.environ.get(name, "")
    if not raw:
        return default
    try:
        value = read(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={raw!r}: write {kind}.") from None
    if not least <= value <= most:  # Neither is true of NaN.
        raise ImproperlyConfigured(f"{name}={raw}: it must lie between {exact(least)} and {exact(most)}.")
    return value


def env_list(name: str, default: list[str]) -> list[str]:
    """A comma-separated list; blanks around the items are dropped."""
    raw = os.environ.get(name, "")
    if raw:
        return [item.strip() for item in raw.split(",") if item.strip()]
    return default


def env_networks(name: str) -> list[str]:
    """A comma-separated list of networks such as 10.0.0.0/8."""
    values = env_list(name, [])
    for network in values:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise ImproperlyConfigured(WRITE_NETWORKS.format(name=name, error=error)) from None
    return values


def env_ports(name: str, default: list[int]) -> list[int]:
    """A comma-separated list of TCP ports."""
    ports = []
    for text in env_list(name, []):
        if not (text.isdecimal() and 1 <= int(text) <= 65535):
            raise ImproperlyConfigured(f"{name}: {text!r} is no port; write numbers such as 443,8443.")
        ports.append(int(text))
    return ports or default


def env_path(name: str, default: Path) -> Path:
    """An absolute path."""
    raw = os.environ.get(name, "")
    path = default
    if raw:
        path = Path(raw)
    if not path.is_absolute():
        raise ImproperlyConfigured(f"{name}={raw!r}: write an absolute path.")
    return path


def env_choice(name: str, default: str, choices: list[str]) -> str:
    """One of these words."""
    value = env_str(name, default)
    if value not in choices:
        raise ImproperlyConfigured(f"{name}={value!r}: write one of {', '.join(choices)}.")
    return value
