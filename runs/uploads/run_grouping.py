"""Which recognised runs may be of one test: system and workload are stated for all runs of a test. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from benchsite.core.formatting import percent
from runs.catalog import JDBC, recognise
from runs.uploads.recognition import FoundRun, Recognised
from runs.ycsb.distributions import beta_cdf
from runs.ycsb.file_grouping import name_family
from runs.ycsb.operation import COMPOSITE
from runs.ycsb.properties import CORE_WORKLOADS, read_shares

Counts = Mapping[str, int]

# An operation's share of all may be off by as much as V08 rejects in a window, or by so many standard deviations.
MAX_SHARE_OFF: Final = 0.05
MAX_SIGMAS: Final = 4.0
MIN_EXPECTED: Final = 10  # operations of a kind, from which on V08 calls them missing where there is none
# Counts are no sample of a mix where theirs, and those farther off, have a lower probability; V08 is more lenient.
SAMPLING_LEVEL: Final = 0.001
MIN_SHARE: Final = 0.005  # of an operation in a mix
STANDARD_MIXES: Final = tuple(map(read_shares, CORE_WORKLOADS.values()))


class RunSets:
    """The runs of an upload, compared with each other. A run is given by its position."""

    def __init__(self, recognised: Recognised) -> None:
        self.runs: Sequence[FoundRun] = recognised["runs"]
        formats = {file["name"]: file["format"] for file in recognised["files"]}
        self.families = [name_family(formats.get(_list_names(run)[0]) or "") for run in self.runs]
        self.systems = [find_system(run) for run in self.runs]
        self.proposals = [propose_system(run) for run in self.runs]
        self.counts = [count_operations(run) for run in self.runs]

    def name_system(self, position: int) -> str:
        """The system by the command line, else by the names of the files."""
        return self.proposals[position] or self.systems[position]

    def differ(self, position: int, other: int) -> bool:
        """Whether program, system or workload say that these cannot be runs of one test."""
        if self.families[position] != self.families[other]:
            return True
        systems = self.name_system(position), self.name_system(other)
        if all(systems) and systems[0] != systems[1]:
            return True
        return self._differ_in_operations(position, other)

    def _differ_in_operations(self, position: int, other: int) -> bool:
        shares, other_shares = get_shares(self.counts[position]), get_shares(self.counts[other])
        return self.differs_from(position, other_shares) or self.differs_from(other, shares)

    def differs_from(self, position: int, shares: Mapping[str, float]) -> bool:
        """Whether the operations of the run are not those of a workload with these shares; empty: not known."""
        counts = self.counts[position]
        own = get_shares(counts)
        if not own or not shares:
            return False
        total = sum(counts.values())
        for operation in {*own, *shares}:
            share = shares.get(operation, 0.0)
            allowed = max(MAX_SHARE_OFF, MAX_SIGMAS * math.sqrt(share * (1 - share) / total))
            is_missing = operation not in own and share * total >= MIN_EXPECTED
            if is_missing or abs(own.get(operation, 0.0) - share) > allowed:
                return True
        return False

    def belong_together(self, position: int, other: int) -> bool:
        """Whether there is a reason to take both for runs of one test, and none against it."""
        if self.differ(position, other):
            return False
        names, other_names = _list_names(self.runs[position]), _list_names(self.runs[other])
        if not set(names).isdisjoint(other_names):
            return True
        folder, other_folder = (paths[0].rpartition("/")[0] for paths in (names, other_names))
        if folder or other_folder:
            return folder == other_folder
        setup, other_setup = (_describe_setup(self.runs[index]) for index in (position, other))
        return bool(setup) and setup == other_setup

    def list_tests(self) -> list[list[int]]:
        """The runs that can be saved, by test; all are of one where nothing says otherwise."""
        usable = [position for position, run in enumerate(self.runs) if not run["error"]]
        if not self._are_of_several_tests(usable):
            return [usable] if usable else []
        tests: list[list[int]] = []
        for position in usable:
            of_one = (test for test in tests if all(self.belong_together(position, other) for other in test))
            test = next(of_one, None)
            if test is None:
                tests.append([position])
            else:
                test.append(position)
        return tests

    def find_mixes(self, tests: Sequence[Sequence[int]]) -> list[dict[str, float]]:
        """The shares of each test's operations; the sum is 1. Tests are of one mix where sampling explains how they
        differ. Empty for a test without counts.
        """
        samples = [self._list_samples(test) for test in tests]
        counted = [number for number, own in enumerate(samples) if own]
        counted.sort(key=lambda number: -_add(samples[number]).total())
        groups: list[list[Counts]] = []
        group_of_test: dict[int, list[Counts]] = {}
        for number in counted:
            own = samples[number]
            nearest = sorted(groups, key=lambda group: _measure_distance(_add(group), _add(own)))
            group = next((group for group in nearest if find_mix([*group, *own])), None)
            if group is None:
                group = []
                groups.append(group)
            group += own
            group_of_test[number] = group
        return [_find_shares(group_of_test.get(number, [])) for number in range(len(tests))]

    def _list_samples(self, test: Iterable[int]) -> list[Counts]:
        """The counts of each run of the test, without those of rare operations."""
        counts = (self.counts[position] for position in test)
        return [_drop_rare(run_counts) for run_counts in counts if run_counts]

    def _are_of_several_tests(self, positions: Sequence[int]) -> bool:
        families = {self.families[position] for position in positions}
        systems = {self.name_system(position) for position in positions} - {""}
        if len(families) > 1 or len(systems) > 1:
            return True
        first = next((position for position in positions if self.counts[position]), 0)
        return any(self._differ_in_operations(first, position) for position in positions)


def count_operations(run: FoundRun) -> dict[str, int]:
    """How often each operation was done, as the workload names them; empty for a load and where a count is missing.

    What a read-modify-write read and updated is no READ and no UPDATE.
    """
    kinds = {operation["kind"] for operation in run["operations"]}
    kind = "service" if "service" in kinds else "response"
    operations = [operation for operation in run["operations"] if operation["kind"] == kind]
    if run["phase"] == "load" or run["more_operations"] or any(operation["ok"] is None for operation in operations):
        return {}
    counts = {operation["name"]: (operation["ok"] or 0) + (operation["failed"] or 0) for operation in operations}
    composite = counts.get(COMPOSITE, 0)
    for name in {"READ", "UPDATE"} & counts.keys():
        counts[name] = max(counts[name] - composite, 0)
    return {name: count for name, count in counts.items() if count}


def get_shares(counts: Mapping[str, float]) -> dict[str, float]:
    """Each operation's share of all."""
    total = sum(counts.values())
    return {operation: count / total for operation, count in counts.items()}


