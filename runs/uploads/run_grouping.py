"""Which recognised runs may be of one test: system and workload are stated for all runs of a test. Pure."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from benchsite.core.formatting import percent
from runs.catalog import JDBC, recognise
from runs.uploads.recognition import FoundRun, Recognised
from runs.ycsb.file_grouping import name_family
from runs.ycsb.operation import COMPOSITE

# An operation's share of all may be off by as much as V08 rejects in a window, or by so many standard deviations.
MAX_SHARE_OFF: Final = 0.05
MAX_SIGMAS: Final = 4.0


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
        return self.differs_from(position, get_shares(self.counts[other]))

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
            if abs(own.get(operation, 0.0) - share) > allowed:
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
        setup, other_setup = (_describe_setup(self.runs[entry]) for entry in (position, other))
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

    def find_shares(self, test: Sequence[int]) -> dict[str, float]:
        """Each operation's share in the first run of a test that tells it, in whole per cent; the sum is 1."""
        counts = next((self.counts[position] for position in test if self.counts[position]), {})
        shares = {operation: round(share, 2) for operation, share in get_shares(counts).items()}
        shares = {operation: share for operation, share in shares.items() if share}
        if shares:
            largest = max(shares, key=lambda operation: shares[operation])
            shares[largest] = round(shares[largest] + 1 - sum(shares.values()), 2)
        return shares

    def _are_of_several_tests(self, positions: Sequence[int]) -> bool:
        families = {self.families[position] for position in positions}
        systems = {self.name_system(position) for position in positions} - {""}
        if len(families) > 1 or len(systems) > 1:
            return True
        shares = next((self.counts[position] for position in positions if self.counts[position]), {})
        return any(self.differs_from(position, get_shares(shares)) for position in positions)


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


def get_shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Each operation's share of all."""
    total = sum(counts.values())
    return {operation: count / total for operation, count in counts.items()}


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
