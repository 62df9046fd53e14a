"""Which load generator this process is, and which host it runs on. Standard library only."""

import os
import platform

# The worker's environment names the generator; without it the worker is no load generator.
GENERATOR_VARIABLE = "BENCHSITE_GENERATOR"
SLOTS_VARIABLE = "BENCHSITE_GENERATOR_SLOTS"
# What tells this host from others where its files cannot: every container has a machine id and a name of its own.
MACHINE_VARIABLE = "BENCHSITE_MACHINE"


def generator_name() -> str:
    """The name of the load generator that this worker is, or nothing."""
    return os.environ.get(GENERATOR_VARIABLE, "")


def host_key() -> str:
    """The identity of this host: its configured name, else the machine id, else the host's name."""
    if stated := os.environ.get(MACHINE_VARIABLE):
        return f"called {stated}"
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path) as file:  # noqa: PTH123 - a Path adds nothing here
                machine_id = file.read().strip()
        except OSError:
            continue
        if machine_id:
            return machine_id
    return platform.node()
