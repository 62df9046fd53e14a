"""Servers that do harm in the protocols of the systems that a JVM asks, as far into them as a client goes first."""

import base64
import hashlib
import hmac
import json
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from benchsite.tests.hostile_servers import (
    ANNOUNCING,
    BLOCK,
    TEXT,
    Behaviour,
    bson,
    cassandra_string,
    receive_exactly,
    silent,
)

ANNOUNCED: Final = 2_000_000_000
LEVELS: Final = 100_000
MARKUP: Final = TEXT.decode()
REFUSED_MEMBER: Final = "169.254.169.254"  # link-local, where clouds keep credentials
Request = bytes


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Of one system. `greeting` is sent first. `read` takes the next request of a connection, nothing at its end.
    `head` begins an answer to it of a length that no client wants; `opening` begins one without an end, of
    pieces like `stream`.
    """

    read: Callable[[socket.socket], Request]
    head: Callable[[Request], bytes]
    stream: Callable[[Request], bytes]
    texts: Callable[[Request], bytes]
    greeting: bytes = b""
    nested: Callable[[Request], bytes] | None = None
    redirect: Callable[[Request], bytes] | None = None
    opening: Callable[[Request], bytes] = lambda request: b""
    usual: Callable[[Request], bytes] = lambda request: b""  # the answer to what comes before; nothing: it comes now


def _begin(client: socket.socket, protocol: Protocol) -> Request:
    """The first request to which the usual answer is none."""
    client.sendall(protocol.greeting)
    request = protocol.read(client)
    while request and (answer := protocol.usual(request)):
        client.sendall(answer)
        request = protocol.read(client)
    return request


def drip(client: socket.socket, ended: threading.Event, protocol: Protocol) -> None:
    if request := _begin(client, protocol):
        client.sendall(protocol.head(request))
        while not ended.wait(1):
            client.sendall(b"1")


def flood(client: socket.socket, ended: threading.Event, protocol: Protocol) -> None:
    if request := _begin(client, protocol):
        client.sendall(protocol.head(request))
        while not ended.is_set():
            client.sendall(b"a" * BLOCK)


def stream(client: socket.socket, ended: threading.Event, protocol: Protocol) -> None:
    if request := _begin(client, protocol):
        client.sendall(protocol.opening(request))
        block = protocol.stream(request) * 1000
        while not ended.is_set():
            client.sendall(block)


def answer(
    client: socket.socket, ended: threading.Event, protocol: Protocol, build: Callable[[Request], bytes]
) -> None:
    """Each request, from the first one on to which the usual answer is none."""
    request = _begin(client, protocol)
    while request:
        client.sendall(protocol.usual(request) or build(request))
        request = protocol.read(client)


def _list_behaviours(protocol: Protocol) -> dict[str, Behaviour]:
    behaviours: dict[str, Behaviour] = {
        "silent": silent,
        "drip": partial(drip, protocol=protocol),
        "huge": partial(flood, protocol=protocol),
        "endless": partial(stream, protocol=protocol),
        "texts": partial(answer, protocol=protocol, build=protocol.texts),
    }
    if protocol.nested:
        behaviours["deep"] = partial(answer, protocol=protocol, build=protocol.nested)
    if protocol.redirect:
        behaviours["moved"] = partial(answer, protocol=protocol, build=protocol.redirect)
    return behaviours


# --- MariaDB: packets of at most 16 MB, and values of any length within them


def _mysql_packet(number: int, body: bytes) -> bytes:
    return struct.pack("<I", len(body))[:3] + bytes([number]) + body


_MYSQL_CAPABILITIES: Final = 0x008FA20F  # of protocol 4.1, with plugins; no TLS
_MYSQL_OK: Final = b"\x00\x00\x00\x02\x00\x00\x00"
_MYSQL_END: Final = b"\xfe\x00\x00\x02\x00"
_MYSQL_COLUMN: Final = b"\x03def\x00\x00\x00\x01a\x00\x0c\x21\x00\xff\x00\x00\x00\xfd\x00\x00\x00\x00\x00"


def _mysql_greeting(version: bytes) -> bytes:
    low, high = struct.pack("<I", _MYSQL_CAPABILITIES)[:2], struct.pack("<I", _MYSQL_CAPABILITIES)[2:]
    salt = b"a" * 8 + b"\0" + low + b"\x21\x02\x00" + high + b"\x15" + bytes(10) + b"a" * 12 + b"\0"
    return _mysql_packet(0, b"\x0a" + version + b"\0" + struct.pack("<I", 1) + salt + b"mysql_native_password\0")


def _read_mysql(client: socket.socket) -> Request:
    head = receive_exactly(client, 4)
    return head and head + receive_exactly(client, int.from_bytes(head[:3], "little"))


def _accept_mysql(request: Request) -> bytes:
    """The login, whose packet is the second one, commands of the session, and the preparation of a query."""
    if request[3] == 1:
        return _mysql_packet(2, _MYSQL_OK)
    match request[4]:
        case 0x03 | 0x0E:  # query, ping
            return _mysql_packet(1, _MYSQL_OK)
        case 0x16:  # prepare
            prepared = b"\x00" + struct.pack("<IHHBH", 1, 1, 0, 0, 0)
            return _mysql_packet(1, prepared) + _mysql_packet(2, _MYSQL_COLUMN) + _mysql_packet(3, _MYSQL_END)
        case _:
            return b""


def _begin_mysql_rows(request: Request) -> bytes:
    return _mysql_packet(1, b"\x01") + _mysql_packet(2, _MYSQL_COLUMN) + _mysql_packet(3, _MYSQL_END)


def _mysql_head(request: Request) -> bytes:
    return _begin_mysql_rows(request) + b"\xff\xff\xff\x04\x00\x00\xfe" + struct.pack("<Q", ANNOUNCED)


MARIADB: Final = Protocol(
    greeting=_mysql_greeting(b"5.5.5-11.4.2-MariaDB-" + TEXT.replace(b"\0", b"")),
    read=_read_mysql,
    usual=_accept_mysql,
    head=_mysql_head,
    opening=_begin_mysql_rows,
    stream=lambda request: _mysql_packet(4, b"\x00\x00\x04aaaa"),
    texts=lambda request: _mysql_packet(1, b"\xff\x28\x04#HY000" + TEXT),
)


# --- memcached's text protocol


def _read_line(client: socket.socket) -> Request:
    line = b""
    while not line.endswith(b"\n"):
        piece = client.recv(1)
        if not piece:
            return b""
        line += piece
    return line


def _state_version(request: Request) -> bytes:
    return b"VERSION 1.6.21\r\n" if request.startswith(b"version") else b""


def _state_settings(request: Request) -> bytes:
    """And the version: all that a check reads before the first item."""
    if not request.startswith(b"stats"):
        return _state_version(request)
    settings = {
        "version": "1.6.21",
        "maxbytes": 2**26,
        "num_threads": 4,
        "maxconns": 1024,
        "item_size_max": 2**20,
        "evictions": "on",
        "pid": 1,
        "curr_items": 0,
    }
    return "".join(f"STAT {name} {value}\r\n" for name, value in settings.items()).encode() + b"END\r\n"


MEMCACHED: Final = Protocol(
    read=_read_line,
    usual=_state_settings,
    head=lambda request: b"VALUE " + request.split()[1] + f" 0 {ANNOUNCED} 1\r\n".encode(),
    stream=lambda request: b"STAT a 1\r\n",
    texts=lambda request: b"SERVER_ERROR " + TEXT + b"\r\n",
)


# --- MongoDB


def _read_mongo(client: socket.socket) -> Request:
    head = receive_exactly(client, 16)
    return head and head + receive_exactly(client, struct.unpack_from("<i", head)[0] - 16)


def _mongo_answer(request: Request, body: bytes, length: int = 0) -> bytes:
    number, _, operation = struct.unpack_from("<iii", request, 4)
    begin, kind = struct.pack("<iB", 0, 0), 2013
    if operation == 2004:
        begin, kind = struct.pack("<iqii", 8, 0, 0, 1), 1
    return struct.pack("<iiii", length or 16 + len(begin) + len(body), 1, number, kind) + begin + body


def _greet_mongo(request: Request) -> bytes:
    if b"hello" not in request.lower() and b"ismaster" not in request.lower():
        return b""
    return _mongo_answer(request, bson({
        "ok": 1, "ismaster": True, "isWritablePrimary": True, "minWireVersion": 0, "maxWireVersion": 21,
        "maxBsonObjectSize": 2**24, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "helloOk": True,
    }))  # fmt: skip


def _nest_bson(request: Request) -> bytes:
    document = bson({})
    for _ in range(2000):
        document = struct.pack("<i", len(document) + 8) + b"\x03a\0" + document + b"\0"
    return _mongo_answer(request, document)


MONGODB: Final = Protocol(
    read=_read_mongo,
    usual=_greet_mongo,
    head=lambda request: _mongo_answer(request, b"", ANNOUNCED),
    stream=lambda request: _mongo_answer(request, bson({"ok": 1, "more": "a" * 1000})),
    texts=lambda request: _mongo_answer(request, bson({"ok": 0, "errmsg": MARKUP, "code": 18, "codeName": MARKUP})),
    nested=_nest_bson,
)


# --- Cassandra, version 4 of its protocol


def _read_cassandra(client: socket.socket) -> Request:
    head = receive_exactly(client, 9)
    return head and head + receive_exactly(client, struct.unpack_from("!i", head, 5)[0])


def _cassandra_frame(request: Request, kind: int, body: bytes, length: int = 0) -> bytes:
    return struct.pack("!BBhBi", 0x84, 0, *struct.unpack_from("!h", request, 2), kind, length or len(body)) + body


def _accept_cassandra(request: Request) -> bytes:
    """The version, options and the start of the session."""
    if request[0] > 4:
        return _cassandra_frame(
            request, 0x00, struct.pack("!i", 10) + cassandra_string(b"Invalid or unsupported protocol version")
        )
    if request[4] == 0x05:
        return _cassandra_frame(request, 0x06, struct.pack("!H", 0))
    if request[4] in (0x01, 0x0B):
        return struct.pack("!BBhBi", 0x84, 0, *struct.unpack_from("!h", request, 2), 0x02, 0)
    return b""


def _nest_types(request: Request) -> bytes:
    """Rows of one column, which is a list of lists of lists."""
    head = struct.pack("!iii", 2, 1, 1) + cassandra_string(b"system") + cassandra_string(b"local")
    return _cassandra_frame(request, 0x08, head + cassandra_string(b"a") + b"\x00\x20" * LEVELS + b"\x00\x0d")


CASSANDRA: Final = Protocol(
    read=_read_cassandra,
    usual=_accept_cassandra,
    head=lambda request: _cassandra_frame(request, 0x08, b"", ANNOUNCED),
    stream=lambda request: struct.pack("!BBhBi", 0x84, 0, -1, 0x0C, 0),  # events
    texts=lambda request: _cassandra_frame(request, 0x00, struct.pack("!i", 0) + cassandra_string(TEXT)),
    nested=_nest_types,
)


# --- Aerospike's info protocol


def _read_aerospike(client: socket.socket) -> Request:
    head = receive_exactly(client, 8)
    return head and head + receive_exactly(client, int.from_bytes(head[2:], "big"))


def _aerospike_answer(request: Request, text: bytes) -> bytes:
    return b"\x02\x01" + len(text).to_bytes(6, "big") + text


def _each_name(request: Request, text: bytes) -> bytes:
    return _aerospike_answer(request, b"".join(name + b"\t" + text + b"\n" for name in request[8:].split()))


AEROSPIKE: Final = Protocol(
    read=_read_aerospike,
    head=lambda request: b"\x02\x01" + ANNOUNCED.to_bytes(6, "big") + b"node\t",
    stream=lambda request: _aerospike_answer(request, b"node\ta\n"),
    texts=lambda request: _each_name(request, b"ERROR:4:" + TEXT.replace(b"\n", b"")),
    nested=lambda request: _each_name(request, b"1,3000," + b"[" * LEVELS),
)


# --- Couchbase's key-value protocol


def _read_couchbase(client: socket.socket) -> Request:
    head = receive_exactly(client, 24)
    return head and head + receive_exactly(client, struct.unpack_from("!I", head, 8)[0])


def _couchbase_answer(request: Request, body: bytes = b"", status: int = 0, length: int = 0) -> bytes:
    return (
        struct.pack("!BBHBBHI", 0x81, request[1], 0, 0, 1, status, length or len(body))
        + request[12:16]
        + bytes(8)
        + body
    )


_COUCHBASE_CONFIGURATION: Final = 0xB5
COUCHBASE_LOGIN: Final = "bench"  # the user, and the password
_NONCE, _SALT = "server", b"salt" * 4


def _sign_couchbase(request: Request) -> bytes:
    """The last message of SCRAM (RFC 5802), by which a server proves that it knows the password."""
    key_length = struct.unpack_from("!H", request, 2)[0]
    name, final = request[24 : 24 + key_length].decode(), request[24 + key_length :].decode()
    digest = name.removeprefix("SCRAM-").replace("-", "").lower()
    attributes, nonce = final.rpartition(",p=")[0], final.split("r=")[1].split(",")[0]
    first = f"n={COUCHBASE_LOGIN},r={nonce.removesuffix(_NONCE)},{_challenge(nonce)},{attributes}"
    salted = hashlib.pbkdf2_hmac(digest, COUCHBASE_LOGIN.encode(), _SALT, 4096)
    signature = hmac.digest(hmac.digest(salted, b"Server Key", digest), first.encode(), digest)
    return b"v=" + base64.b64encode(signature)


def _challenge(nonce: str) -> str:
    return f"r={nonce},s={base64.b64encode(_SALT).decode()},i=4096"


def _accept_couchbase(request: Request) -> bytes:
    """The client's name, the mechanisms, its login and its bucket."""
    match request[1]:
        case 0xFE:
            return _couchbase_answer(request, b'{"version":1,"revision":1,"errors":{}}')
        case 0x21:
            nonce = request.decode(errors="replace").split("r=")[-1] + _NONCE
            return _couchbase_answer(request, _challenge(nonce).encode(), status=0x21)
        case 0x22:
            return _couchbase_answer(request, _sign_couchbase(request))
        case 0x1F:
            return _couchbase_answer(request, struct.pack("!HHHH", 0x07, 0x0B, 0x12, 0x02))
        case 0x20:
            return _couchbase_answer(request, b"SCRAM-SHA512 SCRAM-SHA256 SCRAM-SHA1")
        case code if code == _COUCHBASE_CONFIGURATION:
            return b""
        case _:
            return _couchbase_answer(request)


