"""Servers on loopback that do harm to whoever connects: silent, slow, endless, huge or malformed answers."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

Behaviour = Callable[[socket.socket, threading.Event], None]
BLOCK: Final = 65536
SSL_REQUEST: Final = struct.pack("!I", 80_877_103)
TEXT: Final = b"<script>alert(1)</script>\x1b[31m\x00\xe2\x80\xae" + b"x" * 1000


class HostileServer:
    """Listens on a port of the host until the end of the context, and counts its connections."""

    def __init__(self, behaviour: Behaviour, host: str = "127.0.0.1", port: int = 0) -> None:
        self._behaviour, self._ended = behaviour, threading.Event()
        self._socket = socket.create_server((host, port))
        self.port = int(self._socket.getsockname()[1])
        self.connected_at: list[float] = []  # of time.monotonic()
        self._threads = [threading.Thread(target=self._accept)]
        self._clients: list[socket.socket] = []

    @property
    def connections(self) -> int:
        return len(self.connected_at)

    def __enter__(self) -> "HostileServer":
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        for client in self._clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self.connected_at.append(time.monotonic())
            self._clients.append(client)
            thread = threading.Thread(target=self._serve, args=[client])
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            self._behaviour(client, self._ended)


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    with HostileServer(silent) as server:
        yield server.port


def silent(client: socket.socket, ended: threading.Event) -> None:
    ended.wait()


def drip(client: socket.socket, ended: threading.Event, begin: bytes) -> None:
    """A byte a second of an answer that needs two billion."""
    client.recv(BLOCK)
    client.sendall(begin)
    while not ended.wait(1):
        client.sendall(b"1")


def repeat(client: socket.socket, ended: threading.Event, begin: bytes, piece: bytes) -> None:
    """As fast as the client reads."""
    client.recv(BLOCK)
    client.sendall(begin)
    block = piece * (BLOCK // len(piece))
    while not ended.is_set():
        client.sendall(block)


def answer_each(client: socket.socket, ended: threading.Event, answer: bytes) -> None:
    while client.recv(BLOCK):
        client.sendall(answer)


def after_ssl_request(client: socket.socket, ended: threading.Event, behaviour: Behaviour) -> None:
    """PostgreSQL's protocol: no TLS where it is asked for, then the start of the session, which `behaviour` answers."""
    if client.recv(8, socket.MSG_PEEK)[4:] == SSL_REQUEST:
        client.recv(8)
        client.sendall(b"N")
    behaviour(client, ended)


def message(kind: bytes, body: bytes, length: int | None = None) -> bytes:
    """A message of PostgreSQL's protocol, which announces `length` bytes."""
    return kind + struct.pack("!i", 4 + len(body) if length is None else length) + body


COLUMN: Final = struct.pack("!h", 1) + b"name\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0)
LOGGED_IN: Final = message(b"R", struct.pack("!i", 0)) + message(b"Z", b"I")
REDIS: Final[dict[str, Behaviour]] = {
    "silent": silent,
    "drip": partial(drip, begin=b"$2000000000\r\n"),
    "endless": partial(repeat, begin=b"+", piece=b"a"),
    "endless items": partial(repeat, begin=b"*2000000000\r\n", piece=b":1\r\n"),
    "huge": partial(repeat, begin=b"$2000000000\r\n", piece=b"a"),
    "deep": partial(repeat, begin=b"", piece=b"*1\r\n"),
    "malformed": partial(answer_each, answer=b"$3\r\nabc\r\n"),
    "texts": partial(answer_each, answer=b"-ERR " + TEXT + b"\r\n"),
    "moved": partial(answer_each, answer=b"-MOVED 1 169.254.169.254:80\r\n"),
}
STARTED_SESSIONS: Final[dict[str, Behaviour]] = {
    "silent": silent,
    "drip": partial(drip, begin=message(b"E", b"", length=20_000)),
    "endless": partial(repeat, begin=LOGGED_IN, piece=message(b"N", b"SNOTICE\0\0")),
    "endless items": partial(
        repeat,
        begin=LOGGED_IN + message(b"T", COLUMN),
        piece=message(b"D", struct.pack("!hi", 1, 4) + b"aaaa"),
    ),
    "huge": partial(repeat, begin=LOGGED_IN + message(b"D", b"", length=2_000_000_000), piece=b"a"),
    "deep": partial(repeat, begin=LOGGED_IN, piece=message(b"S", b"a\0b\0")),
    "malformed": partial(answer_each, answer=message(b"R", struct.pack("!i", 99))),
    "texts": partial(answer_each, answer=message(b"E", b"SFATAL\0C28000\0M" + TEXT.replace(b"\0", b"") + b"\0\0")),
}
POSTGRESQL: Final[dict[str, Behaviour]] = {
    name: partial(after_ssl_request, behaviour=behaviour) for name, behaviour in STARTED_SESSIONS.items()
}


# --- Clusters that announce a member at another address


def bson(value: dict[str, object]) -> bytes:
    """A document of MongoDB's protocol, of texts, whole numbers, flags, lists and documents."""
    body = b"".join(_bson_element(name.encode() + b"\0", field) for name, field in value.items())
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def _bson_element(name: bytes, value: object) -> bytes:
    match value:
        case bool():
            return b"\x08" + name + bytes([value])
        case int():
            return b"\x10" + name + struct.pack("<i", value)
        case str():
            text = value.encode() + b"\0"
            return b"\x02" + name + struct.pack("<i", len(text)) + text
        case list():
            return b"\x04" + name + bson({str(number): item for number, item in enumerate(value)})
        case dict():
            return b"\x03" + name + bson(value)
        case _:
            raise TypeError(type(value))


