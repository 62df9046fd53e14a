"""Owns one long-lived child and ends the child's whole process group when its owner goes.

Run by path as `python -I -S guardian.py FD`, so it imports nothing but the standard library and little of that. FD is
one end of a socket pair. The owner writes one line of JSON (see `Order`), and later "stop" or "kill"; the guardian
answers with lines of JSON: started, failed, exited, ended. End of file on FD means that the owner is gone, however it
went, and so does a new parent, should somebody else have inherited the owner's end.

The child leads a session of its own. On Linux the kernel kills it when the guardian is killed, and whatever left the
group (PostgreSQL's backends do) falls to the guardian, which ends that too.
"""

# pathlib would take a third of the time that the start may take.
# ruff: noqa: PTH105, PTH108, PTH118, PTH123, PTH208

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from typing import Any, NoReturn, TypedDict

LINUX = sys.platform.startswith("linux")
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x00020000
MAX_ORDER = 1 << 20  # bytes
OWNER_CHECK_S = 0.5
GROUP_CHECK_S = 0.02
# What this program or Python itself handles or ignores; the child gets the system's defaults back.
HANDLED_SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGCHLD,
    signal.SIGPIPE,
    signal.SIGXFSZ,
)
KILL_PATIENCE_S = 10.0  # A killed process that stays longer hangs in the kernel; nothing ends that.


class Order(TypedDict):
    """What the owner asks for."""

    argv: list[str]
    cwd: str | None
    account: tuple[str, int, int, str] | None  # name, uid, gid, home; None: as the guardian itself
    cpus: list[int]  # that the child and all it starts may use; empty: as the guardian itself
    mounts_of: int | None  # a process in whose mount namespace the child runs (Linux, root); None: the guardian's own
    token: str  # goes into the child's environment as BENCHSITE_TOKEN
    label: str
    registry: str  # folder of the record
    grace_s: float
    stop_signal: int
    stop_group: bool  # whether the stop signal goes to the whole group or to the child alone


def start_time(pid: int) -> str | None:
    """A text that no other process with this pid has: on which boot it started, and when. None: no such process."""
    if not LINUX:
        with os.popen(f"ps -o lstart= -p {int(pid)}") as answer:  # No /proc; `ps` costs some milliseconds.
            return answer.read().strip() or None
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat, open("/proc/sys/kernel/random/boot_id") as boot:
            # The name in parentheses may hold blanks and parentheses itself, so the fields count from the last one.
            fields = stat.read().rpartition(b")")[2].split()
            if fields[0] in (b"Z", b"X"):
                return None
            return f"{boot.read().strip()}:{int(fields[19])}"
    except (FileNotFoundError, ProcessLookupError):
        return None


def group_lives(pgid: int) -> bool:
    """Whether any process is left in the group."""
    try:
        os.killpg(pgid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return LINUX  # Elsewhere this is the answer for a group of zombies.
    return True


def group_works(pgid: int) -> bool:
    """Whether any process is left in the group that is not a zombie.

    For those who cannot reap the group's dead: a container's first process may never do so.
    """
    if not LINUX or not group_lives(pgid):
        return group_lives(pgid)
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
                if int(fields[2]) == pgid and fields[0] not in (b"Z", b"X"):
                    return True
    return False


def signal_group(pgid: int, number: int) -> None:
    """Signals a group that may be gone already."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, number)


def prctl(option: int, value: int) -> None:
    """Linux only; elsewhere the owner's own watch has to do."""
    if LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def enter_mounts(pid: int) -> None:
    """Moves this process into the mount namespace of another. Raises OSError."""
    descriptor = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), f"cannot enter the mount namespace of process {pid}")
    os.close(descriptor)


