"""Durability modes as rows: the typed record in words, and the exact settings that each one means."""

from collections.abc import Mapping
from typing import Any

from benchsite.core import formatting
from runs.catalog import Durability, Mode, System, client_properties, secret_properties, server_settings
from runs.ycsb.property_schema import PropertyError

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
Row = dict[str, Any]


def durability_sentence(record: Mapping[str, Any]) -> str:
    """The typed record in plain words; empty where an older or foreign record cannot be read."""
    try:
        return Durability.from_dict(record).sentence()
    except (KeyError, ValueError, TypeError):
        return ""


def mode_rows(
    system: System, settings: Mapping[str, str] | None = None, properties: Mapping[str, str] | None = None
) -> list[Row]:
    """Every mode of a system, with the settings of one database where they are given."""
    return [mode_row(system, mode, settings or {}, properties or {}) for mode in system.modes.values()]


def mode_row(system: System, mode: Mode, settings: Mapping[str, str], properties: Mapping[str, str]) -> Row:
    """The typed record in words, and what the servers and the client are started with.

    `problem` says why the settings cannot be rendered; it is empty where they can.
    """
    record = system.find_durability(mode, properties)
    copies = "none"
    if record.replicas_acked:
        copies = f"{record.replicas_acked}, {ACKS[record.replica_ack]}"
    row: Row = {
        "mode": mode,
        "durability": record,
        "ack": ACKS[record.ack],
        "copies": copies,
        "reads": READS[record.reads],
        "window": _loss_window(record),
    }
    try:
        server = server_settings(system, mode, settings)
        client = client_properties(system, mode, properties, host="127.0.0.1", port=1)
    except PropertyError as error:
        return {**row, "server": [], "client": [], "problem": " ".join(error.problems.values())}

    # What is part of a URL is shown by itself, without the address.
    client = {**system.check_binding_properties(properties), **client, **mode.client_properties}
    addresses = system.binding.endpoint.addresses
    client = {name: value for name, value in client.items() if name not in addresses}
    for name in secret_properties(system):
        if name in client:
            client[name] = HIDDEN

    return {
        **row,
        "server": lines(server, mode.server_settings, settings),
        "client": lines(client, mode.client_properties, properties),
        "problem": "",
    }


def _loss_window(record: Durability) -> str:
    if record.loss_window_s is None:
        return "unbounded"
    if not record.loss_window_s:
        return "0 s"
    window = f"{formatting.exact(record.loss_window_s)} s"
    if record.worst_loss_window_s:
        window += f" (worst {formatting.exact(record.worst_loss_window_s)} s)"
    return window


def lines(
    values: Mapping[str, str], of_mode: Mapping[str, str], of_database: Mapping[str, str]
) -> list[dict[str, str]]:
    """The values with where they come from, those of the mode first, because they are what the mode is."""
    ordered = sorted(values, key=lambda name: (name not in of_mode, name not in of_database, name))
    sources = dict.fromkeys(of_database, "database") | dict.fromkeys(of_mode, "mode")
    return [{"name": name, "value": values[name], "source": sources.get(name, "default")} for name in ordered]
