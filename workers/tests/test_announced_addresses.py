"""What asks a server of somebody else connects to no address that the site refuses, whatever the server announces."""

import ctypes
import platform
import re
import socket
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from benchsite.core.addresses import refuse_address
from benchsite.tests.hostile_servers import ANNOUNCING, HostileServer, silent
from runs.catalog import System, client_properties, load_catalog
from workers.probe.server_checks import check_target
from workers.provision.administration import AdministrationError
from workers.provision.administration.confinement import SYSTEM_CALLS
from workers.provision.administration.factory import administration_for
from workers.provision.deadline import Deadline
from workers.tests.test_hostile_servers import BEHAVIOURS, check

PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")  # from 2 on no process reads another's memory
MAX_PTRACE_SCOPE = 1
LIMITS_CONNECTIONS = platform.machine() in SYSTEM_CALLS and not (
    PTRACE_SCOPE.exists() and int(PTRACE_SCOPE.read_text()) > MAX_PTRACE_SCOPE
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not LIMITS_CONNECTIONS, reason="this kernel limits no connections of children"),
]
ALLOWED_NETWORKS = ["127.0.0.1/32"]
REFUSED_HOST = "127.0.0.66"
TIMEOUT_S = 20.0
CHEAPEST = "aerospike"
PROPERTIES = {"mongodb": {"mongodb.replica_set": "rs"}}
REDIRECTING = [slug for slug, behaviours in BEHAVIOURS.items() if "moved" in behaviours]
REFUSED_ADDRESS = ("169.254.169.254", 80)  # that such servers name
NEW_NETWORK = 0x40000000  # of unshare(2)
COUNTED = (("iptables", "127.0.0.1"), ("ip6tables", "::1"))
DIRECT = [
    system.slug
    for system in load_catalog().systems.values()
    if system.administered and not system.is_embedded
]  # fmt: skip


def read_system(slug: str, ycsb_folder) -> System:
    system = load_catalog().system(slug)
    if system.admin_class and not (ycsb_folder / system.binding.name).exists():
        pytest.skip("its binding is not built")
    return system


def variants(slugs: list[str]) -> list[object]:
    return [pytest.param(slug, marks=[] if slug == CHEAPEST else [pytest.mark.long]) for slug in slugs]


@pytest.mark.parametrize("slug", variants(list(ANNOUNCING)))
def test_announced_members_get_no_connection(settings, slug):
    settings.EXTERNAL_NETWORKS = ALLOWED_NETWORKS
    system, member = read_system(slug, settings.YCSB_DIR), f"{REFUSED_HOST}:%s"

    with HostileServer(silent, REFUSED_HOST) as refused:
        # Cassandra's members listen at one port, so the cluster has that of the member.
        behaviour = partial(ANNOUNCING[slug], member=member % refused.port)
        with HostileServer(behaviour, port=refused.port) as cluster:
            target = check_target(
                system,
                [f"127.0.0.1:{cluster.port}"],
                PROPERTIES.get(slug, {}),
                deadline=Deadline(TIMEOUT_S),
            )

    text = target.checks[-1].detail
    assert (
        target.checks[-1].outcome == "reject" and f"names another server: {REFUSED_HOST} is a loopback address" in text
    )
    assert cluster.connections > 0 and refused.connections == 0


@pytest.mark.parametrize("slug", variants(DIRECT))
def test_no_driver_reaches_a_refused_address(settings, slug):
    system = read_system(slug, settings.YCSB_DIR)
    mode = next(iter(system.modes.values()))
    refuse = partial(refuse_address, allowed_networks=ALLOWED_NETWORKS)

    with HostileServer(silent, REFUSED_HOST) as refused:
        nodes = ((REFUSED_HOST, refused.port),)
        properties = client_properties(system, mode, {}, host=REFUSED_HOST, port=refused.port, password="", nodes=nodes)
        administration = administration_for(
            system,
            properties,
            nodes[0],
            is_external=True,
            deadline=Deadline(TIMEOUT_S),
            check_address=refuse,
        )
        with pytest.raises(AdministrationError, match=f"names another server: {REFUSED_HOST} is a loopback address"):
            administration.ping()
        administration.close()

    assert refused.connections == 0


def test_own_servers_get_no_connection(settings):
    """Within the networks that the operator allows."""
    system = read_system(CHEAPEST, settings.YCSB_DIR)
    settings.EXTERNAL_NETWORKS = ["127.0.0.0/8"]

    with HostileServer(silent) as own:
        settings.REDIS_URL = f"redis://127.0.0.1:{own.port}/0"
        with HostileServer(partial(ANNOUNCING[CHEAPEST], member=f"127.0.0.1:{own.port}")) as cluster:
            target = check_target(system, [f"127.0.0.1:{cluster.port}"], {}, deadline=Deadline(TIMEOUT_S))

    assert "is a server of this site itself" in target.checks[-1].detail and own.connections == 0


def count_packets(act: Callable[[], object]) -> tuple[int, int]:
    """The packets of TCP that leave for other addresses than 127.0.0.1 and ::1 while `act` runs, and with one attempt
    to connect after it. In a network namespace that the calling thread gets; all that it starts is there, too.
    """
    assert ctypes.CDLL(None, use_errno=True).unshare(NEW_NETWORK) == 0, ctypes.get_errno()
    for command in (
        "ip link set lo up",
        "ip link add out type veth peer name away",
        "ip address add 198.51.100.1/24 dev out",
        "ip link set out up",
        "ip link set away up",
        "ip route add default dev out",
        *(f"{program} --append OUTPUT --protocol tcp ! --destination {host}" for program, host in COUNTED),
    ):
        subprocess.run(command.split(), check=True)
    act()
    packets = read_packets()
    with socket.socket() as probe:
        probe.setblocking(False)
        probe.connect_ex(REFUSED_ADDRESS)
    return packets, read_packets()


def read_packets() -> int:
    total = 0
    for program, _ in COUNTED:
        command = [program, "--list-rules", "OUTPUT", "--verbose"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        total += sum(map(int, re.findall(r"^-A OUTPUT .* -c (\d+)", listed, re.MULTILINE)))
    return total


@pytest.mark.needs("network")
@pytest.mark.parametrize("slug", variants(REDIRECTING))
def test_no_packet_leaves_for_a_refused_address(settings, slug):
    settings.EXTERNAL_NETWORKS = ALLOWED_NETWORKS
    read_system(slug, settings.YCSB_DIR)

    with ThreadPoolExecutor(1) as pool:
        packets, with_probe = pool.submit(count_packets, partial(check, slug, "moved")).result()

    assert packets == 0
    assert with_probe == 1
