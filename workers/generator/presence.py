"""A load generator's presence: its worker writes the row when it starts and beats while it lives."""

import atexit
import logging
import os
import platform
import signal
import sys
import threading
import time
from typing import Any

from django.conf import settings

from benchsite.core.backoff import retry_with_backoff
from benchsite.core.generator_access import replaced_credential
from runs.timeouts import HEARTBEAT_INTERVAL_S
from workers.generator import alive_file
from workers.generator.fitness import start_problem
from workers.generator.host_identity import MACHINE_VARIABLE, host_key
from workers.generator.machine_facts import machine_facts
from workers.generator.pool_probe import PoolProbe, PoolState
from workers.generator.site_client import SiteRefused, SiteUnreachable, site_client
from workers.probe.calibration import CalibrationFailed, measure_capacities
from workers.systems.manifests import Manifest, installed_bindings, stock_bindings

log = logging.getLogger(__name__)


def available_bindings() -> dict[str, Manifest]:
    """Benchsite's own bindings and those of the YCSB distributions on this host, by name."""
    return installed_bindings(settings.YCSB_DIR) | stock_bindings(settings.YCSB_DIR, settings.YCSB_HOMES)


def description(slots: int) -> dict[str, Any]:
    """The registration of this load generator: its bindings' digests and what can be observed of its host."""
    bindings = available_bindings()
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)  # With its credential in the environment it wrote nothing yet.
    return {
        "slots": slots,
        "bindings": {name: manifest.digest for name, manifest in bindings.items()},
        "facts": {
            "pid": os.getpid(),
            "host": platform.node(),
            "python": platform.python_version(),
            "ycsb_versions": {name: manifest.ycsb_version for name, manifest in bindings.items()},
            "node_address": settings.NODE_ADDRESS,
        },
        "host_key": host_key(),
        "host_name": os.environ.get(MACHINE_VARIABLE) or platform.node() or "this machine",
        "machine_facts": machine_facts(settings.VAR_DIR),
    }


def beat_forever(name: str, slots: int) -> None:
    """Say that this load generator's pool processes work, as often as the site wants it."""
    probe = PoolProbe(name, slots)
    bindings, quarantined, due_at = [*available_bindings()], False, 0.0
    calibration, stop_calibration = threading.Thread(), threading.Event()
    while True:
        time.sleep(HEARTBEAT_INTERVAL_S)
        if replaced_credential(settings.GENERATOR_ACCESS_FILE, settings.GENERATOR_TOKEN):
            log.warning("%s: its credential was replaced: it starts again after the clients that it runs.", name)
            restart_worker()
            return

        try:
            pool = probe.check()
            if pool == PoolState.HUNG:
                log.warning("%s: a pool process does not answer, so this load generator gives no sign of life.", name)
                continue
            if time.monotonic() < due_at and not quarantined and not calibration.is_alive():
                alive_file.touch()
                continue

            problem = ""
            if quarantined and (problem := start_problem(bindings)):
                log.warning("%s: it stays in quarantine: %s", name, problem)
            answer = site_client().note_presence(probed=pool == PoolState.PROBED and not problem)
            quarantined, due_at = answer["quarantined"], time.monotonic() + answer["beat_s"]
            if answer["released"]:
                log.info("%s: its pool processes answer again; its quarantine is over.", name)
            if not answer["calibrate"]:
                stop_calibration.set()  # Another run may hold the machine.
            elif not calibration.is_alive():
                stop_calibration.clear()
                calibration = threading.Thread(
                    target=calibrate, args=[slots, stop_calibration], name="calibration", daemon=True
                )
                calibration.start()

            alive_file.touch()
        except (SiteUnreachable, SiteRefused) as error:
            log.warning("%s: no sign of life (%s).", name, error)


def calibrate(slots: int, stop: threading.Event) -> None:
    """Measure what clients can generate here, and send it to the site, unless it took the machine back."""
    capacities, error = {}, ""
    try:
        capacities = measure_capacities(slots, should_stop=stop.is_set)
    except CalibrationFailed as failure:
        error = str(failure)
    except Exception as failure:
        log.exception("The calibration failed.")
        error = f"The calibration failed ({type(failure).__name__}: {failure}): see the load generator's log."

    if stop.is_set():
        return

    try:
        retry_with_backoff(lambda: site_client().end_calibration(capacities, error), errors=(SiteUnreachable,))
    except (SiteUnreachable, SiteRefused) as refusal:
        log.warning("The calibration could not be stored (%s).", refusal)


def restart_worker() -> None:
    """End it as SIGTERM does, once the clients that it runs have ended, and execute the same command with the same pid.

    Whoever started the worker notices nothing. Celery keeps the address of Redis, with its password, for life.
    """
    atexit.register(os.execve, sys.executable, sys.orig_argv, dict(os.environ))
    os.kill(os.getpid(), signal.SIGTERM)