class Guardian:
    """The child, its group, and the line to the owner."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.owner = os.getppid()
        self.owner_gone = False
        self.inbox = b""
        self.order = self.read_order()
        self.record = os.path.join(self.order["registry"], f"{self.order['token']}.json")
        self.pid = 0
        self.exit_code: int | None = None
        self.asked: set[int] = set()  # strays that have had their SIGTERM
        # A caught signal writes a byte here, which wakes `select`; without that a dying child would be noticed late.
        self.wake, wake_in = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake_in, False)
        signal.set_wakeup_fd(wake_in)
        self.asked_to: str | None = None

    # --- the line to the owner

    def read_order(self) -> Order:
        while b"\n" not in self.inbox:
            piece = os.read(self.fd, 65536)
            if not piece or len(self.inbox) > MAX_ORDER:
                sys.exit("guardian: no order came")
            self.inbox += piece
        line, _, self.inbox = self.inbox.partition(b"\n")
        order: Order = json.loads(line)
        return order

    def tell(self, **event: Any) -> None:
        with contextlib.suppress(OSError):  # An owner that has gone needs no answer.
            os.write(self.fd, json.dumps(event).encode() + b"\n")

    def listen(self, timeout_s: float) -> None:
        """Waits for a word of the owner, a signal or the time; notes what was asked, and whether the owner is gone."""
        watched = [self.wake] if self.owner_gone else [self.wake, self.fd]
        ready, _, _ = select.select(watched, [], [], timeout_s)
        if self.wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self.wake, 4096)

        if self.fd in ready:
            try:
                piece = os.read(self.fd, 4096)
            except OSError:
                piece = b""
            self.inbox += piece
            self.owner_gone = not piece

        for word in ("kill", "stop"):
            if word.encode() in self.inbox and self.asked_to != "kill":
                self.asked_to = word

        self.inbox = self.inbox.rpartition(b"\n")[2]
        # The pid of the parent changes when the owner dies, even where a fork of it still holds the socket open.
        self.owner_gone = self.owner_gone or os.getppid() != self.owner

    # --- the child

    def start(self) -> None:
        """Forks and executes the child; where that cannot be done says why and exits."""
        failure_out, failure_in = os.pipe()  # Closed by a successful exec.
        self.pid = os.fork()
        if self.pid == 0:
            os.close(failure_out)
            self.become_child(failure_in)

        os.close(failure_in)
        with os.fdopen(failure_out, "rb") as answer:
            failure = answer.read()

        if failure:
            os.waitpid(self.pid, 0)
            self.tell(event="failed", error=failure.decode(errors="replace"))
            sys.exit(0)

        # The pipes now belong to the child alone, so that their readers see the end when it ends.
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)

        os.close(null)

    def become_child(self, failure: int) -> NoReturn:
        guardian = os.getppid()
        try:
            signal.set_wakeup_fd(-1)
            for number in HANDLED_SIGNALS:
                signal.signal(number, signal.SIG_DFL)

            os.setsid()
            if self.order["cpus"]:
                os.sched_setaffinity(0, self.order["cpus"])
            environment = {**os.environ, "BENCHSITE_TOKEN": self.order["token"]}
            if self.order["mounts_of"] is not None:
                enter_mounts(self.order["mounts_of"])
            if self.order["account"] is not None:
                name, uid, gid, home = self.order["account"]
                os.initgroups(name, gid)
                os.setgid(gid)
                os.setuid(uid)
                environment |= {"HOME": home, "USER": name, "LOGNAME": name}

            # After the change of account, which would clear it.
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != guardian:
                os._exit(127)
            if self.order["cwd"] is not None:
                os.chdir(self.order["cwd"])
            os.execvpe(self.order["argv"][0], self.order["argv"], environment)
        except BaseException as problem:
            os.write(failure, f"{self.order['argv'][0]}: {problem}".encode())
        finally:
            os._exit(127)

    def write_record(self) -> None:
        """The registry's record, by which a later life of the owner finds this group."""
        content = {
            "label": self.order["label"],
            "token": self.order["token"],
            "pid": self.pid,
            "pgid": self.pid,
            "started": start_time(self.pid),
            "guardian_pid": os.getpid(),
            "guardian_started": start_time(os.getpid()),
            "owner_pid": self.owner,
            "owner_started": start_time(self.owner),
        }
        draft = f"{self.record}.draft"
        with open(draft, "w") as file:
            json.dump(content, file)

        os.replace(draft, self.record)
        self.tell(event="started", pid=self.pid, pgid=self.pid, started=content["started"])

    def reap(self) -> bool:
        """Collects what has ended: the child, and on Linux what it left behind. Tells whether any process remains."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
                self.tell(event="exited", code=self.exit_code)

    # --- the end

    def strays(self) -> list[int]:
        """Processes that left the group and have become the guardian's own children (Linux)."""
        if not LINUX:
            return []
        strays = []
        guardian_pid = str(os.getpid()).encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == self.pid:
                continue
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as stat:
                # The name in parentheses may hold blanks itself.
                _, _, after_name = stat.read().rpartition(b")")
                _, parent, *_ = after_name.split()
                if parent == guardian_pid:
                    strays.append(int(entry))
        return strays

    def anything_left(self) -> bool:
        return self.reap() or group_lives(self.pid)

    def terminate_new_strays(self) -> None:
        """Every stray is asked once; most become strays only when the child that had started them is gone."""
        for stray in self.strays():
            if stray not in self.asked:
                self.asked.add(stray)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(stray, signal.SIGTERM)

    def wait_until_gone(self) -> bool:
        """Within the grace, unless the owner asks for a kill."""
        end = time.monotonic() + self.order["grace_s"]
        while self.anything_left():
            if time.monotonic() > end or self.asked_to == "kill":
                return False
            if not group_lives(self.pid):
                self.terminate_new_strays()
            self.listen(GROUP_CHECK_S)
        return True

    def end(self) -> None:
        """Stop signal, grace, SIGKILL: to the group, and to whatever left it."""
        if self.asked_to != "kill":
            if self.exit_code is not None:
                signal_group(self.pid, signal.SIGTERM)
            elif self.order["stop_group"]:
                signal_group(self.pid, self.order["stop_signal"])
            else:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, self.order["stop_signal"])
            self.terminate_new_strays()

        if self.asked_to == "kill" or not self.wait_until_gone():
            end = time.monotonic() + KILL_PATIENCE_S
            while self.anything_left() and time.monotonic() < end:
                signal_group(self.pid, signal.SIGKILL)
                for stray in self.strays():
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(stray, signal.SIGKILL)
                self.listen(GROUP_CHECK_S)

        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.record)

        self.tell(event="ended")

    def guard(self) -> None:
        self.start()
        self.write_record()
        while self.exit_code is None and not self.owner_gone and self.asked_to is None:
            self.listen(OWNER_CHECK_S)
            self.reap()
        self.end()


def main() -> None:
    fd = int(sys.argv[1])
    os.set_inheritable(fd, False)
    guardian: list[Guardian] = []

    def stop(number: int, frame: object) -> None:
        if guardian:
            guardian[0].asked_to = guardian[0].asked_to or "stop"

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the owner's business.
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # Whatever the owner's thread had blocked.
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    guardian.append(Guardian(fd))
    guardian[0].guard()


if __name__ == "__main__":
    main()
