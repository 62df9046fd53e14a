"""Profiles of an open load: points of (second of the measured window, % of the rung), with straight lines between."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from runs.plans.plan_spec import MAX_POINTS, profile_problem

Points = list[list[float]]
# Shares of the window, and % of the rung.
PRESETS: Final[Mapping[str, tuple[str, Sequence[tuple[float, float]]]]] = {
    "steps": ("four steps", ((0, 25), (0.25, 25), (0.251, 50), (0.5, 50), (0.501, 75), (0.75, 75), (0.751, 100))),
    "ramp": ("a ramp from 0 to 100 %", ((0, 0), (1, 100))),
    "burst": ("a burst to 300 % in the middle", ((0, 100), (0.45, 100), (0.451, 300), (0.55, 300), (0.551, 100))),
    "overload": (
        "80 %, an overload of 200 %, and 80 % again",
        ((0, 80), (0.3333, 80), (0.3334, 200), (0.6666, 200), (0.6667, 80), (1, 80)),
    ),
    "day": (
        "a day, from midnight to midnight",
        tuple((hour / 24, round(55 - 45 * math.cos(2 * math.pi * (hour - 3) / 24), 1)) for hour in range(25)),
    ),
}
_LINE: Final = re.compile(r"\s*([0-9.]+)[\s,;:]+([0-9.]+)\s*", re.ASCII)
_RATES: Final = re.compile(r"\s*(?:second|time|t)s?[\s,;:]+(?:ops/s|ops_s|rate)\s*", re.ASCII | re.IGNORECASE)


class ProfileError(ValueError):
    """The message says which line is none, and what to write."""


def make_preset(name: str, window_s: float) -> Points:
    """The points of a preset over a window."""
    _, points = PRESETS[name]
    return [[round(share * window_s, 3), percent] for share, percent in points]


def parse_profile(text: str) -> tuple[Points, int | None]:
    """Lines of a second and % of the rung. Behind a line "second,ops/s" they are rates: the second value is then the
    highest of them, which the rung is to be. Raises ProfileError.
    """
    lines = {number: line for number, line in enumerate(text.splitlines(), start=1) if line.strip()}
    first = min(lines, default=0)
    are_rates = bool(lines) and _RATES.fullmatch(lines[first]) is not None
    if are_rates:
        del lines[first]
    if len(lines) > MAX_POINTS:
        raise ProfileError(f"The profile has {len(lines):,} points; at most {MAX_POINTS:,} are allowed.")

    points = [_parse_line(number, line) for number, line in lines.items()]
    peak = None
    if are_rates:
        peak = math.ceil(max((rate for _, rate in points), default=0))
        if not peak:
            raise ProfileError("The recorded rate is 0 all the time: give at least one rate above 0.")
        points = [[second, round(100 * rate / peak, 4)] for second, rate in points]

    problem = profile_problem(points)
    if problem:
        raise ProfileError(f"The profile {problem}.")

    return points, peak


def _parse_line(number: int, line: str) -> list[float]:
    match = _LINE.fullmatch(line)
    try:
        if match:
            return [float(match[1]), float(match[2])]
    except ValueError:
        pass
    raise ProfileError(f"Line {number} of the profile, “{line.strip()[:40]}”, is no point: write it as in 60, 150.")


def find_overload(points: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """From when to when a profile asks for more than its rung; None: never, or not between two quieter parts."""
    overloaded = [number for number, (_, percent) in enumerate(points) if percent > 100]
    if not overloaded:
        return None
    before, after = overloaded[0] - 1, overloaded[-1] + 1
    if before < 0 or after == len(points):
        return None
    (begin_s, _), (end_s, _) = points[before], points[after]
    return begin_s, end_s


def find_peak_percent(points: Sequence[Sequence[float]]) -> float:
    return max((percent for _, percent in points), default=100.0)
