"""Aerospike's wire protocol as far as its Java client needs it for single records, written from the protocol's public
description. One node with the namespace "ycsb"; it keeps records in memory and notes the header of every request.

Not there: batches, scans, queries, several nodes, compression, expiry.
"""

import base64
import contextlib
import socket
import ssl
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

NAMESPACE = "ycsb"
USER, PASSWORD = "bench", "Correct-Horse"
# As clients hash the password: bcrypt with the fixed salt that they share.
CREDENTIAL = b"$2a$10$7EqJtq98hPqEX7fNZaFWoO9vx9ktycF6vC/YpHvD7Ew/do/wnh1nO"
INFO, SECURITY, MESSAGE = 1, 2, 3
AUTHENTICATE, LOGIN = 0, 20
SESSION = b"session-1"
# Bits of the message header (info1, info2, info3).
READ, READ_ALL_BINS, READ_MODE_AP_ALL = 0x01, 0x02, 0x40
WRITE, DELETE, EXPECT_GENERATION, DURABLE_DELETE, CREATE_ONLY = 0x01, 0x02, 0x04, 0x10, 0x20
COMMIT_MASTER, UPDATE_ONLY, REPLACE, REPLACE_ONLY = 0x02, 0x08, 0x10, 0x20
NOT_FOUND, GENERATION_ERROR, KEY_EXISTS, INVALID_NAMESPACE, INVALID_CREDENTIAL = 2, 3, 5, 20, 65
READ_OPERATION, WRITE_OPERATION = 1, 2
HEADER = struct.Struct(
    ">BBBBxBIIIHH"
)  # size, info1, info2, info3, result, generation, expiry, timeout, fields, operations


@dataclass
class Record:
    table: str
    generation: int = 1
    bins: dict[str, bytes] = field(default_factory=dict)  # the particle with its type


