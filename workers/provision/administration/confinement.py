"""The network of a child process that speaks to somebody else's servers: where it connects to, and what it receives.

Drivers connect to the members that a cluster announces, each in its own way. So the kernel asks this process about
every connection of the child (a seccomp filter whose listener lies here), and an address that the site refuses gets no
packet. Where the kernel has no such filter (other systems than Linux, before 5.6, kernel.yama.ptrace_scope from 2 on)
the child is not confined, and the log warns. Standard library only: the child's process begins with this file.
"""

import contextlib
import ctypes
import errno
import fcntl
import ipaddress
import logging
import os
import platform
import re
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)
# By architecture: its number for audits, and those of the calls seccomp and connect.
SYSTEM_CALLS: Final = {"x86_64": (0xC000003E, 317, 42), "aarch64": (0xC00000B7, 277, 203)}
IO_URING_SETUP, PIDFD_GETFD = 425, 438  # of every architecture
SET_NO_NEW_PRIVILEGES, SET_MODE_FILTER, NEW_LISTENER = 38, 1, 8
ASK, ALLOW, REFUSE = 0x7FC00000, 0x7FFF0000, 0x00050000  # answers of a filter
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # instructions of a filter
RECEIVE_REQUEST, SEND_ANSWER = 0xC0502100, 0xC0182101
CONTINUE: Final = 1
REQUEST: Final = struct.Struct("=QIIiIQ6Q")  # id, thread, flags, call, architecture, instruction, arguments
ANSWER: Final = struct.Struct("=QqiI")  # id, result, error, flags
MAX_ADDRESS_BYTES: Final = 128
TCP_INFO_BYTES_RECEIVED: Final = slice(128, 136)
NAME_SERVER_PORT: Final = 53
START_TIMEOUT_S: Final = 10.0
_libc = ctypes.CDLL(None, use_errno=True)


class Confinement:
    """Of one child. `check_address` is asked for each host and port; it raises ValueError for one that is refused."""

    def __init__(self, check_address: Callable[[str, int], object]) -> None:
        self._check_address = check_address
        self._ours, self.theirs = socket.socketpair()
        self.refusal = ""  # why the last address was refused
        self.has_connected = threading.Event()  # or nobody knows: the child is not watched

    def command(self, argv: Sequence[str]) -> list[str]:
        """Starts the program `argv` confined, in a process that inherits `theirs`."""
        return [sys.executable, "-I", "-S", __file__, str(self.theirs.fileno()), *argv]

    def watch(self, pid: int) -> threading.Thread:
        """A thread that answers the kernel until the child ends."""
        self.theirs.close()
        thread = threading.Thread(target=self._watch, args=[pid], name=f"connections of {pid}", daemon=True)
        thread.start()
        return thread

    def _watch(self, pid: int) -> None:
        try:
            with self._ours:
                self._ours.settimeout(START_TIMEOUT_S)
                _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
            if not descriptors:
                log.warning("This kernel limits no connections: what asks servers of others may connect anywhere.")
                return
            listener = descriptors[0]
            try:
                self._answer_requests(pid, listener)
            finally:
                os.close(listener)  # From now on each connection of the child is refused.
        except OSError as error:
            log.warning("The connections of process %s are not watched any more: %s", pid, error)
        finally:
            self.has_connected.set()

    def _answer_requests(self, pid: int, listener: int) -> None:
        child = os.pidfd_open(pid)
        try:
            poll = select.poll()
            poll.register(child, select.POLLIN)
            poll.register(listener, select.POLLIN)
            while True:
                events = dict(poll.poll())
                if child in events or not events[listener] & select.POLLIN:
                    return
                self._answer_request(listener)
        finally:
            os.close(child)

    def _answer_request(self, listener: int) -> None:
        request = bytearray(REQUEST.size)
        with contextlib.suppress(FileNotFoundError):  # The thread that asked has ended.
            fcntl.ioctl(listener, RECEIVE_REQUEST, request)
            number, thread, *_, address, length, _, _, _ = REQUEST.unpack(request)
            answer = ANSWER.pack(number, 0, -errno.EACCES, 0)
            if self._is_allowed(thread, address, min(length, MAX_ADDRESS_BYTES)):
                answer = ANSWER.pack(number, 0, 0, CONTINUE)
            fcntl.ioctl(listener, SEND_ANSWER, answer)

    def _is_allowed(self, thread: int, address: int, length: int) -> bool:
        try:
            with Path(f"/proc/{thread}/mem").open("rb", buffering=0) as memory:
                memory.seek(address)
                content = memory.read(length)
        except PermissionError:
            log.warning("This kernel shows no memory of children: what asks servers of others may connect anywhere.")
            return True
        except OSError:
            return False

        family = int.from_bytes(content[:2], sys.byteorder)
        if family == socket.AF_UNSPEC:  # ends an association
            return True

        if family == socket.AF_INET:
            host = str(ipaddress.IPv4Address(content[4:8]))
        elif family == socket.AF_INET6:
            address_v6 = ipaddress.IPv6Address(content[8:24])
            host = str(address_v6.ipv4_mapped or address_v6)
        else:
            return False

        port = int.from_bytes(content[2:4], "big")
        if port == 0:
            return False
        if port == NAME_SERVER_PORT and host in _name_servers():
            return True

        self.has_connected.set()
        try:
            self._check_address(host, port)
        except ValueError as error:
            self.refusal = str(error)
            return False

        return True


