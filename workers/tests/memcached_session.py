"""memcached as an application speaks to it, without Benchsite's client."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from workers.provision.servers import Server


@dataclass
class MemcachedSession:
    """One connection."""

    stream: BinaryIO

    def ask(self, command: str) -> str:
        """The line that answers a command."""
        self.stream.write(f"{command}\r\n".encode())
        self.stream.flush()
        return self.stream.readline().decode().strip()


@contextmanager
def memcached_session(server: Server) -> Iterator[MemcachedSession]:
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        session = MemcachedSession(connection.makefile("rwb"))  # type: ignore[arg-type]
        secret = f"ycsb {server.password}"
        assert session.ask(f"set auth 0 0 {len(secret)}\r\n{secret}") == "STORED"
        yield session
        session.stream.close()
