"""Whether a durability mode is in force, by the running server's own answer. No Django."""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import TypedDict

from runs.catalog import Mode, Property, System
from workers.provision.administration import Administration
from workers.provision.administration.base import plain_text
from workers.provision.messages import OTHER_REPLICATION_FACTOR, SETTING_DIFFERS, SETTING_UNKNOWN, TOO_FEW_REPLICAS

# By the first letter of a binary unit: Cassandra answers 64MB as 64MiB.
SIZE_PREFIXES = {"K": "kB", "M": "MB", "G": "GB", "T": "TB"}
REPLICAS = "replicas"
REPLICATION_FACTOR = "replication_factor"


class StatedSetting(TypedDict):
    """A setting that a database states, and what its server says of it."""

    stated: str
    answer: str
    is_equal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack:
    """What the mode wants and what the server said. `wrong` has the names of what differs; it is in force without any.

    `topology` is what must stay the same during a run: version, nodes, replication. `stated` has the settings of the
    database that the server says, each with its answer; they are shown, and not judged.
    """

    expected: dict[str, str]
    found: dict[str, str]
    topology: dict[str, str]
    wrong: tuple[str, ...]
    stated: dict[str, StatedSetting] = field(default_factory=dict)

    @property
    def in_force(self) -> bool:
        return not self.wrong

    @property
    def differences(self) -> tuple[str, ...]:
        """A sentence for each name in `wrong`."""
        return tuple(self._difference(name) for name in self.wrong)

    def _difference(self, name: str) -> str:
        expected = self.expected[name]
        answer = self.found.get(name)
        if name == REPLICAS:
            return TOO_FEW_REPLICAS.format(expected=expected, connected=answer)
        if name == REPLICATION_FACTOR:
            return OTHER_REPLICATION_FACTOR.format(expected=expected, answer=answer)
        if answer is None:
            return SETTING_UNKNOWN.format(name=name, expected=expected)
        return SETTING_DIFFERS.format(name=name, expected=expected, answer=answer)

    def as_dict(self) -> dict[str, object]:
        """Plain JSON, for a run's evidence."""
        return {**asdict(self), "wrong": list(self.wrong), "in_force": self.in_force}


def read_back(
    system: System,
    mode: Mode,
    administration: Administration,
    copies: int | None = None,
    stated: Mapping[str, object] | None = None,
) -> ReadBack:
    """Asks the server for everything the mode relies on, and for the settings that the database states.

    `copies`: the replication factor that the database states, which must be that of a system that keeps one. Raises
    AdministrationError.
    """
    return read_back_modes(system, [mode], administration, copies, stated)[mode.slug]


def read_back_modes(
    system: System,
    modes: Collection[Mode],
    administration: Administration,
    copies: int | None = None,
    stated: Mapping[str, object] | None = None,
) -> dict[str, ReadBack]:
    """As `read_back`, of several modes. The server is asked once: each question takes time on a slow network."""
    own = {name: str(value) for name, value in (stated or {}).items() if name in system.settings}
    names = dict.fromkeys(chain(chain.from_iterable(mode.expected_settings for mode in modes), own))
    settings = administration.read_settings(names)
    replicas = None
    if any(mode.replicas_needed for mode in modes):
        replicas = administration.replicas()
    topology = administration.topology()
    answers = _compare_stated(system, own, settings)
    judged = {mode.slug: _judge(system, mode, settings, replicas, topology, copies) for mode in modes}
    return {slug: replace(answer, stated=answers) for slug, answer in judged.items()}


def _compare_stated(system: System, stated: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, StatedSetting]:
    """Of the settings that the server says."""
    compared: dict[str, StatedSetting] = {}
    for name, value in stated.items():
        if name in settings:
            answer = plain_text(settings[name])
            is_equal = same_value(system.settings[name], value, answer)
            compared[name] = {"stated": value, "answer": answer, "is_equal": is_equal}
    return compared


def _judge(
    system: System,
    mode: Mode,
    settings: Mapping[str, str],
    replicas: int | None,
    topology: dict[str, str],
    copies: int | None,
) -> ReadBack:
    expected = mode.expected_settings
    values = {name: plain_text(settings[name]) for name in expected if name in settings}
    wrong = []
    for name, value in expected.items():
        if name not in values or not same_value(system.settings[name], value, values[name]):
            wrong.append(name)
    if mode.replicas_needed and replicas is not None:
        values[REPLICAS] = str(replicas)
        expected[REPLICAS] = f"at least {mode.replicas_needed}"
        if replicas < mode.replicas_needed:
            wrong.append(REPLICAS)

    factor = topology.get(REPLICATION_FACTOR)
    if copies is not None and factor not in (None, str(copies)):
        values[REPLICATION_FACTOR] = plain_text(factor)
        expected[REPLICATION_FACTOR] = str(copies)
        wrong.append(REPLICATION_FACTOR)

    return ReadBack(expected=expected, found=values, topology=topology, wrong=tuple(wrong))


def same_value(declared: Property, expected: str, actual: str) -> bool:
    """Whether two texts say the same: servers answer 1GB as 1073741824 or 1GiB, and 1000ms as 1s."""
    if expected == actual:
        return True
    if declared.type not in ("size", "duration", "int", "float"):
        return False
    try:
        return declared.number(expected) == declared.number(_write_size(actual))
    except ValueError:
        return False


def _write_size(text: str) -> str:
    """A size in binary units as the catalog has it; any other text as it is."""
    if binary := re.fullmatch(r"([0-9]+)([KMGT])iB", text):
        return f"{binary[1]}{SIZE_PREFIXES[binary[2]]}"
    return text
