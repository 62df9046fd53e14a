"""Free TCP ports. No Django."""

import socket


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on now. Another process may take it before ours does: who starts a server with it
    must see whether the one that answers is its own, and try again with another port otherwise."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
