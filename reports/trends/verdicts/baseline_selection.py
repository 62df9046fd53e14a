"""Which runs are judged with a run, and against which: by the name of a baseline, or by the rule."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import eq
from typing import Final, cast

from django.utils import timezone

from benchsite.accounts.models import Team
from reports.models import Baseline
from reports.trends.analysis.verdict_rules import DiffersAnswer, Level, Verdict, combined
from reports.trends.queries.baselines import (
    DEFAULT_BRANCHES,
    accepted_run,
    baseline_named,
    commits_like,
    count_tests,
    find_repeats,
    history_before,
    pinned_runs,
    runs_before,
    runs_named,
    runs_of_branch,
    runs_of_commit,
    runs_of_days,
)
from reports.trends.verdicts.serialization import CompareAnswer, SideAnswer, VerdictDocument
from reports.trends.verdicts.verdict import Followed, build_side, compute_verdict, why_not
from runs.identifiers import parse_uuid
from runs.models import Run, Status
from runs.queue.spec import RunSpec

RULE: Final = (
    "The newest commit on the default branch (main, else master, else trunk) that has a counted run of the same test "
    "from before this one; where none of these branches has any, the newest earlier commit on its own branch."
)
MAX_TESTS: Final = 20
BRANCH: Final = "branch:"
WEEK: Final = dt.timedelta(days=7)
WEEKS: Final = {"this-week": dt.timedelta(), "last-week": WEEK}


class BaselineUnknown(Exception):
    """The team has no baseline of this name."""


@dataclass(frozen=True, slots=True)
class Against:
    """What runs are judged against. No run: there is nothing yet."""

    runs: tuple[Run, ...] = ()
    side: SideAnswer = field(default_factory=lambda: SideAnswer(()))
    thresholds: Mapping[str, float] = field(default_factory=dict)
    level: Level = Level.SIDE


def verdict_of_run(
    run: Run, *, baseline: str = "", branch: str = "", thresholds: Mapping[str, float] | None = None
) -> VerdictDocument:
    """The verdict of a run and the repeats of its commit. Raises BaselineUnknown; at most fourteen queries."""
    if run.status not in Status.terminal():
        reason = f"Not judged: the run has not ended, it is {run.get_status_display()}."
        return VerdictDocument("inconclusive", (reason,), SideAnswer((run.pk,)), pending=True, test=run.config_key)

    new = find_repeats(run)
    if baseline:
        pinned = baseline_named(run.team, baseline)
        if pinned is None:
            raise BaselineUnknown(baseline)
        against = pinned_for(run, pinned)
    else:
        against = by_rule(new, branch)
    if against.runs:
        return verdict_with_history(run.team, new, against, thresholds)

    document = compute_verdict(run.team, new, ())
    if document.verdict == "error":
        return document

    reason = f"Not judged: there is nothing to judge against. {against.side.chosen}"
    return replace(document, verdict="inconclusive", reasons=(reason,), base=None)


def verdict_with_history(
    team: Team, new: Sequence[Run], against: Against, thresholds: Mapping[str, float] | None
) -> VerdictDocument:
    """The verdict with what the history of the test says of its sessions, among all tests of the commit."""
    sides = [*new, *against.runs]
    newest, newest_base = new[0], against.runs[0]
    oldest, oldest_base = new[-1], against.runs[-1]
    level = against.level
    if level is Level.BRANCH and newest_base.branch != newest.branch:
        level = Level.OTHER_BRANCH

    accepted = None
    if level in (Level.BRANCH, Level.OTHER_BRANCH):
        history = history_before(oldest_base, [newest_base.branch], sides)
        accepted = accepted_run(team.pk, newest.config_key)
    else:
        history = history_before(oldest, [*DEFAULT_BRANCHES, newest_base.branch], sides)

    since: list[Run] = []
    if level in (Level.OTHER_BRANCH, Level.PINNED):
        since = history_before(oldest, [newest.branch], sides)
    if level is Level.PINNED:
        since = [run for run in since if is_after(run, against.runs)]

    history_ids = [run.pk for run in history]
    at_level = len(history)
    if accepted in [run.pk for run in against.runs]:
        at_level = 0
    elif accepted in history_ids:
        at_level = history_ids.index(accepted) + 1
    followed = Followed(level, history, since, at_level, is_accepted=accepted in [run.pk for run in new])

    return compute_verdict(
        team,
        new,
        against.runs,
        base=against.side,
        thresholds={**against.thresholds, **(thresholds or {})},
        followed=followed,
        tests=count_tests(team.pk, [newest.commit, newest_base.commit]),
    )


def is_after(run: Run, others: Sequence[Run]) -> bool:
    """Whether it stands after all others in histories."""
    instants = [other.history_at for other in others if other.history_at]
    return run.history_at is not None and bool(instants) and run.history_at > max(instants)


def by_rule(new: Sequence[Run], branch: str) -> Against:
    """The baseline by the rule; with a branch the newest earlier commit on that one."""
    if branch:
        branches = [branch]
        rule = f"The newest earlier commit on the branch “{branch}” with a run of the same test."
    else:
        branches = list(dict.fromkeys([*DEFAULT_BRANCHES, new[0].branch]))
        rule = RULE
    # A first try that was rejected is not what is judged: what was measured since may well stand before the second.
    counting = [run for run in new if not why_not(run)]
    runs = runs_before(counting or new, branches)
    if not runs:
        return Against(side=SideAnswer((), chosen=f"No run was found by the rule: {rule[0].lower()}{rule[1:]}"))

    side = build_side(runs)
    base = f"“{runs[0].name}”, which states no commit"
    if side.commit:
        base = f"commit {side.commit[:12]}"
    if side.branch:
        base += f" on {side.branch}"
    chosen = f"Found {base} by the rule: {rule} Sessions before it count with it."
    return Against(tuple(runs), replace(side, chosen=chosen), level=Level.BRANCH)


def pinned_for(run: Run, baseline: Baseline) -> Against:
    """The pinned runs of the same test; where there is none, those of the test that is nearest to it."""
    tests = by_test(pinned_runs(baseline))
    chosen = f"The baseline “{baseline.name}”: {baseline.chosen}"
    if not tests:
        return Against(side=SideAnswer((), name=baseline.name, chosen=chosen))
    if run.config_key not in tests:
        chosen += " It pins no run of the same test, so this is the nearest one."
    runs: list[Run] = tests.get(run.config_key) or nearest(run, list(tests.values()))
    return Against(tuple(runs), build_side(runs, baseline.name, chosen), _parse_thresholds(baseline), Level.PINNED)


def _parse_thresholds(baseline: Baseline) -> dict[str, float]:
    return {str(name): float(share) for name, share in baseline.thresholds.items()}


def nearest(run: Run, groups: Sequence[list[Run]]) -> list[Run]:
    """The runs of the test that has most in common with a run's."""
    properties = _get_test_properties(run)

    def count_common(group: list[Run]) -> int:
        return sum(map(eq, properties, _get_test_properties(group[0])))

    return max(groups, key=count_common)