def _name_couchbase_member(request: Request) -> bytes:
    ports = {"kv": 11_210, "mgmt": 8091}
    configuration = {
        "rev": 1, "name": "ycsb", "nodeLocator": "vbucket", "uuid": "a" * 32, "bucketCapabilities": ["nodesExt"],
        "nodesExt": [{"services": ports, "hostname": REFUSED_MEMBER}],
        "nodes": [{"ports": {"direct": 11_210}, "hostname": f"{REFUSED_MEMBER}:8091"}],
        "vBucketServerMap": {
            "hashAlgorithm": "CRC", "numReplicas": 0, "serverList": [f"{REFUSED_MEMBER}:11210"],
            "vBucketMap": [[0]] * 64,
        },
    }  # fmt: skip
    return _couchbase_answer(request, json.dumps(configuration).encode())


COUCHBASE: Final = Protocol(
    read=_read_couchbase,
    usual=_accept_couchbase,
    head=lambda request: _couchbase_answer(request, length=ANNOUNCED),
    stream=lambda request: _couchbase_answer(request, b"{}"),
    texts=lambda request: _couchbase_answer(
        request, json.dumps({"error": {"context": MARKUP, "ref": MARKUP}}).encode(), status=0x24
    ),
    nested=lambda request: _couchbase_answer(request, b"[" * LEVELS),
    redirect=_name_couchbase_member,
)