def find_mix(samples: Sequence[Counts]) -> dict[str, float]:
    """The roundest mix that all of these counts may be samples of; empty where there is none."""
    shares = get_shares(_add(samples))
    return next((mix for mix in _list_mixes(shares) if _fits(mix, samples)), {})


def _find_shares(samples: Sequence[Counts]) -> dict[str, float]:
    """The mix of these counts, else their shares in whole per cent."""
    return find_mix(samples) or _round_shares(get_shares(_add(samples)), 1)


def _list_mixes(shares: Mapping[str, float]) -> Iterator[dict[str, float]]:
    """Mixes near to these shares: YCSB's own and those in tenths, then in steps of 5 %, then of 1 %."""
    mixes = [mix for mix in (*STANDARD_MIXES, _round_shares(shares, 10)) if mix.keys() == shares.keys()]
    yield from sorted(mixes, key=lambda mix: _measure_distance(mix, shares))
    yield _round_shares(shares, 5)
    yield _round_shares(shares, 1)


def _fits(mix: Mapping[str, float], samples: Sequence[Counts]) -> bool:
    if any(counts.keys() != mix.keys() for counts in samples):
        return False
    drawn = chain.from_iterable(_list_draws(mix, counts) for counts in samples)
    return len(mix) == 1 or all(_may_be_sample(*draw) for draw in drawn)


def _list_draws(mix: Mapping[str, float], counts: Counts) -> list[tuple[int, int, float]]:
    """Each operation's count, that of all, and its share in the mix."""
    total = sum(counts.values())
    return [(count, total, mix[operation]) for operation, count in counts.items()]


def _may_be_sample(count: int, total: int, share: float) -> bool:
    """The two-sided exact binomial test, of a share between 0 and 1."""
    at_least = beta_cdf(share, count, total - count + 1)
    at_most = beta_cdf(1 - share, total - count, count + 1)
    return min(at_least, at_most) >= SAMPLING_LEVEL / 2


def _round_shares(shares: Mapping[str, float], step: int) -> dict[str, float]:
    """In steps of so many per cent; the sum is 1. Whole per cents that rounding leaves over are the largest one's, and
    larger steps give no mix then.
    """
    percents = {operation: step * round(100 * share / step) for operation, share in shares.items()}
    percents = {operation: rounded for operation, rounded in percents.items() if rounded}
    rest = 100 - sum(percents.values())
    if not percents or (rest and step > 1):
        return {}
    percents[max(percents, key=lambda operation: percents[operation])] += rest
    return {operation: rounded / 100 for operation, rounded in percents.items()}


def _measure_distance(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """How far the shares of two mixes, or of two counts, are apart."""
    shares, others = get_shares(first), get_shares(second)
    return sum(abs(shares.get(operation, 0.0) - others.get(operation, 0.0)) for operation in {*shares, *others})


def _add(samples: Iterable[Counts]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counts in samples:
        total.update(counts)
    return total


def _drop_rare(counts: Counts) -> Counts:
    """Without operations that are no whole per cent."""
    shares = get_shares(counts)
    return {operation: count for operation, count in counts.items() if shares[operation] >= MIN_SHARE}


def list_shares(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{operation} {percent(share)}" for operation, share in sorted(shares.items()))


def find_system(run: FoundRun) -> str:
    """The system by the command line: its slug, else the name of the binding's class."""
    binding = str(run["hints"]["binding"])
    return recognise(binding, run["hints"]["connection"]) or binding.rpartition(".")[2]


def propose_system(run: FoundRun) -> str:
    """The slug of the catalog's system that the command line names, else the names of the files; they do not outweigh a
    binding of one system.
    """
    binding = str(run["hints"]["binding"])
    named = recognise(binding, run["hints"]["connection"])
    if not binding or binding.rpartition(".")[2].lower() in JDBC:
        named = named or recognise(" ".join(_list_names(run)))
    return named or ""


def _list_names(run: FoundRun) -> list[str]:
    return [name for names in run["clients"] for name in names]


def _describe_setup(run: FoundRun) -> dict[str, object]:
    hints = run["hints"]
    stated = {"binding": hints["binding"], **hints["properties"]}
    return {name: value for name, value in stated.items() if value}
