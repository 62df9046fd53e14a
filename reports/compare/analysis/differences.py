"""What the sides of a comparison differ in: what a plan varies (database, mode, workload, commit), and the rest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from benchsite.core.formatting import percent
from reports.compare.curves import Curve
from reports.compare.messages import HOTTEST_KEYS, NO_OWN_SETTINGS
from runs.ycsb.key_shares import KeyShares

UNKNOWN = "unknown"
MAX_KEY_SHARE_DIFFERENCE = 0.02
# How runs came about, by `Run.source`.
SOURCE_SAYS = {"scheduled": "run here", "uploaded": "uploaded"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which the sides differ, and who has which value."""

    label: str
    sides: tuple[tuple[str, tuple[str, ...]], ...]  # value, the labels that have it

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(value for value, _ in self.sides)


def _rungs(curve: Curve) -> str:
    """The planned rungs: one that is not measured yet makes no other ladder."""
    unit = "ops/s offered" if curve.ladder == "target" else "threads"
    return f"{', '.join(str(rung) for rung in curve.rungs)} {unit}"


def _settings(curve: Curve) -> str:
    if curve.uploaded:
        return UNKNOWN
    pairs = {**curve.setup.server_settings, **curve.setup.binding_properties}
    return ", ".join(f"{name}={value}" for name, value in sorted(pairs.items())) or NO_OWN_SETTINGS


def _data_set(curve: Curve) -> str:
    records, size = curve.setup.records, curve.setup.record_bytes
    if records is None:
        return UNKNOWN
    return f"{records:,} records" + (f" of {size:,} B" if size is not None else "")


def have_close_key_shares(shares: Sequence[KeyShares | None]) -> bool:
    """Whether the hottest 1 % of the keys, and the 10 hottest, get the same of the requests, within 2 points."""
    stated = [share for share in shares if share is not None]
    for values in ([share.hottest_percent for share in stated], [share.hottest_ten for share in stated]):
        if values and max(values) - min(values) > MAX_KEY_SHARE_DIFFERENCE:
            return False
    return True


def _get_key_shares(curve: Curve) -> KeyShares | None:
    if curve.phase == "load":
        return None
    return curve.setup.key_shares


def _hottest_keys(curve: Curve) -> str:
    shares = _get_key_shares(curve)
    if shares is None:
        return UNKNOWN
    return HOTTEST_KEYS.format(percent=percent(shares.hottest_percent), ten=percent(shares.hottest_ten))


def _groups(curve: Curve) -> str:
    return "; ".join(f"{name} ({text})" for name, text in curve.setup.groups.items()) or "none"


def _properties(curve: Curve) -> str:
    """The workload without what the data set says of its own."""
    return ", ".join(
        f"{name}={value}" for name, value in sorted(curve.setup.workload_properties.items()) if name != "recordcount"
    )


GetText = Callable[[Curve], str]
# What a plan varies between its sweeps.
PLANNED: Mapping[str, GetText] = {
    "database": lambda curve: curve.database_name,
    "durability mode": lambda curve: curve.mode,
    "workload": lambda curve: curve.workload,
    "commit": lambda curve: curve.commit or UNKNOWN,
}
# Looked at over all sides together.
EVERYWHERE: Mapping[str, GetText] = {
    "workload": PLANNED["workload"],
    "data set": _data_set,
    "ladder": _rungs,
    "client groups": _groups,
    "measured window": lambda curve: curve.setup.window,
    "clients": lambda curve: f"{curve.setup.clients} ({', '.join(curve.setup.generators) or UNKNOWN})",
    "cluster": lambda curve: ", ".join(machine.name for machine in curve.setup.cluster_machines) or UNKNOWN,
    "replication factor": lambda curve: str(curve.setup.replication_factor or UNKNOWN),
    "YCSB": lambda curve: f"{curve.setup.client_flavour} {curve.setup.client_version or UNKNOWN}",
    "commit": PLANNED["commit"],
    "branch": lambda curve: curve.branch or UNKNOWN,
    "build": lambda curve: curve.build or UNKNOWN,
    "label": lambda curve: ", ".join(curve.tags) or "none",
    "purpose": lambda curve: curve.purpose,
    "how it was run": lambda curve: SOURCE_SAYS[curve.source],
}
# Looked at among the sides of one system only: another system has others by nature.
WITHIN_A_SYSTEM: Mapping[str, GetText] = {
    "version": lambda curve: curve.setup.version or UNKNOWN,
    "settings": _settings,
    "binding": lambda curve: curve.setup.client_digest[:12] or UNKNOWN,
}


def differences(curves: Sequence[Curve], labels: Mapping[UUID, str] | None = None) -> list[Difference]:
    """In the order of how much they matter; empty for fewer than two sides. `labels`: what the sides are called."""
    names = labels or {}
    rows = [_difference(label, curves, value, names) for label, value in EVERYWHERE.items()]
    if rows[0] is None:  # the workloads' names are the same
        rows.insert(0, _difference("workload properties", curves, _properties, names))
    if not have_close_key_shares([_get_key_shares(curve) for curve in curves]):
        rows.append(_difference("hottest keys", curves, _hottest_keys, names))
    for system in sorted({curve.system for curve in curves}):
        same = [curve for curve in curves if curve.system == system]
        rows += [
            _difference(f"{label} of {same[0].system_name}", same, value, names)
            for label, value in WITHIN_A_SYSTEM.items()
        ]

    return [difference for difference in rows if difference]


def split_differences(curves: Sequence[Curve], labels: Mapping[UUID, str]) -> tuple[list[Difference], list[Difference]]:
    """What the plan of all sides varies, and the rest; without a common plan nothing is planned."""
    rows = [_difference(label, curves, value, labels) for label, value in PLANNED.items()]
    axes = [difference for difference in rows if difference]
    rest = [difference for difference in differences(curves, labels) if difference not in axes]
    if are_of_one_plan(curves):
        return axes, rest
    return [], axes + rest


def are_of_one_plan(curves: Sequence[Curve]) -> bool:
    return all(curve.same_plan(curves[0]) for curve in curves)


def _difference(label: str, curves: Sequence[Curve], value: GetText, names: Mapping[UUID, str]) -> Difference | None:
    sides: dict[str, list[str]] = {}
    for curve in curves:
        sides.setdefault(value(curve), []).append(names.get(curve.sweep_id, curve.label))
    if len(sides) < 2:
        return None
    return Difference(label, tuple((text, tuple(labels)) for text, labels in sides.items()))
