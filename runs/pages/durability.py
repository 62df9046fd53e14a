"""Durability modes as rows: the typed record in words, and the exact settings that each one means."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchsite import formatting
from runs.catalog import Durability, Mode, System, client_properties, secret_properties, server_settings
from runs.property_schema import PropertyError

ACKS = {
    "none": "nothing",
    "memory": "in memory",
    "os_buffer": "in the OS buffer",
    "disk": "on disk",
}
READS = {
    "any_copy": "any copy",
    "primary": "the primary",
    "quorum": "a quorum",
    "linearizable": "linearizable",
}
HIDDEN = "(not shown)"


@dataclass(frozen=True, slots=True)
class Line:
    """One setting or property with where its value comes from."""

    name: str
    value: str
    source: str  # mode | database | default


@dataclass(frozen=True, slots=True)
class ModeRow:
    mode: Mode
    server: tuple[Line, ...]
    client: tuple[Line, ...]
    problem: str  # why the settings cannot be rendered; empty when they can

    @property
    def durability(self) -> Durability:
        return self.mode.durability

    @property
    def ack(self) -> str:
        return ACKS[self.durability.ack]

    @property
    def copies(self) -> str:
        record = self.durability
        if record.replicas_acked == 0:
            return "none"
        count = record.replicas_acked
        return f"{count}, {ACKS[record.replica_ack]}"

    @property
    def reads(self) -> str:
        return READS[self.durability.reads]

    @property
    def window(self) -> str:
        seconds = self.durability.loss_window_s
        worst = self.durability.worst_loss_window_s
        longer = f" (worst {formatting.exact(worst)} s)" if worst else ""
        return "unbounded" if seconds is None else "0 s" if seconds == 0 else f"{formatting.exact(seconds)} s{longer}"


def mode_rows(
    system: System, settings: Mapping[str, str] | None = None, properties: Mapping[str, str] | None = None
) -> list[ModeRow]:
    """Every mode of a system, with the settings of one database where they are given."""
    return [mode_row(system, mode, settings or {}, properties or {}) for mode in system.modes.values()]


def mode_row(system: System, mode: Mode, settings: Mapping[str, str], properties: Mapping[str, str]) -> ModeRow:
    try:
        server = server_settings(system, mode, settings)
        client = client_properties(system, mode, properties, host="127.0.0.1", port=1)
    except PropertyError as error:
        return ModeRow(mode, (), (), " ".join(error.problems.values()))
    # What is part of a URL is shown by itself, without the address.
    client = {**system.check_binding_properties(properties), **client, **mode.client_properties}
    address = system.binding.endpoint.addresses
    secret = set(secret_properties(system))
    return ModeRow(
        mode,
        tuple(lines(server, mode.server_settings, settings)),
        tuple(
            Line(line.name, HIDDEN if line.name in secret else line.value, line.source)
            for line in lines(client, mode.client_properties, properties)
            if line.name not in address
        ),
        "",
    )


def lines(values: Mapping[str, str], of_mode: Mapping[str, str], of_database: Mapping[str, str]) -> Iterable[Line]:
    """The values, those of the mode first, because they are what the mode is."""
    ordered = sorted(values, key=lambda name: (name not in of_mode, name not in of_database, name))
    for name in ordered:
        source = "mode" if name in of_mode else "database" if name in of_database else "default"
        yield Line(name, values[name], source)