# --- HBase: ZooKeeper, which names the servers of the cluster


def _read_zookeeper(client: socket.socket) -> Request:
    head = receive_exactly(client, 4)
    return head and head + receive_exactly(client, int.from_bytes(head, "big"))


def _zookeeper_answer(request: Request, body: bytes, length: int = 0) -> bytes:
    answer = request[4:8] + struct.pack("!qi", 1, 0) + body
    return struct.pack("!i", length or len(answer)) + answer


def _accept_session(request: Request) -> bytes:
    """A session's beginning has no type of request: a version of 0, and what it has seen."""
    if request[4:8] != bytes(4) or len(request) < 40:
        return b""
    body = struct.pack("!iiqi", 0, 10_000, 1, 16) + bytes(16) + b"\0"
    return struct.pack("!i", len(body)) + body


def _zookeeper_data(request: Request, data: bytes) -> bytes:
    """To a request for the names below a node, the one that HBase looks for."""
    if struct.unpack_from("!i", request, 8)[0] in (8, 12):
        name = b"meta-region-server"
        return _zookeeper_answer(request, struct.pack("!ii", 1, len(name)) + name + bytes(68))
    content = b"\xff\x00\x00\x00\x01aPBUF" + data
    return _zookeeper_answer(request, struct.pack("!i", len(content)) + content + bytes(68))


