"""`manage.py durability`: power cuts and crashes of a server, and what each durability mode loses."""

import fcntl
import json
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchsite.core.formatting import counted
from benchsite.core.paths import make_folders
from runs.catalog import Mode, System, load_catalog, start_problem
from runs.catalog.measured_losses import NETWORK_CUTS, NODE_LOSSES, Disk, Fault, MeasuredLoss
from workers.durability.guest import guest_problem, prepared_guest
from workers.durability.ledger_client import LedgerClientError
from workers.durability.staleness import (
    COLUMNS as STALENESS_COLUMNS,
    StalenessError,
    cells as staleness_cells,
    measure_staleness,
)
from workers.durability.storage import StorageError, require_volatile_storage
from workers.durability.summary import COLUMNS, cells, markdown_table, summarise
from workers.durability.trials import (
    MAX_COPIES,
    RATE_OPS_S,
    THREADS,
    Bench,
    Trial,
    has_copies,
    prepared_bench,
    started_server,
)
from workers.generator.machine_facts import machine_facts
from workers.processes.guarded_process import StartError
from workers.processes.process_registry import end_earlier_lives
from workers.provision.network_cut import CutError, check_cut, remove_unused_cuts
from workers.provision.process_provisioner import Site
from workers.provision.provisioner_factory import this_site
from workers.provision.servers import ProvisionError
from workers.systems.manifests import Manifest, ManifestError, verify

DEFAULT_SYSTEMS: Final = ("redis", "postgresql")
DEFAULT_CUTS: Final = 20
DEFAULT_SECONDS: Final = 60.0
MAX_NODES: Final = MAX_COPIES
DISK_OPTIONS: Final = ("strict", "fsync_ms", "lying", "writeback")
FAILURES: Final = (
    StorageError, CutError, ProvisionError, LedgerClientError, StalenessError, ManifestError, StartError
)  # fmt: skip
FAULT_NAMES: Final = {fault.name.lower().replace("_", "-"): fault for fault in Fault}
FOLDER: Final = settings.VAR_DIR / "durability"
# Servers under test and their disks; the servers' account reaches it.
BENCH_FOLDER: Final = settings.PLACES.base / "durability-bench"


