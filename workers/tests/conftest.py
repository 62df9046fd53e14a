"""What tests of servers under test share."""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings

from benchsite.core.paths import unprivileged_account
from benchsite.core.prerequisites import NEEDS
from benchsite.tests.needs import need
from runs.catalog import System, load_catalog
from workers.provision import process_provisioner as process_provisioner
from workers.provision.administration import admin_client
from workers.provision.process_provisioner import ProcessProvisioner, Site
from workers.provision.servers import Server, ServerSpec

Servers = Callable[..., ProcessProvisioner]


@contextlib.contextmanager
def site_below_var_tmp() -> Iterator[Site]:
    """A place for servers under test which the unprivileged account reaches, unlike pytest's own folders. Those in Java
    start with the first compiler alone, in half the processor time.
    """
    base = Path(tempfile.mkdtemp(prefix="benchsite-test-", dir="/var/tmp"))
    base.chmod(0o755)
    environment, compiler = process_provisioner._build_environment, {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_provisioner, "_build_environment", lambda: {**environment(), **compiler})
        yield Site(
            targets=base / "targets",
            registry=base / "guarded",
            shelf=base / "programs",
            servers=settings.SERVERS_DIR,
            account=unprivileged_account(),
        )
    left = find_processes(base)
    shutil.rmtree(base)
    assert left == []


@contextlib.contextmanager
def started_server(
    system: System, mode: str, version: str = "", copies: int = 1, client: Mapping[str, str] | None = None,
    **server_settings: object,
) -> Iterator[Server]:  # fmt: skip
    """A server of its own in this mode, removed at the end; `client` are its clients' properties. Skips the test where
    the machine has no such server.
    """
    if system.slug in NEEDS:
        need(system.slug)
    with site_below_var_tmp() as site:
        spec = ServerSpec(
            deployment="server", system=system, mode=system.mode(mode), settings=server_settings, version=version,
            replication_factor=copies, binding_properties=client or {},
        )  # fmt: skip
        provisioner = ProcessProvisioner(spec, site)
        try:
            yield provisioner.start()
        finally:
            provisioner.remove()


@pytest.fixture
def site() -> Iterator[Site]:
    with site_below_var_tmp() as site:
        yield site


@pytest.fixture(scope="session")
def made_postgresql() -> Iterator[Path]:
    """The folder of a PostgreSQL deployment that was started once and stopped, to be copied: initdb takes its time."""
    system = load_catalog().system("postgresql")
    with site_below_var_tmp() as site:
        spec = ServerSpec(deployment="made", system=system, mode=system.mode("off"))
        provisioner = ProcessProvisioner(spec, site)
        provisioner.start()
        provisioner.stop()
        yield provisioner.folder


@pytest.fixture
def servers(site: Site, request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Makes provisioners of plain processes; whatever they still run at the end is killed.

    PostgreSQL begins with a copy of a made data folder, unless a version or `fresh` is asked for.
    """
    made: list[ProcessProvisioner] = []

    def make(
        system: str, mode: str, *, deployment: str = "", port: int | None = None, fresh: bool = False, **fields: Any
    ) -> ProcessProvisioner:
        found = load_catalog().system(system)
        provisioner = ProcessProvisioner(
            ServerSpec(deployment=deployment or f"{system}-{len(made)}", system=found, mode=found.mode(mode), **fields),
            site,
            port=port,
        )
        made.append(provisioner)
        if system == "postgresql" and not fresh and "version" not in fields:
            provisioner.folder.parent.mkdir(exist_ok=True)
            template = request.getfixturevalue("made_postgresql")
            subprocess.run(["cp", "-a", template, provisioner.folder], check=True)
        return provisioner

    yield make
    for provisioner in made:
        provisioner.remove()


def find_processes(folder: Path) -> list[str]:
    """Command lines of all processes that speak of `folder`."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            line = " ".join(process.cmdline())
            if str(folder) in line:
                found.append(line)
    return found


@pytest.fixture(scope="session", autouse=True)
def end_admin_programs() -> Iterator[None]:
    """Of the servers that tests did not stop: they would end with this process."""
    yield
    while admin_client._programs:
        admin_client._programs.popitem()[1].end()
