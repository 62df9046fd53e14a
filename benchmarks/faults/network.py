"""The network of a load generator on a machine of its own, cut for 30 s. Needs root and Linux.

Site and load generator run in network namespaces that are joined by two links: one for the site (control), one for the
server under test (data). The server under test is external: a Redis at the data link. Nothing leaves the namespaces.
"""

import ipaddress
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from benchmarks.faults.fault import IDLE, MEASURING, fault
from benchmarks.faults.forwarder import FORWARDER
from benchmarks.faults.site import FaultSite
from benchsite.accounts.membership import ensure_demo_team
from benchsite.local.demo.study import StudyEntry
from runs.models import Cluster, Database, LoadGenerator, Machine, Node
from runs.models.plan import Provisioner
from runs.queue.reasons import Reason
from workers.generator import enrolment
from workers.generator.executables import choose_redis

CUT_S = 30.0
START_TIMEOUT_S = 60.0
SITE, LAB = f"faults-site-{settings.SITE_MARK}", f"faults-lab-{settings.SITE_MARK}"
CONTROL, DATA = ipaddress.ip_network("10.77.0.0/30"), ipaddress.ip_network("10.77.1.0/30")
WEB_PORT, REDIS_PORT = "8080", "6379"
SITE_URL = f"http://{next(CONTROL.hosts())}:{WEB_PORT}"
GENERATOR, DATABASE = "lab-1", "Redis in the lab"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def in_namespace(namespace: str) -> tuple[str, ...]:
    return ("ip", "netns", "exec", namespace)


@contextmanager
def namespaces() -> Iterator[None]:
    """Two namespaces; the first address of each link is the site's."""
    for namespace in (SITE, LAB):
        subprocess.run(["ip", "netns", "delete", namespace], check=False, stderr=subprocess.DEVNULL)
        ip("netns", "add", namespace)
        ip("-n", namespace, "link", "set", "lo", "up")
    try:
        for link, network in (("control", CONTROL), ("data", DATA)):
            ip("link", "add", link, "netns", SITE, "type", "veth", "peer", "name", link, "netns", LAB)
            for namespace, address in zip((SITE, LAB), network.hosts(), strict=True):
                ip("-n", namespace, "address", "add", f"{address}/{network.prefixlen}", "dev", link)
                ip("-n", namespace, "link", "set", link, "up")
        yield
    finally:
        for namespace in (SITE, LAB):
            ip("netns", "delete", namespace)


@contextmanager
def lab(site: FaultSite) -> Iterator[None]:
    """The site in one namespace, a load generator in the other, and a Redis under test between them."""
    with namespaces():
        site.prefix = in_namespace(SITE)
        # The server under test has an address of its own; the site answers to the name that the load generator uses.
        external = f"{next(DATA.hosts())}/32"
        site.environment = {"BENCHSITE_EXTERNAL_NETWORKS": external, "BENCHSITE_SITE_URL": SITE_URL}
        site.entries, site.generators = [StudyEntry("redis", DATABASE, ["everysec"])], [GENERATOR]
        try:
            site.renew()  # The load generator needs the site's tables.
            address = str(next(DATA.hosts()))
            program = choose_redis(None, shelf=site.folder / "programs").path
            options = {"bind": address, "port": REDIS_PORT, "protected-mode": "no", "save": "", "appendonly": "yes"}
            words = [word for name, value in options.items() for word in (f"--{name}", value)]
            folder = site.folder / "lab-redis"
            shutil.rmtree(folder, ignore_errors=True)  # Benchsite refuses a target that holds data without its marker.
            folder.mkdir()
            site.start_helper("server", *in_namespace(SITE), str(program), *words, "--dir", str(folder))
            team, _ = ensure_demo_team()
            cluster, made = Cluster.objects.get_or_create(
                team=team, name="Lab", defaults={"provisioner": Provisioner.EXTERNAL}
            )
            if made:
                machine, _ = Machine.objects.get_or_create(host_key="lab server", defaults={"name": "lab server"})
                Node.objects.create(cluster=cluster, machine=machine, address=f"{address}:{REDIS_PORT}")
            Database.objects.get_or_create(team=team, name=DATABASE, defaults={"cluster": cluster, "system": "redis"})
            _start_generator(site)
            yield
        finally:
            site.down()
            site.stop_helpers()
            site.reset()


def _start_generator(site: FaultSite) -> None:
    """It reaches the site's web server and Redis through forwarders at the control link, and nothing else."""
    address = str(next(CONTROL.hosts()))
    for port, target in ((WEB_PORT, str(settings.WEB_PORT)), (REDIS_PORT, str(site.redis.places.redis_socket))):
        site.start_helper(f"forwarder-{port}", *in_namespace(SITE), *FORWARDER, address, port, target)
    site.start_helper(
        GENERATOR,
        *in_namespace(LAB),
        *(sys.executable, "manage.py", "component", "generator"),
        BENCHSITE_GENERATOR=GENERATOR,
        BENCHSITE_MACHINE="lab",
        BENCHSITE_VAR=str(site.folder / "lab"),
        BENCHSITE_WORK=str(settings.WORK_DIR),
        DATABASE_URL="postgresql://nobody@127.0.0.1:1/none",
        BENCHSITE_SITE_URL=SITE_URL,
        BENCHSITE_GENERATOR_TOKEN=enrolment.make(GENERATOR),
        REDIS_URL=f"redis://{address}:{REDIS_PORT}/0",
    )
    present = LoadGenerator.objects.filter(name=GENERATOR, last_seen_at__isnull=False)
    site.until(present.exists, START_TIMEOUT_S, "the load generator in the lab")


def _set_link(link: str, state: str) -> None:
    ip("-n", SITE, "link", "set", link, state)


@fault("network-cut-measuring", moment=MEASURING, outage_s=CUT_S, environment=lab)
def _(site: FaultSite) -> Iterator[None]:
    """The load generator does not reach the site; it reaches the server under test."""
    _set_link("control", "down")
    yield
    _set_link("control", "up")


@fault(
    "network-cut-everything", moment=MEASURING, outage_s=CUT_S, excuses=frozenset({Reason.CLIENT_FAILED}),
    environment=lab,
)  # fmt: skip
def _(site: FaultSite) -> Iterator[None]:
    """The load generator reaches neither the site nor the server under test."""
    for link in ("control", "data"):
        _set_link(link, "down")
    yield
    for link in ("control", "data"):
        _set_link(link, "up")


@fault("network-cut-idle", moment=IDLE, environment=lab)
def _(site: FaultSite) -> Iterator[None]:
    """The matrix is submitted as soon as the link is back."""
    _set_link("control", "down")
    time.sleep(CUT_S)
    _set_link("control", "up")
    yield