def _get_test_properties(run: Run) -> tuple[object, ...]:
    spec = cast(RunSpec, run.spec)
    load = spec["load"]
    return (
        spec["phase"],
        spec["system"],
        spec["database"]["name"],
        spec["mode"]["slug"],
        spec["workload"]["name"],
        spec["workload"]["properties"],
        spec["dataset"]["fingerprint"],
        load["threads"],
        load["target_ops_s"],
        load["processes"],
        spec["cluster"]["name"],
    )


# --- Two groups of runs by their names ---


def describe_side(text: str) -> str:
    """What a heading calls a side: "this week", or the name of a branch."""
    if text in WEEKS:
        return text.replace("-", " ")
    return text.removeprefix(BRANCH)


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
        return _require_runs(runs_of_branch(team, branch), f"The newest commit of the branch “{branch[:64]}”.")
    if text in WEEKS:
        until = timezone.now() - WEEKS[text]
        since = until - WEEK
        chosen = f"Runs of the default branch from {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} UTC."
        return _require_runs(runs_of_days(team, since, until), chosen)

    ids = _parse_ids(text)
    if ids:
        runs = runs_named(team, ids)
        if len(runs) < len(set(ids)):
            raise NothingNamed("One of these runs is not there.")
        return Against(tuple(runs), build_side(runs, chosen="The runs that were asked for."))

    baseline = baseline_named(team, text)
    if baseline:
        runs = pinned_runs(baseline)
        chosen = f"The baseline “{baseline.name}”: {baseline.chosen}"
        return Against(tuple(runs), build_side(runs, baseline.name, chosen), _parse_thresholds(baseline))

    commits = commits_like(team, text)
    if not commits:
        raise NothingNamed(f"“{text[:64]}” is no run, no baseline and no commit of this team.")
    if len(commits) > 1:
        raise Ambiguous(f"Several commits begin with “{text[:64]}”: {', '.join(commits)}. Give more of it.")

    commit = commits[0]
    runs = runs_of_commit(team, commit)
    return Against(tuple(runs), build_side(runs, chosen=f"The runs of commit {commit[:12]}."))


def _parse_ids(text: str) -> list[uuid.UUID]:
    """The ids of a list with commas; none where any part of it is no id."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    ids = [parse_uuid(part) for part in parts]
    if None in ids:
        return []
    return [run_id for run_id in ids if run_id]


def _require_runs(runs: list[Run], chosen: str) -> Against:
    if not runs:
        raise NothingNamed(f"No run counts. {chosen}")
    return Against(tuple(runs), build_side(runs, chosen=chosen))


def by_test(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs of each test, in their order."""
    tests: dict[str, list[Run]] = {}
    for run in runs:
        tests.setdefault(run.config_key, []).append(run)
    return tests


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

    verdicts = [_judge(team, new_runs, base_runs, base_named, thresholds) for new_runs, base_runs in pairs]
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
    team: Team,
    new_runs: list[Run],
    base_runs: list[Run],
    base_named: Against,
    thresholds: Mapping[str, float] | None,
) -> VerdictDocument:
    """One test of both sides; `base_named` is what the whole base is."""
    if not new_runs or not base_runs:
        return compute_verdict(team, new_runs, base_runs)
    side = build_side(base_runs, base_named.side.name, base_named.side.chosen)
    against = Against(tuple(base_runs), side, base_named.thresholds)
    return verdict_with_history(team, new_runs, against, thresholds)