def replica_set(client: socket.socket, ended: threading.Event, member: str) -> None:
    """MongoDB: each command is answered as hello would be, by a secondary whose primary is the member."""
    me = "{}:{}".format(*client.getsockname())
    document = bson({
        "ok": 1, "ismaster": False, "isWritablePrimary": False, "secondary": True, "setName": "rs",
        "hosts": [me, member], "me": me, "primary": member, "minWireVersion": 0, "maxWireVersion": 21,
        "maxBsonObjectSize": 2**24, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "helloOk": True,
    })  # fmt: skip
    while head := receive_exactly(client, 16):
        length, number, _, operation = struct.unpack("<iiii", head)
        receive_exactly(client, length - 16)
        query = operation == 2004
        body = struct.pack("<iqii", 8, 0, 0, 1) + document if query else struct.pack("<ib", 0, 0) + document
        client.sendall(struct.pack("<iiii", 16 + len(body), 1, number, 1 if query else 2013) + body)


def aerospike_node(client: socket.socket, ended: threading.Event, member: str) -> None:
    """Aerospike: a node with one peer."""
    me = "{}:{}".format(*client.getsockname())
    host, port = member.split(":")
    answers = {
        "node": "A1", "build": "7.1.0.0", "edition": "Community", "features": "batch-any;peers;pscans;query-show",
        "partition-generation": "1", "peers-generation": "1", "rebalance-generation": "1", "cluster-name": "null",
        "service-clear-std": me, "peers-clear-std": f"1,{port},[[A2,,[{host}:{port}]]]", "replicas": "",
        "namespaces": "",
    }  # fmt: skip
    while head := receive_exactly(client, 8):
        names = receive_exactly(client, int.from_bytes(head[2:], "big")).decode().split()
        body = "".join(f"{name}\t{answers.get(name, '')}\n" for name in names).encode()
        client.sendall(b"\x02\x01" + len(body).to_bytes(6, "big") + body)


def cassandra_node(client: socket.socket, ended: threading.Event, member: str) -> None:
    """Cassandra's protocol, version 4: every query is answered by the row of this node, or of its peer."""
    own_host, port = client.getsockname()[0], client.getsockname()[1]
    while head := receive_exactly(client, 9):
        version, _, stream, operation, length = struct.unpack("!BBhBi", head)
        request = receive_exactly(client, length)
        if version > 4:
            kind, body = 0x00, struct.pack("!i", 10) + cassandra_string(b"Invalid or unsupported protocol version")
        elif operation == 0x05:  # options
            kind, body = 0x06, struct.pack("!H", 0)
        elif operation in (0x01, 0x0B):  # startup, register
            kind, body = 0x02, b""
        else:
            is_local = b"system.local" in request
            host = own_host if is_local else member.split(":")[0]
            queried = is_local or b"system.peers" in request
            kind, body = (
                0x08,
                _cassandra_rows(host, port, is_local) if queried else struct.pack("!iiiHHi", 2, 1, 0, 0, 0, 0),
            )
        client.sendall(struct.pack("!BBhBi", 0x84, 0, stream, kind, len(body)) + body)


def cassandra_string(content: bytes) -> bytes:
    return struct.pack("!H", len(content)) + content


def _cassandra_rows(host: str, port: int, is_local: bool) -> bytes:
    text, address, identity = (struct.pack("!H", kind) for kind in (0x0D, 0x10, 0x0C))
    packed = socket.inet_aton(host)
    columns = {
        "key": (text, b"local"), "rpc_address": (address, packed),
        "broadcast_address": (address, packed), "data_center": (text, b"dc1"), "rack": (text, b"r1"),
        "release_version": (text, b"4.0.0"), "cluster_name": (text, b"c"),
        "partitioner": (text, b"org.apache.cassandra.dht.Murmur3Partitioner"),
        "host_id": (identity, bytes([is_local] * 16)), "schema_version": (identity, bytes(16)),
        "tokens": (struct.pack("!HH", 0x22, 0x0D), struct.pack("!ii", 1, 1) + (b"1" if is_local else b"2")),
    }  # fmt: skip
    if not is_local:
        columns["peer"] = (address, packed)
    head = struct.pack("!iii", 2, 1, len(columns)) + cassandra_string(b"system") + cassandra_string(b"local")
    names = b"".join(cassandra_string(name.encode()) + kind for name, (kind, _) in columns.items())
    values = b"".join(struct.pack("!i", len(value)) + value for _, value in columns.values())
    return head + names + struct.pack("!i", 1) + values


def receive_exactly(client: socket.socket, length: int) -> bytes:
    """Nothing where the client has closed the connection."""
    received = b""
    while len(received) < length:
        piece = client.recv(length - len(received))
        if not piece:
            return b""
        received += piece
    return received


ANNOUNCING: Final[dict[str, Callable[..., None]]] = {
    "mongodb": replica_set, "aerospike": aerospike_node, "cassandra": cassandra_node,
}  # fmt: skip
