"""Ports for the sites that tests start."""

import random
import socket

# Below the ports that the kernel gives to outgoing connections: a client of another test never has one of these.
PORTS = range(20_000, 32_000)


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens."""
    while True:
        port = random.SystemRandom().choice(PORTS)  # pytest seeds the other one alike in all its workers
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
