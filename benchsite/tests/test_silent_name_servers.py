"""A name server that never answers holds up nobody who typed a name, and nobody who typed none."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.needs("network")]
TIMEOUT_S = 0.5
# In network and mount namespaces of its own, where the only name server is silent.
PROGRAM = f"""
import json, socket, subprocess, sys, time

subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
subprocess.run(["mount", "--bind", sys.argv[1], "/etc/resolv.conf"], check=True)
silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
silent.bind(("127.0.0.1", 53))

from benchsite.core.addresses import MAX_LOOKUPS, AddressRefused, refuse_address

def ask(host, own_host="127.0.0.1"):
    start = time.monotonic()
    try:
        answer = refuse_address(host, 5432, ["127.0.0.0/8"], own_servers=[(own_host, 80)], timeout_s={TIMEOUT_S})
    except AddressRefused as error:
        answer = str(error)
    return answer, time.monotonic() - start

names = [ask(f"db{{number}}.example") for number in range(MAX_LOOKUPS + 1)]
print(json.dumps({{"names": names, "literal": ask("127.0.0.1"), "own": ask("127.0.0.1", "own.example")}}), flush=True)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    resolver = tmp_path_factory.mktemp("resolver") / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\n")
    command = ["unshare", "--net", "--mount", sys.executable, "-c", PROGRAM, str(resolver)]
    return json.loads(subprocess.check_output(command, timeout=60))


def test_wait_for_a_name_server_has_a_limit(answers):
    *first, (last, _) = answers["names"]

    assert all("No name server answered in time" in text for text, _ in first)
    assert all(elapsed_s < TIMEOUT_S + 1 for _, elapsed_s in answers["names"])
    assert "waits for name servers" in last


def test_typed_addresses_need_no_name_server(answers):
    text, elapsed_s = answers["literal"]

    assert text == "127.0.0.1" and elapsed_s < TIMEOUT_S


def test_address_is_refused_while_own_servers_are_unknown(answers):
    text, elapsed_s = answers["own"]

    assert "No name server answered in time for 'own.example'" in text and elapsed_s < TIMEOUT_S + 1
