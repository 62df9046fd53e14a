"""Which runs are judged with a run, and against which: by the name of a baseline, or by the rule."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import eq
from typing import Final, cast

from django.utils import timezone

from benchsite.accounts.models import Team
from reports.models import Baseline
from reports.trends.analysis.verdicts import DiffersAnswer, Level, Verdict, combined
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
        reason = f"Inconclusive: the run has not ended, it is {run.get_status_display()}."
        return VerdictDocument("inconclusive", (reason,), SideAnswer((run.pk,)), pending=True, test=run.config_key)

    new = find_repeats(run)
    pinned = None
    if baseline:
        pinned = baseline_named(run.team, baseline)
    if baseline and pinned is None:
        raise BaselineUnknown(baseline)

    against = pinned_for(run, pinned) if pinned else by_rule(new, branch)
    if against.runs:
        return verdict_with_history(run.team, new, against, thresholds)

    document = compute_verdict(run.team, new, ())
    if document.verdict == "error":
        return document

    reason = f"Inconclusive: there is nothing to judge against. {against.side.chosen}"
    return replace(document, verdict="inconclusive", reasons=(reason,), base=None)


def verdict_with_history(
    team: Team, new: Sequence[Run], against: Against, thresholds: Mapping[str, float] | None
) -> VerdictDocument:
    """The verdict with what the history of the test says of its sessions, among all tests of the commit."""
    sides, own = [*new, *against.runs], new[0].branch
    level = against.level
    if level is Level.BRANCH and against.runs[0].branch != own:
        level = Level.OTHER_BRANCH
    is_followed = level in (Level.BRANCH, Level.OTHER_BRANCH)
    branches = [against.runs[0].branch] if is_followed else [*DEFAULT_BRANCHES, against.runs[0].branch]
    history = history_before(against.runs[-1] if is_followed else new[-1], branches, sides)
    since: list[Run] = []
    if level in (Level.OTHER_BRANCH, Level.PINNED):
        since = history_before(new[-1], [own], sides)
    if level is Level.PINNED:
        since = [run for run in since if is_after(run, against.runs)]
    accepted = None
    if is_followed:
        accepted = accepted_run(team.pk, new[0].config_key)
    at_level = next((at for at, run in enumerate(history, 1) if run.pk == accepted), len(history))
    if any(run.pk == accepted for run in against.runs):
        at_level = 0
    followed = Followed(level, history, since, at_level, is_accepted=any(run.pk == accepted for run in new))

    return compute_verdict(
        team,
        new,
        against.runs,
        base=against.side,
        thresholds={**against.thresholds, **(thresholds or {})},
        followed=followed,
        tests=count_tests(team.pk, [new[0].commit, against.runs[0].commit]),
    )


def is_after(run: Run, others: Sequence[Run]) -> bool:
    """Whether it stands after all others in histories."""
    newest = max((other.history_at for other in others if other.history_at), default=None)
    return run.history_at is not None and newest is not None and run.history_at > newest


def by_rule(new: Sequence[Run], branch: str) -> Against:
    """The baseline by the rule; with a branch the newest earlier commit on that one."""
    own = new[0].branch
    branches = [branch]
    if not branch:
        branches = list(dict.fromkeys([*DEFAULT_BRANCHES, own]))
    rule = RULE
    if branch:
        rule = f"The newest earlier commit on the branch “{branch}” with a run of the same test."
    # A first try that was rejected is not what is judged: what was measured since may well stand before the second.
    counted = [run for run in new if not why_not(run)]
    runs = runs_before(counted or new, branches)
    if not runs:
        return Against(side=SideAnswer((), chosen=f"No run was found by the rule: {rule[0].lower()}{rule[1:]}"))

    side = build_side(runs)
    where = f"commit {side.commit[:12]}" if side.commit else f"“{runs[0].name}”, which states no commit"
    on = ""
    if side.branch:
        on = f" on {side.branch}"
    chosen = f"Found {where}{on} by the rule: {rule} Sessions before it count with it."
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
    return Against(tuple(runs), build_side(runs, baseline.name, chosen), _thresholds(baseline), Level.PINNED)


def _thresholds(baseline: Baseline) -> dict[str, float]:
    return {str(name): float(share) for name, share in baseline.thresholds.items()}


def nearest(run: Run, groups: Sequence[list[Run]]) -> list[Run]:
    """The runs of the test that has most in common with a run's."""
    parts = _parts(run)
    return max(groups, key=lambda group: sum(map(eq, parts, _parts(group[0]))))


def _parts(run: Run) -> tuple[object, ...]:
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
        return _present(runs_of_branch(team, branch), f"The newest commit of the branch “{branch[:64]}”.")
    if text in WEEKS:
        until = timezone.now() - WEEKS[text]
        since = until - WEEK
        chosen = f"Runs of the default branch from {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} UTC."
        return _present(runs_of_days(team, since, until), chosen)

    parts = [part.strip() for part in text.split(",") if part.strip()]
    ids = [parse_uuid(part) for part in parts]
    if parts and None not in ids:
        runs = runs_named(team, [run_id for run_id in ids if run_id])
        if len(runs) < len(set(ids)):
            raise NothingNamed("One of these runs is not there.")
        return Against(tuple(runs), build_side(runs, chosen="The runs that were asked for."))
    if baseline := baseline_named(team, text):
        runs = pinned_runs(baseline)
        chosen = f"The baseline “{baseline.name}”: {baseline.chosen}"
        return Against(tuple(runs), build_side(runs, baseline.name, chosen), _thresholds(baseline))

    commits = commits_like(team, text)
    if len(commits) > 1:
        raise Ambiguous(f"Several commits begin with “{text[:64]}”: {commits[0]}, {commits[1]}. Give more of it.")
    if not commits:
        raise NothingNamed(f"“{text[:64]}” is no run, no baseline and no commit of this team.")

    runs = runs_of_commit(team, commits[0])
    return Against(tuple(runs), build_side(runs, chosen=f"The runs of commit {commits[0][:12]}."))


def _present(runs: list[Run], chosen: str) -> Against:
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
    theirs, mine = named(team, base), named(team, new)
    before, after = by_test(theirs.runs), by_test(mine.runs)
    shared = [test for test in after if test in before]
    if len(shared) > MAX_TESTS:
        raise TooManyTests(
            f"Both sides have runs of {len(shared)} tests, of which {MAX_TESTS} are compared at once: name runs by id."
        )

    pairs = [(after[test], before[test]) for test in shared]
    if not pairs and after and before:
        # No test in common: the first test of the new side and what is nearest to it.
        first = next(iter(after.values()))
        pairs = [(first, nearest(first[0], list(before.values())))]

    pairs = pairs or [(list(mine.runs), list(theirs.runs))]
    verdicts = [_judged(team, runs, others, theirs, thresholds) for runs, others in pairs]
    if not any(document.environment.comparable for document in verdicts):
        every = chain.from_iterable(document.environment.differs for document in verdicts)
        raise Incomparable(tuple(dict.fromkeys(every)))

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
        return compute_verdict(team, runs, others)
    base = build_side(others, theirs.side.name, theirs.side.chosen)
    return verdict_with_history(team, runs, Against(tuple(others), base, theirs.thresholds), thresholds)
