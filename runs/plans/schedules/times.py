"""When a schedule is due. In UTC, which has no summer time: no hour is missing, none comes twice. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import count, islice
from typing import Final

from benchsite.core.formatting import enumerated
from runs.plans.messages import EVERY_DAY, EVERY_HOUR

HOURS: Final = "hours"
DAY: Final = "day"
WEEK: Final = "week"
# Those that divide a day, so that every day has the same times.
EVERY_HOURS: Final = (1, 2, 3, 4, 6, 8, 12)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Rule:
    """Every `hours` hours counted from `at`, every day at `at`, or at `at` on some days of the week (0 is Monday)."""

    every: str
    at: time
    hours: int = 0
    days: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.every == HOURS and self.hours not in EVERY_HOURS:
            raise ValueError(f"{self.hours} does not divide a day: choose one of {', '.join(map(str, EVERY_HOURS))}.")
        if self.every == WEEK and not set(self.days) & set(range(7)):
            raise ValueError("Choose at least one day of the week.")


def following(rule: Rule, after: datetime) -> Iterator[datetime]:
    """The times of the rule after a moment, without end."""
    first = after.astimezone(UTC).date()
    times = _times_of_day(rule)
    for number in count():
        day = first + timedelta(days=number)
        if rule.every == WEEK and day.weekday() not in rule.days:
            continue
        for at in times:
            due = datetime.combine(day, at, UTC)
            if due > after:
                yield due


def next_times(rule: Rule, after: datetime, most: int) -> list[datetime]:
    """The next times after a moment."""
    return list(islice(following(rule, after), most))


def in_words(rule: Rule) -> str:
    """The rule in words: “every day at 03:00 UTC”."""
    if rule.every == HOURS:
        every = "every hour"
        if rule.hours != 1:
            every = f"every {rule.hours} hours"
        times = _times_of_day(rule)
        if len(times) > 6:
            return EVERY_HOUR.format(hours=every, minute=rule.at.minute)
        return f"{every}, at {enumerated([f'{at:%H:%M}' for at in times])} UTC"
    if rule.every == WEEK:
        return f"on {enumerated([f'{DAYS[day]}s' for day in sorted(set(rule.days))])} at {rule.at:%H:%M} UTC"
    return EVERY_DAY.format(at=rule.at)


def _times_of_day(rule: Rule) -> list[time]:
    """The times of day of a rule, on each day that has any."""
    if rule.every != HOURS:
        return [rule.at]
    return [time(hour, rule.at.minute) for hour in range(rule.at.hour % rule.hours, 24, rule.hours)]