def received_bytes(pid: int) -> dict[str, int]:
    """By TCP connection of the process, what it has received; nothing where the kernel does not tell."""
    received = {}
    with contextlib.suppress(OSError, AttributeError):
        child = os.pidfd_open(pid)
        try:
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    name = str(descriptor.readlink())
                    if name.startswith("socket:"):
                        received[name] = _received_bytes(child, int(descriptor.name))
        finally:
            os.close(child)

    return received


def _received_bytes(child: int, descriptor: int) -> int:
    copy = _libc.syscall(PIDFD_GETFD, child, descriptor, 0)
    if copy < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    with socket.socket(fileno=copy) as connection:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES_RECEIVED.stop)
    return int.from_bytes(info[TCP_INFO_BYTES_RECEIVED], sys.byteorder)


def _name_servers() -> set[str]:
    """The resolver asks this machine itself where nothing names another."""
    with contextlib.suppress(OSError):
        text = Path("/etc/resolv.conf").read_text()
        if servers := re.findall(r"^\s*nameserver\s+(\S+)", text, re.MULTILINE):
            return set(servers)
    return {"127.0.0.1"}


def _install_filter() -> int:
    """Has the kernel ask about each connection of this process from now on, at this descriptor. Raises OSError."""
    if sys.platform != "linux" or platform.machine() not in SYSTEM_CALLS:
        raise OSError("no filter for this machine")

    architecture, seccomp, connect = SYSTEM_CALLS[platform.machine()]
    instructions = (
        (LOAD, 0, 0, 4),  # the architecture of the call
        (IF_EQUAL, 0, 5, architecture),
        (LOAD, 0, 0, 0),  # its number
        (IF_EQUAL, 2, 0, connect),
        (IF_EQUAL, 2, 0, IO_URING_SETUP),  # by which one would connect without this call
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, ASK),
        (RETURN, 0, 0, REFUSE | errno.ENOSYS),
    )
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in instructions))
    pointer = struct.pack("@HP", len(instructions), ctypes.addressof(program))
    if _libc.prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")

    listener: int = _libc.syscall(seccomp, SET_MODE_FILTER, NEW_LISTENER, pointer)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")

    return listener


def main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as site:
        try:
            listener = _install_filter()
        except OSError:
            site.send(b"-")
        else:
            socket.send_fds(site, [b"+"], [listener])
            os.close(listener)
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
