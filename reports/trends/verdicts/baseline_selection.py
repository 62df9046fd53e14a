"""Which runs are judged with a run, and against which: by the name of a baseline, or by the rule."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import eq
from typing import Final, cast

from benchsite.accounts.models import Team
from benchsite.core.formatting import listed
from reports.models import Baseline
from reports.trends.analysis.baseline_levels import Level
from reports.trends.messages import DUPLICATES_LEFT_OUT
from reports.trends.queries.baselines import (
    DEFAULT_BRANCHES,
    accepted_runs,
    baseline_named,
    count_tests,
    find_repeats,
    history_after,
    history_before,
    pinned_runs,
    runs_before,
    select_after,
)
from reports.trends.verdicts.serialization import SideAnswer, VerdictDocument
from reports.trends.verdicts.verdict import Against, RunsAround, compute_verdict, why_not
from runs.models import Run, Status
from runs.queue.spec import RunSpec
from runs.results.duplicates import find_duplicates

MAX_NAMED: Final = 3  # duplicates

RULE: Final = (
    "The newest commit on the default branch (main, else master, else trunk) that has a counted run of the same test "
    "from before this one; where none of these branches has any, the newest earlier commit on its own branch."
)


class BaselineUnknown(Exception):
    """The team has no baseline of this name."""


def verdict_of_run(
    run: Run, *, baseline: str = "", branch: str = "", thresholds: Mapping[str, float] | None = None
) -> VerdictDocument:
    """The verdict of a run and the repeats of its commit. Raises BaselineUnknown; at most eighteen queries."""
    if run.status not in Status.terminal():
        reason = f"Not judged: the run has not ended, it is {run.get_status_display()}."
        return VerdictDocument("inconclusive", (reason,), SideAnswer((run.pk,)), pending=True, test=run.config_key)

    repeats = find_repeats(run)
    copies = find_duplicates(repeats)
    duplicates = tuple(dict.fromkeys(chain.from_iterable(copies.values())))
    new = _count_outputs_once(run, repeats, copies)
    against = pinned_for(run, baseline) if baseline else by_rule(new, branch, duplicates)
    others = [base for base in against.runs if base not in duplicates]
    against = replace(against, runs=others, duplicates=duplicates)
    document = _judge_against(run, new, against, thresholds)
    if not duplicates:
        return document
    names = listed([f"“{duplicate.name}”" for duplicate in duplicates], MAX_NAMED)
    return replace(document, reasons=(*document.reasons, DUPLICATES_LEFT_OUT.format(runs=names)))


def _count_outputs_once(run: Run, new: Sequence[Run], copies: Mapping[Run, Sequence[Run]]) -> list[Run]:
    """Of runs with one output the one that is judged, or the first in the list."""
    counted = [run]
    for other in new:
        if other != run and not any(copy in counted for copy in copies.get(other, ())):
            counted.append(other)
    return [other for other in new if other in counted]


def _judge_against(
    run: Run, new: Sequence[Run], against: Against, thresholds: Mapping[str, float] | None
) -> VerdictDocument:
    if against.runs:
        return verdict_with_history(run.team, new, against, thresholds)

    document = compute_verdict(run.team, new, Against())
    if document.verdict == "error":
        return document

    reason = f"Not judged: there is nothing to judge against. {against.chosen}"
    return replace(document, verdict="inconclusive", reasons=(reason,), base=None)


def verdict_with_history(
    team: Team, new: Sequence[Run], against: Against, thresholds: Mapping[str, float] | None
) -> VerdictDocument:
    """The verdict with what the history of the test says of its sessions, among all tests of the commit."""
    counting, counting_base = select_counting(new), select_counting(against.runs)
    newest, newest_base = counting[0], counting_base[0]
    level = against.level
    if level is Level.BRANCH and newest_base.branch != newest.branch:
        level = Level.OTHER_BRANCH
    around = _find_runs_around(counting, counting_base, [*new, *against.runs], level, against.duplicates)
    if level.has_acceptances:
        around = _begin_at_accepted(around, new, against.runs, accepted_runs(team.pk, newest.config_key))

    return compute_verdict(
        team,
        new,
        replace(against, level=level, thresholds={**against.thresholds, **(thresholds or {})}),
        around,
        tests=count_tests(team.pk, [newest.commit, newest_base.commit]),
    )


def _find_runs_around(
    new: Sequence[Run], base: Sequence[Run], sides: Sequence[Run], level: Level, duplicates: Sequence[Run]
) -> RunsAround:
    """`new` and `base` are those of the sides that count."""
    newest, oldest, branch = new[0], new[-1], base[0].branch
    if level.has_acceptances:
        history = history_before(base[-1], [branch], sides, duplicates)
    else:
        history = history_before(oldest, [*DEFAULT_BRANCHES, branch], sides, duplicates)

    since: list[Run] = []
    if level.has_sessions_since:
        since = history_before(oldest, [newest.branch], sides, duplicates)
    if level.is_fixed:
        since = select_after(since, base)

    later: list[Run] = []
    # What follows an older commit than the base may be the base's own level.
    if level.is_followed and (not level.is_fixed or select_after(new, base)):
        later = history_after(newest, [*sides, *history, *since], duplicates)
    return RunsAround(history, since, later)


def _begin_at_accepted(
    around: RunsAround, new: Sequence[Run], base: Sequence[Run], accepted_ids: Sequence[uuid.UUID]
) -> RunsAround:
    """The runs with the levels that a person accepted: one up to the base is that to compare with, a later one new."""
    history, since, later = around.history, around.since, around.later
    # Those of a lower level that was accepted confirm no loss before it.
    accepted_later = [index for index, run in enumerate(later) if run.pk in accepted_ids]
    if accepted_later:
        later = later[accepted_later[-1] + 1 :]

    accepted = _find_accepted([*base, *history], accepted_ids)
    at_level = len(history)
    if accepted in base:
        at_level = 0
    elif accepted:
        at_level = history.index(accepted) + 1
    newly_accepted = _find_accepted([*new, *since], accepted_ids)
    if newly_accepted is None:
        return replace(around, later=later, at_level=at_level)

    return replace(
        around,
        later=later,
        at_level=at_level,
        accepted=newly_accepted,
        accepted_since=since.index(newly_accepted) + 1 if newly_accepted in since else 0,
    )


def _find_accepted(runs: Sequence[Run], accepted_ids: Sequence[uuid.UUID]) -> Run | None:
    """The run of these with which the newest accepted level begins."""
    by_id = {run.pk: run for run in runs}
    return next((by_id[run_id] for run_id in accepted_ids if run_id in by_id), None)


def select_counting(runs: Sequence[Run]) -> list[Run]:
    """Those that count; where none does, all of them.

    A first try that was rejected is not what is judged: what was measured since may well stand before the second.
    """
    return [run for run in runs if not why_not(run)] or list(runs)


def by_rule(new: Sequence[Run], branch: str, duplicates: Sequence[Run] = ()) -> Against:
    """The baseline by the rule, without duplicates; with a branch the newest earlier commit on that one."""
    branches, rule = list(dict.fromkeys([*DEFAULT_BRANCHES, new[0].branch])), RULE
    if branch:
        branches = [branch]
        rule = f"The newest earlier commit on the branch “{branch}” with a run of the same test."
    runs = runs_before(select_counting(new), branches, duplicates)
    if not runs:
        return Against(chosen=f"No run was found by the rule: {rule[0].lower()}{rule[1:]}")

    newest = runs[0]
    base = f"commit {newest.commit[:12]}" if newest.commit else f"“{newest.name}”, which states no commit"
    if newest.branch:
        base += f" on {newest.branch}"
    return Against(runs, f"Found {base} by the rule: {rule} Sessions before it count with it.", level=Level.BRANCH)


def pinned_for(run: Run, name: str) -> Against:
    """The pinned runs of the same test; where there is none, those of the test that is nearest to it.

    Raises BaselineUnknown.
    """
    baseline = baseline_named(run.team, name)
    if baseline is None:
        raise BaselineUnknown(name)
    against = against_pinned(baseline)
    tests = by_test(against.runs)
    if not tests:
        return against
    if run.config_key in tests:
        return replace(against, runs=tests[run.config_key])
    chosen = f"{against.chosen} It pins no run of the same test, so this is the nearest one."
    return replace(against, runs=nearest(run, list(tests.values())), chosen=chosen)


def against_pinned(baseline: Baseline) -> Against:
    """All runs that the baseline pins."""
    chosen = f"The baseline “{baseline.name}”: {baseline.chosen}"
    return Against(pinned_runs(baseline), chosen, baseline.name, baseline.thresholds, Level.PINNED)


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


def by_test(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs of each test, in their order."""
    tests: dict[str, list[Run]] = {}
    for run in runs:
        tests.setdefault(run.config_key, []).append(run)
    return tests
