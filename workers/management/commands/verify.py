"""`manage.py verify SYSTEM [HOST[:PORT]...]`: the conformance checks of a system against a real server."""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchsite.core.addresses import AddressRefused
from benchsite.core.formatting import duration
from benchsite.core.own_servers import own_servers
from runs.catalog import Mode, System, UnknownMode, UnknownSystem, load_catalog, start_problem
from runs.ycsb.property_schema import PropertyError
from workers.probe.conformance import CheckResult, Conformance
from workers.provision.administration import AdministrationError
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.provisioner_factory import provisioner_for
from workers.provision.readback import read_back
from workers.provision.servers import Provisioner, ProvisionError, ServerSpec
from workers.systems.manifests import ManifestError, read_manifest

# Loopback needs networks of its own.
ANY_NETWORK = ("0.0.0.0/0", "::/0", "127.0.0.0/8", "::1/128")
HOWS = ("real server", "vendor mock", "wire stand-in")


class Command(BaseCommand):
    requires_system_checks = []
    help = (
        "Checks that Benchsite's client and administration work with a server: connection, schema, 1,000 records, "
        "workloads A to F, errors, a cut connection, every mode read back, acknowledged writes after a kill. Without "
        "HOST it starts servers of its own, one for each mode. Exit code 0: no check failed; 1: a check failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("system", help="its name in the catalog, such as redis")
        parser.add_argument("hosts", nargs="*", metavar="HOST[:PORT]", help="the nodes of a server that runs already")
        parser.add_argument("--mode", action="append", help="a durability mode; repeatable (default: all)")
        parser.add_argument(
            "--property",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="of the client, such as redis.database=1",
        )
        parser.add_argument("--password-env", help="the environment variable that holds the password")
        parser.add_argument(
            "--nodes", type=int, help="of a cluster that Benchsite starts (default: the catalog's, or 1)"
        )
        parser.add_argument("--table", default="benchsite_verify", help="where records are written (%(default)s)")
        parser.add_argument(
            "--not-tested",
            action="append",
            default=[],
            metavar="MODE=REASON",
            help="a mode that this server cannot have, for the record; repeatable",
        )
        parser.add_argument("--how", choices=HOWS, default=HOWS[0], help="what the server is (%(default)s)")
        parser.add_argument("--output", type=Path, help="the JSON file (default: var/verified/SYSTEM-VERSION.json)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            system = load_catalog().system(options["system"])
            modes = [system.mode(slug) for slug in options["mode"] or ()]
            pairs = [text.partition("=") for text in options["not_tested"]]
            not_tested = {system.mode(slug).slug: reason for slug, _, reason in pairs}
            manifest = None
            if system.own_client:
                manifest = read_manifest(settings.YCSB_DIR / system.binding.name)
        except (UnknownSystem, UnknownMode, ManifestError) as error:
            raise CommandError(str(error)) from error

        if manifest is None or not system.administered:
            raise CommandError(f"Benchsite has no client of its own for {system.name}, or cannot read its mode.")
        if not options["hosts"] and not system.can_be_started:
            raise CommandError(f"Benchsite cannot start {system.name}: give the address of a server.")

        properties = self._read_properties(system, options)
        if options["nodes"] is None:
            options["nodes"] = 1
            if "nodes" in system.settings:
                options["nodes"] = int(system.settings["nodes"].default or 1)
        entry: dict[str, Any] = {
            "system": system.slug,
            "version": "",
            "how": options["how"],
            "nodes": len(options["hosts"]) or options["nodes"],
            "started_by_benchsite": not options["hosts"],
            "date": datetime.now(UTC).date().isoformat(),
            "driver": manifest.driver,
            "binding_digest": manifest.digest,
            "modes": {},
            "not_tested": not_tested,
        }
        for mode, provisioner in self._make_provisioners(system, modes, properties, options, not_tested):
            self.stdout.write(f"{system.name}, mode {mode.slug}")
            with tempfile.TemporaryDirectory(prefix="benchsite-verify-") as folder:
                try:
                    server = provisioner.start()
                    entry["version"] = server.version
                    # A server of which one node was named says how many it has.
                    entry["nodes"] = int(server.administration.topology().get("nodes", entry["nodes"]))
                    kit = Conformance(
                        system=system,
                        mode=mode,
                        server=server,
                        manifest=manifest,
                        folder=Path(folder),
                        registry=settings.GUARDED_DIR,
                        table=options["table"],
                        provisioner=None if options["hosts"] else provisioner,
                    )
                    entry["modes"][mode.slug] = [asdict(self._show(result)) for result in kit.results()]
                except (ProvisionError, AddressRefused, PropertyError, AdministrationError) as error:
                    failure = CheckResult("start", "failed", str(error), 0.0)
                    entry["modes"][mode.slug] = [asdict(self._show(failure))]
                finally:
                    provisioner.remove()

        name = f"{system.slug}-{entry['version'] or 'unknown'}.json"
        path = options["output"] or settings.VAR_DIR / "verified" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(entry, indent=1) + "\n")
        results = list(chain.from_iterable(entry["modes"].values()))
        counts = Counter(result["status"] for result in results)
        summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        self.stdout.write(f"{summary}. Written to {path}.")
        if counts["failed"] or not counts["passed"]:
            raise SystemExit(1)

    def _read_properties(self, system: System, options: dict[str, Any]) -> dict[str, str]:
        """The client properties from the command line, in canonical form."""
        pairs = [text.partition("=") for text in options["property"]]
        properties = {name: value for name, _, value in pairs}
        variable = options["password_env"]
        if variable:
            if variable not in os.environ:
                raise CommandError(f"The environment variable {variable} is not set.")
            properties[system.binding.endpoint.password] = os.environ[variable]
        try:
            return system.check_binding_properties(properties)
        except PropertyError as error:
            raise CommandError(str(error)) from error

    def _make_provisioners(
        self,
        system: System,
        modes: list[Mode],
        properties: dict[str, str],
        options: dict[str, Any],
        not_tested: dict[str, str],
    ) -> Iterator[tuple[Mode, Provisioner]]:
        """Each mode that the servers can have, with what starts or finds them; the others go into `not_tested`."""
        hosts, nodes = options["hosts"], options["nodes"]
        node_settings = {}
        if nodes > 1:
            node_settings = {"nodes": str(nodes)}
        for mode in modes or system.modes.values():
            problem = ""
            if not hosts:
                problem = start_problem(system, mode, nodes)
            if problem:
                not_tested.setdefault(mode.slug, f"{problem[0].upper()}{problem[1:]}.")
            if mode.no_client:
                not_tested[mode.slug] = mode.no_client
            if mode.slug in not_tested:
                self.stdout.write(f"{system.name}, mode {mode.slug}: skipped. {not_tested[mode.slug]}")
                continue

            spec = ServerSpec(
                deployment=f"verify-{os.getpid()}-{mode.slug}",
                system=system,
                mode=mode,
                settings=node_settings,
                binding_properties=properties,
                address=hosts[0] if hosts else "",
                addresses=tuple(hosts),
                replication_factor=nodes,
            )
            if not hosts:
                yield mode, provisioner_for("process", spec)
                continue

            # Whoever has a shell here may name any address but those of the site's own servers.
            networks = [*ANY_NETWORK, *settings.EXTERNAL_NETWORKS]
            provisioner = ExternalProvisioner(spec, allowed_networks=networks, own_servers=own_servers())
            # Of modes that nobody named only the one that the servers are in.
            if modes or self._is_in_force(system, mode, provisioner):
                yield mode, provisioner

    def _is_in_force(self, system: System, mode: Mode, provisioner: Provisioner) -> bool:
        try:
            return read_back(system, mode, provisioner.start().administration).in_force
        except (ProvisionError, AdministrationError, PropertyError) as error:
            raise CommandError(str(error)) from error
        finally:
            provisioner.stop()

    def _show(self, result: CheckResult) -> CheckResult:
        self.stdout.write(f"  {result.status:8}{result.check:22}{duration(result.seconds):>10}  {result.detail}")
        return result
