"""Two groups of runs, test by test."""

from collections.abc import Mapping
from typing import Final

from benchsite.teams.models import Team
from reports.analysis.verdicts import Verdict, combined
from reports.verdicts.baseline_selection import Against, Named, by_test, named, nearest, verdict_with_history
from reports.verdicts.serialization import CompareAnswer, DiffersAnswer, SideAnswer, VerdictDocument
from reports.verdicts.verdict import side_of, verdict_of
from runs.models import Run

MAX_TESTS: Final = 20


class TooManyTests(Exception):
    """More tests than are compared at once. The message says what to do."""


class Incomparable(Exception):
    """No test of one side may be compared with one of the other. `differs` says why."""

    def __init__(self, differs: tuple[DiffersAnswer, ...]) -> None:
        self.differs = differs
        super().__init__("The sides may not be compared. " + " ".join(one.detail for one in differs[:5]))


def compared(team: Team, base: str, new: str, thresholds: Mapping[str, float] | None = None) -> CompareAnswer:
    """Raises NothingNamed, Ambiguous, TooManyTests and Incomparable."""
    theirs, mine = named(team, base), named(team, new)
    before, after = by_test(theirs.runs), by_test(mine.runs)
    shared = [test for test in after if test in before]
    if len(shared) > MAX_TESTS:
        raise TooManyTests(
            f"Both sides have runs of {len(shared)} tests, of which {MAX_TESTS} are compared at once: name runs by id."
        )
    asked = {**theirs.thresholds, **(thresholds or {})}
    pairs = [(after[test], before[test]) for test in shared] or [_nearest(mine, theirs)]
    found = [_judged(team, runs, others, theirs, asked) for runs, others in pairs]
    if differs := _all_differ(found):
        raise Incomparable(differs)
    return CompareAnswer(
        combined([Verdict(one.verdict) for one in found]).value,
        tuple(found),
        tuple(runs[0].name for test, runs in after.items() if test not in before),
        tuple(runs[0].name for test, runs in before.items() if test not in after),
    )


def _judged(
    team: Team, runs: list[Run], others: list[Run], theirs: Named, thresholds: Mapping[str, float]
) -> VerdictDocument:
    if not runs or not others:
        return verdict_of(team, runs, others)
    side = side_of(others)
    base = SideAnswer(side.runs, side.commit, side.branch, theirs.name, theirs.chosen)
    return verdict_with_history(team, runs, Against(tuple(others), base), thresholds)


def _nearest(mine: Named, theirs: Named) -> tuple[list[Run], list[Run]]:
    """Where the sides have no test in common: the first test of the new side and what is nearest to it."""
    after, before = by_test(mine.runs), by_test(theirs.runs)
    if not after or not before:
        return list(mine.runs), list(theirs.runs)
    first = next(iter(after.values()))
    return first, nearest(first[0], list(before.values()))


def _all_differ(found: list[VerdictDocument]) -> tuple[DiffersAnswer, ...]:
    """Every difference, where no comparison is possible; empty where one is."""
    if any(one.environment.comparable for one in found):
        return ()
    return tuple(dict.fromkeys(differs for one in found for differs in one.environment.differs))
