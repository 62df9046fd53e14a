"""Two groups of runs, test by test."""

from collections.abc import Mapping
from typing import Final

from benchsite.teams.models import Team
from reports.analysis.verdicts import DiffersAnswer, Verdict, combined
from reports.verdicts.baseline_selection import Against, by_test, named, nearest, verdict_with_history
from reports.verdicts.serialization import CompareAnswer, VerdictDocument
from reports.verdicts.verdict import side_of, verdict_of
from runs.models import Run

MAX_TESTS: Final = 20


class TooManyTests(Exception):
    """More tests than are compared at once. The message says what to do."""


class Incomparable(Exception):
    """No test of one side may be compared with one of the other. `differs` says why."""

    def __init__(self, differs: tuple[DiffersAnswer, ...]) -> None:
        self.differs = differs
        super().__init__("The sides may not be compared. " + " ".join(difference.detail for difference in differs[:5]))


def compared(team: Team, base: str, new: str, thresholds: Mapping[str, float] | None = None) -> CompareAnswer:
    """Raises NothingNamed, Ambiguous, TooManyTests and Incomparable."""
    theirs, mine = named(team, base), named(team, new)
    before, after = by_test(theirs.runs), by_test(mine.runs)
    shared = [test for test in after if test in before]
    if len(shared) > MAX_TESTS:
        raise TooManyTests(
            f"Both sides have runs of {len(shared)} tests, of which {MAX_TESTS} are compared at once: name runs by id."
        )
    pairs = [(after[test], before[test]) for test in shared] or [_nearest(mine, theirs)]
    verdicts = [_judged(team, runs, others, theirs, thresholds) for runs, others in pairs]
    if differs := _all_differ(verdicts):
        raise Incomparable(differs)
    return CompareAnswer(
        combined([Verdict(document.verdict) for document in verdicts]).value,
        tuple(verdicts),
        tuple(runs[0].name for test, runs in after.items() if test not in before),
        tuple(runs[0].name for test, runs in before.items() if test not in after),
    )


def _judged(
    team: Team, runs: list[Run], others: list[Run], theirs: Against, thresholds: Mapping[str, float] | None
) -> VerdictDocument:
    if not runs or not others:
        return verdict_of(team, runs, others)
    base = side_of(others, theirs.side.name, theirs.side.chosen)
    return verdict_with_history(team, runs, Against(tuple(others), base, theirs.thresholds), thresholds)


def _nearest(mine: Against, theirs: Against) -> tuple[list[Run], list[Run]]:
    """Where the sides have no test in common: the first test of the new side and what is nearest to it."""
    after, before = by_test(mine.runs), by_test(theirs.runs)
    if not after or not before:
        return list(mine.runs), list(theirs.runs)
    first = next(iter(after.values()))
    return first, nearest(first[0], list(before.values()))


def _all_differ(verdicts: list[VerdictDocument]) -> tuple[DiffersAnswer, ...]:
    """Every difference, where no comparison is possible; empty where one is."""
    if any(document.environment.comparable for document in verdicts):
        return ()
    return tuple(dict.fromkeys(differs for document in verdicts for differs in document.environment.differs))
