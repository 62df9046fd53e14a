"""Whether a durability mode is in force, by the running server's own answer. No Django."""

from dataclasses import asdict, dataclass

from runs.catalog import Mode, Property, System
from workers.provision.administration import Administration
from workers.provision.administration.base import plain_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack:
    """What the mode wants and what the server said. `differences` are sentences, empty when the mode is in force.

    `topology` is what must stay the same during a run: version, nodes, replication.
    """

    expected: dict[str, str]
    found: dict[str, str]
    topology: dict[str, str]
    differences: tuple[str, ...]

    @property
    def in_force(self) -> bool:
        return not self.differences

    def as_dict(self) -> dict[str, object]:
        """Plain JSON, for a run's evidence."""
        return {**asdict(self), "differences": list(self.differences), "in_force": self.in_force}


def read_back(system: System, mode: Mode, administration: Administration, copies: int | None = None) -> ReadBack:
    """Asks the server for everything the mode relies on. `copies`: the replication factor that the database states,
    which must be that of a system that keeps one. Raises AdministrationError.
    """
    expected = mode.expected_settings
    answer = administration.read_settings(expected)
    found = {name: plain_text(answer[name]) for name in expected if name in answer}
    differences = []
    for name, wanted in expected.items():
        if name not in found:
            differences.append(f"{name} should be {wanted!r}, but this server does not know it.")
        elif not same_value(system.settings[name], wanted, found[name]):
            differences.append(f"{name} should be {wanted!r}, but the server says {found[name]!r}.")
    if mode.replicas_needed:
        replicas = administration.replicas()
        found["replicas"], expected["replicas"] = str(replicas), f"at least {mode.replicas_needed}"
        if replicas < mode.replicas_needed:
            differences.append(f"The mode needs {mode.replicas_needed} connected replicas; there are {replicas}.")
    topology = administration.topology()
    if copies is not None and topology.get("replication_factor", str(copies)) != str(copies):
        differences.append(
            f"The database states a replication factor of {copies}, and the server keeps "
            f"{plain_text(topology['replication_factor'])}: correct the database, or its schema."
        )
    return ReadBack(expected=expected, found=found, topology=topology, differences=tuple(differences))


def same_value(declared: Property, expected: str, found: str) -> bool:
    """Whether two texts say the same: servers answer 1GB as 1073741824 and 1000ms as 1s."""
    if expected == found:
        return True
    if declared.type in ("size", "duration", "int", "float"):
        try:
            return declared.number(expected) == declared.number(found)
        except ValueError:
            return False
    return False