class AerospikeStandIn:
    """`headers` counts (info1, info2, info3) of all messages. `settings` are the namespace's. `password`: whether
    clients must log in. `refuse`: the result code of every write.
    """

    def __init__(self, *, context: ssl.SSLContext | None = None, password: bool = False) -> None:
        self.settings = {
            "objects": "0", "replication-factor": "1", "effective_replication_factor": "1", "storage-engine": "device",
            "storage-engine.commit-to-device": "false", "storage-engine.flush-max-ms": "1000",
            "strong-consistency": "false", "write-commit-level-override": "off",
        }  # fmt: skip
        self.headers: Counter[tuple[int, int, int]] = Counter()
        self.refuse = 0
        self._records: dict[bytes, Record] = {}
        self._context, self._password = context, password
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        """Ends all connections and threads."""
        for connection in (self._listener, *self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                self._threads.append(threading.Thread(target=self._serve, args=[connection]))
                self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
                self._connections.append(connection)
            stream = connection.makefile("rb")
            logged_in = not self._password
            while True:
                head = _read(stream, 8)
                kind = head[1]
                body = _read(stream, int.from_bytes(head[2:], "big"))
                if kind == SECURITY:
                    answer, logged_in = self._log_in(body)
                elif not logged_in:
                    raise EOFError
                else:
                    answer = self._info(body) if kind == INFO else self._message(body)
                connection.sendall(bytes([2, kind]) + len(answer).to_bytes(6, "big") + answer)

    def _log_in(self, body: bytes) -> tuple[bytes, bool]:
        """LOGIN with user and credential answers a session token; AUTHENTICATE takes it."""
        command, fields, at = body[2], {}, 16
        for _ in range(body[3]):
            (size,) = struct.unpack_from(">I", body, at)
            fields[body[at + 4]] = body[at + 5 : at + 4 + size]
            at += 4 + size
        user, credential, token = (fields.get(number, b"") for number in (0, 3, 5))
        known = user == USER.encode() and (credential == CREDENTIAL if command == LOGIN else token == SESSION)
        answer = bytearray(16)
        answer[1] = 0 if known else INVALID_CREDENTIAL
        if known and command == LOGIN:
            answer[3] = 1
            answer += struct.pack(">IB", len(SESSION) + 1, 5) + SESSION
        return bytes(answer), known

    def _info(self, body: bytes) -> bytes:
        return "".join(f"{name}\t{self._statement(name)}\n" for name in body.decode().split()).encode()

    def _statement(self, name: str) -> str:
        with self._lock:
            match name.split("/"):
                case ["node"]:
                    return "BB9000000000001"
                case ["partition-generation" | "peers-generation"]:
                    return "1"
                case ["features"]:
                    return "pscans;batch-any;pquery-show;query-show"
                case ["build"]:
                    return "stand-in"
                case ["edition"]:
                    return "Aerospike wire stand-in of tests"
                case ["peers-clear-std" | "peers-tls-std"]:
                    return f"1,{self.port},[]"
                case ["replicas"]:
                    regime = int(self.settings["strong-consistency"] == "true")
                    return f"{NAMESPACE}:{regime},1,{base64.b64encode(bytes([255]) * 512).decode()}"
                case ["namespace", namespace] if namespace == NAMESPACE:
                    return ";".join(f"{name}={value}" for name, value in self.settings.items())
                case ["namespace", _]:
                    return "ERROR:20:namespace not found"
                case ["sets", _, table]:
                    objects = sum(record.table == table for record in self._records.values())
                    return f"objects={objects}:tombstones=0:data_used_bytes=0;"
        return ""

    def _message(self, body: bytes) -> bytes:
        size, info1, info2, info3, _, generation, _, _, fields, operations = HEADER.unpack_from(body)
        at, parts = size, {}
        for _ in range(fields):
            (length,) = struct.unpack_from(">I", body, at)
            parts[body[at + 4]] = body[at + 5 : at + 4 + length]
            at += 4 + length
        bins: list[tuple[int, str, bytes]] = []
        for _ in range(operations):
            (length,) = struct.unpack_from(">I", body, at)
            name = body[at + 8 : at + 8 + body[at + 7]].decode()
            particle = body[at + 5 : at + 6] + body[at + 8 + body[at + 7] : at + 4 + length]
            bins.append((body[at + 4], name, particle))
            at += 4 + length
        with self._lock:
            self.headers[(info1, info2, info3)] += 1
            if parts[0].decode() != NAMESPACE:
                return _answer(INVALID_NAMESPACE)
            digest, table = parts[4], parts.get(1, b"").decode()
            if info2 & WRITE:
                return _answer(self._write(digest, table, info2, info3, generation, bins))
            record = self._records.get(digest)
            if record is None:
                return _answer(NOT_FOUND)
            wanted = {name for _, name, _ in bins}
            chosen = {name: each for name, each in record.bins.items() if not wanted or name in wanted}
            return _answer(0, record.generation, {} if not info1 & READ_ALL_BINS and not wanted else chosen)

    def _write(
        self, digest: bytes, table: str, info2: int, info3: int, generation: int, bins: list[tuple[int, str, bytes]]
    ) -> int:
        if self.refuse:
            return self.refuse
        record = self._records.get(digest)
        if info2 & EXPECT_GENERATION and (record is None or record.generation != generation):
            return GENERATION_ERROR
        if info2 & DELETE:
            return 0 if self._records.pop(digest, None) else NOT_FOUND
        if info2 & CREATE_ONLY and record is not None:
            return KEY_EXISTS
        if info3 & (UPDATE_ONLY | REPLACE_ONLY) and record is None:
            return NOT_FOUND
        if record is None:
            record = self._records[digest] = Record(table, 0)
        if info3 & (REPLACE | REPLACE_ONLY):
            record.bins.clear()
        record.generation += 1
        record.bins.update({name: particle for operation, name, particle in bins if operation == WRITE_OPERATION})
        return 0


def _answer(result: int, generation: int = 0, bins: dict[str, bytes] | None = None) -> bytes:
    text = HEADER.pack(HEADER.size, 0, 0, 0, result, generation, 0, 0, 0, len(bins or {}))
    for name, particle in (bins or {}).items():
        operation = bytes([READ_OPERATION, particle[0], 0, len(name)]) + name.encode() + particle[1:]
        text += struct.pack(">I", len(operation)) + operation
    return text


def _read(stream: BinaryIO, size: int) -> bytes:
    """Raises EOFError where the other side ends."""
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


@contextlib.contextmanager
def aerospike_stand_in(*, context: ssl.SSLContext | None = None, password: bool = False) -> Iterator[AerospikeStandIn]:
    server = AerospikeStandIn(context=context, password=password)
    try:
        yield server
    finally:
        server.close()