def _field(number: int, content: bytes) -> bytes:
    """A field of a message of Protocol Buffers, of less than 16 KB."""
    return bytes([number << 3 | 2, len(content) & 0x7F | 0x80, len(content) >> 7]) + content


def _name_region_server(host: bytes) -> Callable[[Request], bytes]:
    data = _field(1, _field(1, host) + b"\x10\x91\x4e\x18\x01") + b"\x18\x03"
    return lambda request: _zookeeper_data(request, data)


HBASE: Final = Protocol(
    read=_read_zookeeper,
    usual=_accept_session,
    head=lambda request: _zookeeper_answer(request, b"", ANNOUNCED),
    stream=lambda request: struct.pack("!iiqi", 16, -1, 1, -1),  # events
    texts=_name_region_server(TEXT),
    nested=lambda request: _zookeeper_data(request, b"\x0b" * LEVELS),  # groups in groups
    redirect=_name_region_server(REFUSED_MEMBER.encode()),
)
PROTOCOLS: Final[dict[str, dict[str, Behaviour]]] = {
    system: _list_behaviours(protocol)
    for system, protocol in {
        "mariadb": MARIADB, "memcached": MEMCACHED, "mongodb": MONGODB, "ferretdb": MONGODB, "cassandra": CASSANDRA,
        "aerospike": AEROSPIKE, "couchbase": COUCHBASE, "hbase": HBASE,
    }.items()
}  # fmt: skip
PROTOCOLS["memcached"]["endless"] = partial(stream, protocol=replace(MEMCACHED, usual=_state_version))
for _system in ANNOUNCING:
    PROTOCOLS[_system]["moved"] = partial(ANNOUNCING[_system], member=f"{REFUSED_MEMBER}:3000")
