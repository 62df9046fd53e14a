"""Two sides held against each other, each named: by ids of runs, a branch, a period, a baseline, a commit."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from django.utils import timezone

from benchsite.accounts.models import Team
from reports.compare.analysis.comparability import DiffersAnswer
from reports.trends.analysis.baseline_levels import Level
from reports.trends.analysis.verdict_rules import Verdict, combined
from reports.trends.messages import RUNS_OF_WEEK
from reports.trends.queries.baselines import (
    baseline_named,
    commits_like,
    runs_named,
    runs_of_branch,
    runs_of_commit,
    runs_of_days,
    select_after,
)
from reports.trends.verdicts.baseline_selection import (
    against_pinned,
    by_test,
    nearest,
    select_counting,
    verdict_with_history,
)
from reports.trends.verdicts.serialization import CompareAnswer, VerdictDocument
from reports.trends.verdicts.verdict import Against, compute_verdict, get_common
from runs.identifiers import parse_uuid
from runs.models import Run

MAX_TESTS: Final = 20
BRANCH: Final = "branch:"
# A period of a side is seven days long; each ends so long before now.
WEEK: Final = dt.timedelta(days=7)
WEEKS: Final = {"this-week": dt.timedelta(), "last-week": WEEK}


def describe_side(text: str) -> str:
    """What a heading calls a side: "this week", or the name of a branch."""
    if text in WEEKS:
        return text.replace("-", " ")
    return text.removeprefix(BRANCH)


def find_period(text: str) -> tuple[dt.datetime, dt.datetime] | None:
    """The beginning and the end of a week; None for another side."""
    if text not in WEEKS:
        return None
    until = timezone.now() - WEEKS[text]
    return until - WEEK, until


class NothingNamed(Exception):
    """No run of the team is meant by this text. The message says what could be."""


class Ambiguous(Exception):
    """The text stands for more than one thing. The message says for which."""


def named(team: Team, text: str) -> Against:
    """The runs that a text names. Raises NothingNamed, Ambiguous.

    Run ids (commas between them) stand for exactly these; `branch:main` for the newest commit of a branch, `this-week`
    and `last-week` for seven days of the default branch; else a baseline's name, a commit, a commit's beginning.
    """
    text = text.strip()
    if text.startswith(BRANCH):
        branch = text.removeprefix(BRANCH)
        chosen = f"The newest commit of the branch “{branch[:64]}”."
        return _require_runs(Against(runs_of_branch(team, branch), chosen, level=Level.COMMIT))
    if period := find_period(text):
        since, until = period
        chosen = RUNS_OF_WEEK.format(since=f"{since:%Y-%m-%d %H:%M}", until=f"{until:%Y-%m-%d %H:%M}")
        return _require_runs(Against(runs_of_days(team, since, until), chosen, level=Level.PERIOD))

    ids = _parse_ids(text)
    if ids:
        runs = runs_named(team, ids)
        if len(runs) < len(set(ids)):
            raise NothingNamed("One of these runs is not there.")
        return Against(runs, "The runs that were asked for.")

    baseline = baseline_named(team, text)
    if baseline:
        return against_pinned(baseline)

    commits = commits_like(team, text)
    if not commits:
        raise NothingNamed(f"“{text[:64]}” is no run, no baseline and no commit of this team.")
    if len(commits) > 1:
        raise Ambiguous(f"Several commits begin with “{text[:64]}”: {', '.join(commits)}. Give more of it.")

    commit = commits[0]
    return Against(runs_of_commit(team, commit), f"The runs of commit {commit[:12]}.", level=Level.COMMIT)


def _parse_ids(text: str) -> list[uuid.UUID]:
    """The ids of a list with commas; none where any part of it is no id."""
    ids = [parse_uuid(part.strip()) for part in text.split(",") if part.strip()]
    return [] if None in ids else [run_id for run_id in ids if run_id]


def _require_runs(against: Against) -> Against:
    if not against.runs:
        raise NothingNamed(f"No run counts. {against.chosen}")
    return against


class TooManyTests(Exception):
    """More tests than are compared at once. The message says what to do."""


class Incomparable(Exception):
    """No test of one side may be compared with one of the other. `differs` says why."""

    def __init__(self, differs: tuple[DiffersAnswer, ...]) -> None:
        self.differs = differs
        super().__init__("The sides may not be compared. " + " ".join(difference.detail for difference in differs[:5]))


def compared(team: Team, base: str, new: str, thresholds: Mapping[str, float] | None = None) -> CompareAnswer:
    """Raises NothingNamed, Ambiguous, TooManyTests and Incomparable."""
    base_named, new_named = named(team, base), named(team, new)
    base_tests, new_tests = by_test(base_named.runs), by_test(new_named.runs)
    shared = [test for test in new_tests if test in base_tests]
    if len(shared) > MAX_TESTS:
        raise TooManyTests(
            f"Both sides have runs of {len(shared)} tests, of which {MAX_TESTS} are compared at once: name runs by id."
        )

    if shared:
        pairs = [(new_tests[test], base_tests[test]) for test in shared]
    elif new_tests and base_tests:
        # No test in common: the first test of the new side and what is nearest to it.
        first_test = next(iter(new_tests.values()))
        pairs = [(first_test, nearest(first_test[0], list(base_tests.values())))]
    else:
        pairs = [(list(new_named.runs), list(base_named.runs))]

    if new_named.level is Level.PERIOD and base_named.level in (Level.SIDE, Level.PERIOD):
        base_named = replace(base_named, level=Level.PERIOD)
    elif base_named.level is Level.PERIOD:
        base_named = replace(base_named, level=Level.SIDE)
    verdicts = [_judge(team, new_runs, replace(base_named, runs=runs), thresholds) for new_runs, runs in pairs]
    if not any(document.environment.comparable for document in verdicts):
        differs = chain.from_iterable(document.environment.differs for document in verdicts)
        raise Incomparable(tuple(dict.fromkeys(differs)))

    return CompareAnswer(
        verdict=combined([Verdict(document.verdict) for document in verdicts]).value,
        comparisons=tuple(verdicts),
        only_new=tuple(runs[0].name for test, runs in new_tests.items() if test not in base_tests),
        only_base=tuple(runs[0].name for test, runs in base_tests.items() if test not in new_tests),
    )


def _judge(
    team: Team, new_runs: Sequence[Run], against: Against, thresholds: Mapping[str, float] | None
) -> VerdictDocument:
    """One test of both sides."""
    if not new_runs or not against.runs:
        return compute_verdict(team, new_runs, Against(against.runs))
    # Only a commit after that of the base has a history that leads to it.
    later_runs = select_after(select_counting(new_runs), select_counting(against.runs))
    if against.level is Level.COMMIT and not (get_common(run.commit for run in new_runs) and later_runs):
        against = replace(against, level=Level.SIDE)
    return verdict_with_history(team, new_runs, against, thresholds)