class Command(BaseCommand):
    requires_system_checks = []
    help = "Measures what the durability modes lose at power cuts and crashes; a table here, JSON in var/durability/."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("modes", nargs="*", help="SYSTEM or SYSTEM/MODE; all modes of Redis and PostgreSQL")
        parser.add_argument("--cuts", type=int, default=DEFAULT_CUTS, help="power cuts of each mode")
        parser.add_argument("--crashes", type=int, help="process crashes of each mode; a quarter of the cuts")
        parser.add_argument("--strict", action="store_true", help="names survive by fsync of their folder only")
        parser.add_argument("--fsync-ms", type=float, default=0.0, help="how long each fsync takes")
        parser.add_argument("--lying", action="store_true", help="a disk whose fsync keeps nothing")
        parser.add_argument("--writeback", type=float, default=0.0, help="share of unsynced writes kept, 0 to 1")
        parser.add_argument("--guest", action="store_true", help="power cuts of a virtual machine instead of a disk")
        parser.add_argument("--staleness", action="store_true", help="no faults: how old the answers are")
        parser.add_argument("--seconds", type=float, default=DEFAULT_SECONDS, help="of each measurement of staleness")
        parser.add_argument("--fault", choices=FAULT_NAMES, help="this kind of fault only")
        parser.add_argument("--nodes", type=int, default=1, help="2: a primary and its replica; 2 or 3: equal nodes")
        parser.add_argument("--name", default="", help="of the files in var/durability")

    def handle(self, *args: Any, **options: Any) -> None:
        _check_options(options)
        nodes, is_guest = options["nodes"], options["guest"]
        disk = Disk(**{name: options[name] for name in DISK_OPTIONS})
        faults = list(Fault)
        if options["fault"]:
            faults = [FAULT_NAMES[options["fault"]]]
        numbers = dict.fromkeys(faults, options["cuts"])
        if Fault.PROCESS_CRASH in numbers:
            numbers[Fault.PROCESS_CRASH] = options["crashes"]
            if options["crashes"] is None:
                numbers[Fault.PROCESS_CRASH] = max(options["cuts"] // 4, 1)
        prepare = prepared_guest if is_guest else partial(prepared_bench, nodes=nodes, disk=disk)
        facts: dict[str, object] = {"measured_at": datetime.now(UTC).isoformat(), "machine": machine_facts()}
        table: list[Sequence[str]] = [COLUMNS]
        default_name = "durability"
        if options["staleness"]:
            table = [STALENESS_COLUMNS]
            default_name = "staleness"
        path = FOLDER / f"{options['name'] or default_name}.json"
        try:
            if is_guest:
                problem = guest_problem()
                if problem:
                    raise CommandError(problem)
            elif not options["staleness"]:
                require_volatile_storage()
                if nodes > 1 and any(fault in faults for fault in (*NODE_LOSSES, *NETWORK_CUTS)):
                    check_cut()

            with bench_site() as site:
                modes = self._modes(options["modes"], nodes, servers_only=is_guest or options["staleness"])
                if options["staleness"]:
                    self._measure_staleness(modes, nodes, site, options["seconds"], facts, path, table)
                    return

                facts |= {"rate_ops_s": RATE_OPS_S, "threads": THREADS, "guest": is_guest}
                losses: list[MeasuredLoss] = []
                trials: list[dict[str, Any]] = []
                for system, mode in modes:
                    for loss, of_fault in self._measure(system, mode, nodes, site, disk, numbers, prepare):
                        table.append(cells(loss))
                        losses.append(loss)
                        trials += [{"system": system.slug, "mode": mode.slug, **asdict(trial)} for trial in of_fault]
                        _write(path, {**facts, "losses": [asdict(loss) for loss in losses]})
                        _write(path.with_name(f"{path.stem}-trials.json"), {**facts, "trials": trials})
        except FAILURES as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError("Stopped.") from None
        finally:
            if table[1:]:
                self.stdout.write(f"\n{markdown_table(*table)}\n\n{path}")

    def _measure_staleness(
        self,
        modes: Iterable[tuple[System, Mode]],
        nodes: int,
        site: Site,
        seconds: float,
        facts: dict[str, object],
        path: Path,
        table: list[Sequence[str]],
    ) -> None:
        results = []
        for system, mode in modes:
            manifest = verify(settings.YCSB_DIR / system.binding.name)
            with started_server(system, mode, site, nodes=nodes) as (provisioner, server):
                read_nodes = ["any node"]
                if nodes > 1 and provisioner.recipe.replica is not None:
                    read_nodes = ["primary", "replica"]
                for reads in read_nodes:
                    folder = provisioner.folder / f"staleness-{len(table)}"
                    result = measure_staleness(
                        server, manifest, folder, site.registry, seconds=seconds, from_replica=reads == "replica"
                    )
                    table.append(staleness_cells(f"{system.slug} {server.version}", mode.slug, nodes, reads, result))
                    self.stdout.write(" | ".join(table[-1]))
                    results.append({
                        "system": system.slug, "version": server.version, "mode": mode.slug, "nodes": nodes,
                        "reads": reads, "seconds": seconds, **asdict(result),
                    })  # fmt: skip
                    _write(path, {**facts, "staleness": results})

    def _modes(self, names: list[str], nodes: int, *, servers_only: bool) -> list[tuple[System, Mode]]:
        startable = {}
        for slug, system in load_catalog().systems.items():
            is_server = system.process and has_copies(system, nodes)
            is_library = system.is_embedded and not servers_only and nodes == 1
            if is_server or is_library:
                startable[slug] = system
        pairs = []
        for name in names or DEFAULT_SYSTEMS:
            slug, _, mode = name.partition("/")
            if slug not in startable or (mode and mode not in startable[slug].modes):
                raise CommandError(f"{name} is no mode that can be measured: name one of {', '.join(startable)}.")
            system = startable[slug]
            modes = [*system.modes.values()]
            if mode:
                modes = [system.mode(mode)]
            pairs += [(system, mode) for mode in modes if not start_problem(system, mode, nodes)]

        return pairs

    def _measure(
        self,
        system: System,
        mode: Mode,
        nodes: int,
        site: Site,
        disk: Disk,
        numbers: dict[Fault, int],
        prepare: Callable[[System, Mode, Manifest, Site], AbstractContextManager[Bench]],
    ) -> Iterator[tuple[MeasuredLoss, list[Trial]]]:
        manifest = verify(settings.YCSB_DIR / system.binding.name)
        with prepare(system, mode, manifest, site) as bench:
            if not any(numbers.get(fault) for fault in bench.faults):
                names = ", ".join(name for name, fault in FAULT_NAMES.items() if fault in bench.faults)
                raise CommandError(f"On {counted(nodes, 'node')} {system.name} has only: {names}.")
            for fault in bench.faults:
                number = numbers.get(fault, 0)
                trials = []
                failure: BaseException | None = None
                for position, moment_s in enumerate(bench.moments_s(number), 1):
                    try:
                        trials.append(bench.run_trial(fault, moment_s))
                    except (*FAILURES, KeyboardInterrupt) as error:
                        failure = error  # The trials before it are kept.
                        break
                    if sys.stdout.isatty():
                        self.stdout.write(f"\r{system.name} {mode.slug}, {fault} {position} of {number}", ending="")
                        self.stdout.flush()

                if trials:
                    loss = summarise(system.slug, bench.version, mode.slug, nodes, disk, trials)
                    self.stdout.write(f"\r{' | '.join(cells(loss))}")
                    self.stdout.flush()
                    yield loss, trials

                if failure is not None:
                    raise failure


def _check_options(options: dict[str, Any]) -> None:
    """Raises CommandError for options that do not go together."""
    has_disk_options = any(options[name] for name in DISK_OPTIONS)
    if options["cuts"] < 1:
        raise CommandError("--cuts must be 1 or more.")
    if not 0 <= options["writeback"] <= 1:
        raise CommandError("--writeback must be a share from 0 to 1.")
    if options["guest"] and (options["crashes"] or has_disk_options):
        raise CommandError("--guest has power cuts only, and the disk of its own kernel.")
    if not 1 <= options["nodes"] <= MAX_NODES or (options["guest"] and options["nodes"] > 1):
        raise CommandError(f"--nodes must be 1 to {MAX_NODES}, and 1 with --guest.")
    if options["nodes"] > 1 and options["crashes"]:
        raise CommandError("Servers of several nodes have no process crashes: leave out --crashes.")
    if options["staleness"] and (options["fault"] or options["guest"] or has_disk_options):
        raise CommandError("--staleness has no faults, and the disk of this machine.")


def _write(path: Path, content: dict[str, object]) -> None:
    path.write_text(json.dumps(content, indent=1, default=str) + "\n")


@contextmanager
def bench_site() -> Iterator[Site]:
    """The folders of the servers under test, for this process alone; what a killed one left in them is removed.

    Raises CommandError where another process measures.
    """
    make_folders(FOLDER)
    make_folders(BENCH_FOLDER)
    site = replace(this_site(), targets=BENCH_FOLDER / "targets", registry=FOLDER / "guarded")
    with (FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(f"Another process measures durability in {FOLDER}.") from None
        end_earlier_lives(site.registry)
        remove_unused_cuts()
        shutil.rmtree(site.targets, ignore_errors=True)
        try:
            yield site
        finally:
            shutil.rmtree(site.targets, ignore_errors=True)
