#!/usr/bin/env python3
"""The node probe: what a machine is (--facts), what it did between two moments (`machine_values`), and what it has done
so far, as an exporter of metrics (--serve) or pushed to a site that cannot reach it (--watch).

One file for Linux and Python 3.7 or newer, with the standard library alone and without root. Copy it to a node of an
external cluster to learn its facts; Benchsite observes and samples its own machines with the same code.

    python3 benchsite-probe.py --facts --folder /var/lib/cassandra
    python3 benchsite-probe.py --serve 10.0.0.5:9100
    BENCHSITE_TOKEN=bs_... python3 benchsite-probe.py --watch URL --name db1
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import re
import resource
import shutil
import sys
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

INTERVAL_S = 1.0
PUSH_INTERVAL_S = 2.0
PUSH_TIMEOUT_S = 5.0
SECTOR_BYTES = 512  # the unit of /proc/diskstats, whatever the disk's own is
PRESSURE = ("cpu", "io", "memory")
# Words in a machine's own description of itself by which a hypervisor is known.
HYPERVISORS = ("kvm", "qemu", "vmware", "virtualbox", "xen", "hyper-v", "virtual machine", "amazon ec2", "firecracker")
UNSYNCHRONISED = 0x40  # STA_UNSYNC of adjtimex(2)
# By what the kernel says of rotation.
DISK_KINDS: dict[int | None, str] = {0: "solid state", 1: "rotating"}
YES_NO = {True: "yes", False: "no"}

# ---- samples


class Counters:
    """What the kernel has counted up to now, and the values of this moment. CPU time is in clock ticks."""

    def __init__(self) -> None:
        self.at = time.monotonic()
        self.cores: list[tuple[int, int]] = []  # (busy, total) of each
        self.user = self.system = self.interrupts = self.io_wait = self.steal = 0
        self.running = self.context_switches = self.interrupt_count = 0
        self._read_stat()
        self.pressure_us = {name: _read_pressure_us(name) for name in PRESSURE}
        self.disks = _read_disks()
        self.network = _read_network()
        self.load_average = os.getloadavg()[0]
        self.memory = _read_memory()
        self.major_faults = _read_major_faults()

    def _read_stat(self) -> None:
        for line in _read("/proc/stat").splitlines():
            name, *values = line.split()
            if name == "procs_running":
                self.running = int(values[0])
            elif name == "ctxt":
                self.context_switches = int(values[0])
            elif name == "intr":
                self.interrupt_count = int(values[0])
            elif name.startswith("cpu"):
                # Guests are contained in user and nice.
                user, nice, system, idle, io_wait, irq, soft_irq, steal = map(int, values[:8])
                busy = user + nice + system + irq + soft_irq
                if name == "cpu":
                    self.user, self.system, self.interrupts = user + nice, system, irq + soft_irq
                    self.io_wait, self.steal = io_wait, steal
                else:
                    self.cores.append((busy, busy + idle + io_wait + steal))


def machine_values(before: Counters, now: Counters) -> dict[str, float]:
    """The columns of a machine's row, in their order: rates and shares over the time between the two, CPU in cores."""
    elapsed_s = now.at - before.at
    ticks = elapsed_s * os.sysconf("SC_CLK_TCK")
    values = {
        "user_cores": (now.user - before.user) / ticks,
        "system_cores": (now.system - before.system) / ticks,
        "interrupt_cores": (now.interrupts - before.interrupts) / ticks,
        "steal_cores": (now.steal - before.steal) / ticks,
        "io_wait_cores": max(0, now.io_wait - before.io_wait) / ticks,  # It may fall: proc(5).
        "running": now.running,
        "load_average": now.load_average,
        "context_switches_s": (now.context_switches - before.context_switches) / elapsed_s,
        "interrupts_s": (now.interrupt_count - before.interrupt_count) / elapsed_s,
        "major_faults_s": (now.major_faults - before.major_faults) / elapsed_s,
    }
    for name in PRESSURE:
        values[name + "_pressure"] = (now.pressure_us[name] - before.pressure_us[name]) / elapsed_s / 1e6
    values.update(now.memory)
    values.update(_compute_disk_values(before.disks, now.disks, elapsed_s))
    received, sent = now.network
    received_before, sent_before = before.network
    values["network_received_bytes_s"] = (received - received_before) / elapsed_s
    values["network_sent_bytes_s"] = (sent - sent_before) / elapsed_s
    for core, ((busy, total), (busy_before, total_before)) in enumerate(zip(now.cores, before.cores)):
        values[f"core{core}_busy"] = (busy - busy_before) / max(1, total - total_before)
    return values


def _compute_disk_values(
    before: dict[str, tuple[int, ...]], now: dict[str, tuple[int, ...]], elapsed_s: float
) -> dict[str, float]:
    """All disks together; `disk_busy` is the share of the time that the busiest of them was at work."""
    reads = sectors_read = writes = sectors_written = busy_ms = 0
    for name in now.keys() & before.keys():
        disk_reads, disk_sectors_read, disk_writes, disk_sectors_written, disk_busy_ms = (
            value - earlier for value, earlier in zip(now[name], before[name])
        )
        reads += disk_reads
        sectors_read += disk_sectors_read
        writes += disk_writes
        sectors_written += disk_sectors_written
        busy_ms = max(busy_ms, disk_busy_ms)
    return {
        "disk_reads_s": reads / elapsed_s,
        "disk_writes_s": writes / elapsed_s,
        "disk_read_bytes_s": sectors_read * SECTOR_BYTES / elapsed_s,
        "disk_written_bytes_s": sectors_written * SECTOR_BYTES / elapsed_s,
        "disk_busy": min(1.0, busy_ms / elapsed_s / 1e3),
    }


def row_text(values: dict[str, float]) -> str:
    """A line of CSV."""
    return ",".join(f"{value:.3f}".rstrip("0").rstrip(".") for value in values.values())


def metrics_text(now: Counters) -> str:
    """The counters under the names that node_exporter gives them, in the text format of Prometheus."""
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    modes = {
        "user": now.user, "system": now.system, "irq": now.interrupts, "iowait": now.io_wait, "steal": now.steal
    }  # fmt: skip
    cpu = [(f'{{cpu="all",mode="{mode}"}}', ticks / ticks_per_s) for mode, ticks in modes.items()]
    disk_read, disk_written, disk_busy = [], [], []
    for name, (_, sectors_read, _, sectors_written, busy_ms) in now.disks.items():
        disk_read.append((_format_device(name), sectors_read * SECTOR_BYTES))
        disk_written.append((_format_device(name), sectors_written * SECTOR_BYTES))
        disk_busy.append((_format_device(name), busy_ms / 1e3))
    received, sent = now.network
    families = (
        ("node_cpu_seconds_total", "counter", cpu),
        ("node_memory_MemTotal_bytes", "gauge", [("", now.memory["memory_bytes"])]),
        ("node_memory_MemAvailable_bytes", "gauge", [("", now.memory["memory_available_bytes"])]),
        ("node_load1", "gauge", [("", now.load_average)]),
        ("node_procs_running", "gauge", [("", now.running)]),
        ("node_context_switches_total", "counter", [("", now.context_switches)]),
        ("node_intr_total", "counter", [("", now.interrupt_count)]),
        ("node_vmstat_pgmajfault", "counter", [("", now.major_faults)]),
        ("node_disk_read_bytes_total", "counter", disk_read),
        ("node_disk_written_bytes_total", "counter", disk_written),
        ("node_disk_io_time_seconds_total", "counter", disk_busy),
        ("node_network_receive_bytes_total", "counter", [(_format_device("all"), received)]),
        ("node_network_transmit_bytes_total", "counter", [(_format_device("all"), sent)]),
    )
    lines = []
    for name, kind, samples in families:
        lines.append(f"# TYPE {name} {kind}")
        lines += [f"{name}{labels} {value}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _format_device(name: str) -> str:
    return f'{{device="{name}"}}'


class MetricsHandler(BaseHTTPRequestHandler):
    """Answers every GET with the metrics of this moment. `timeout` is how long one who is silent is waited for."""

    timeout = 5

    def do_GET(self) -> None:
        body = metrics_text(Counters()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads a line for each scrape."""


def _read_pressure_us(resource_name: str) -> float:
    """For how long some process has waited for the resource, so far; NaN where the kernel does not count it."""
    some = _read("/proc/pressure/" + resource_name).partition("\n")[0]
    return float(some.rpartition("total=")[2] or "nan")


def _read_memory_sizes() -> dict[str, int]:
    lines = (line.split() for line in _read("/proc/meminfo").splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) > 1}


def _read_memory() -> dict[str, float]:
    sizes = _read_memory_sizes()
    return {
        "memory_bytes": sizes.get("MemTotal", 0),
        "memory_available_bytes": sizes.get("MemAvailable", sizes.get("MemFree", 0)),
        "swap_used_bytes": sizes.get("SwapTotal", 0) - sizes.get("SwapFree", 0),
    }


def _read_major_faults() -> int:
    for line in _read("/proc/vmstat").splitlines():
        if line.startswith("pgmajfault "):
            return int(line.split()[1])
    return 0


def _read_disks() -> dict[str, tuple[int, ...]]:
    """Of each disk: reads, sectors read, writes, sectors written, milliseconds at work. Partitions are no disks."""
    disks = {}
    for line in _read("/proc/diskstats").splitlines():
        _, _, name, *values = line.split()
        if os.path.exists(f"/sys/block/{name}/device"):
            disks[name] = tuple(int(values[i]) for i in (0, 2, 4, 6, 9))
    return disks


def _read_network() -> tuple[int, int]:
    """Bytes received and sent by the network cards; where there are none (containers), by all but loopback."""
    counts = {}
    for line in _read("/proc/net/dev").splitlines()[2:]:
        name, _, values = line.partition(":")
        fields = values.split()
        counts[name.strip()] = int(fields[0]), int(fields[8])
    counts.pop("lo", None)
    cards = [count for name, count in counts.items() if os.path.exists(f"/sys/class/net/{name}/device")]
    used = cards or list(counts.values())
    return sum(received for received, _ in used), sum(sent for _, sent in used)


# ---- facts


def facts(folder: str | os.PathLike[str] | None = None) -> dict[str, object]:
    """Facts of this machine; with `folder`, also of the disk that it lies on. A fact that the system does not state is
    left out.
    """
    observed: dict[str, object] = {
        "host": platform.node(),
        "cores": os.cpu_count(),
        "cores_physical": _count_physical_cores(),
        "cores_usable": usable_cores(),
        "cpu_model": cpu_model(),
        "cpu_governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "memory_bytes": _read_memory()["memory_bytes"],
        "swap_bytes": _read_memory_sizes().get("SwapTotal", 0),
        "swappiness": _read_number("/proc/sys/vm/swappiness"),
        "transparent_huge_pages": _chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "numa_nodes": len([n for n in _names("/sys/devices/system/node") if re.match(r"node\d+$", n)]) or None,
        "kernel": platform.system() + " " + platform.release(),
        "os": _read_os_name(),
        "architecture": platform.machine(),
        "virtualised": virtualised(),
        "clock_source": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "nic_bits_per_s": max([_read_speed(name) for name in _list_card_names()] or [0]) * 1000000,
        "nic": ", ".join(_cards()),
        "open_files_limit": _limit(resource.RLIMIT_NOFILE),
        "processes_limit": _limit(resource.RLIMIT_NPROC),
    }
    observed.update(_read_clock_facts())
    if folder is not None:
        observed.update(_read_disk_facts(folder))
    return {name: value for name, value in observed.items() if value not in (None, "", 0) or name == "swap_bytes"}


def usable_cores() -> int | None:
    """Cores that this process may run on, which a container or taskset may have cut."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def cpu_model() -> str:
    """The processor's name, or nothing where the system does not say."""
    for line in _read("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return ""


def virtualised() -> str | None:
    """What the machine is virtualised by; "no" where it says that it is not, None where it cannot be known."""
    if os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv"):
        return "container"
    described = " ".join(_read("/sys/class/dmi/id/" + name) for name in ("sys_vendor", "product_name")).lower()
    for name in HYPERVISORS:
        if name in described:
            return name
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("flags"):
            return YES_NO["hypervisor" in line.split()]
    return None


def file_system(folder: str | os.PathLike[str]) -> tuple[str, str, str]:
    """Device, type and mount options of the file system that holds `folder`; empty where the system does not say."""
    real = os.path.realpath(folder)
    best = ("", "", "")
    length = -1
    for line in _read("/proc/self/mounts").splitlines():
        device, mount_point, kind, options = line.split(" ")[:4]
        # Blanks in a mount point are written as octal escapes.
        mounted = re.sub(r"\\(\d{3})", lambda match: chr(int(match.group(1), 8)), mount_point)
        is_parent = mounted == "/" or real == mounted or real.startswith(mounted + "/")
        # Of two mounts on the same point the later one covers the earlier.
        if is_parent and len(mounted) >= length:
            best, length = (device, kind, options), len(mounted)
    return best


def _count_physical_cores() -> int | None:
    packages = set()
    package = ""
    for line in _read("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "physical id":
            package = value.strip()
        elif key.strip() == "core id":
            packages.add((package, value.strip()))
    return len(packages) or None


def _read_os_name() -> str:
    for line in _read("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return platform.system()


def _list_card_names() -> list[str]:
    """The network cards that are up; where there are none (containers), all interfaces but loopback."""
    names = sorted(name for name in _names("/sys/class/net") if name != "lo")
    up = [name for name in names if _read(f"/sys/class/net/{name}/operstate") != "down"]
    return [name for name in up if os.path.exists(f"/sys/class/net/{name}/device")] or up


def _cards() -> list[str]:
    """With their rates where they state one: "eth0 10000 Mbit/s"."""
    cards = []
    for name in _list_card_names():
        speed = _read_speed(name)
        if speed:
            name += f" {speed} Mbit/s"
        cards.append(name)
    return cards


def _read_speed(card: str) -> int:
    """In Mbit/s; 0 where it is not known, as of virtual cards: the kernel answers -1 or 65535 then."""
    speed = _read_number(f"/sys/class/net/{card}/speed") or 0
    if speed == 65535:
        return 0
    return max(speed, 0)


def _limit(kind: int) -> str:
    """Soft and hard limit of processes that this account starts."""
    limits = [str(limit) for limit in resource.getrlimit(kind)]
    return " / ".join(limits).replace(str(resource.RLIM_INFINITY), "unlimited")


def _read_clock_facts() -> dict[str, object]:
    """Whether the kernel's clock is kept by NTP, and the error that it estimates: adjtimex(2), read only."""
    if not sys.platform.startswith("linux"):
        return {}
    timex = (ctypes.c_long * 64)()  # struct timex is smaller; all zeros ask and set nothing
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex))
    except (OSError, AttributeError):
        return {}
    if state < 0:
        return {}
    # modes, offset, freq, maxerror, esterror, status: an int and longs, each in a word of its own.
    status = ctypes.cast(ctypes.byref(timex, 5 * ctypes.sizeof(ctypes.c_long)), ctypes.POINTER(ctypes.c_int))[0]
    if status & UNSYNCHRONISED:
        return {"ntp_synchronised": "no"}
    return {"ntp_synchronised": "yes", "clock_error_us": int(timex[4])}


def _read_disk_facts(folder: str | os.PathLike[str]) -> dict[str, object]:
    device, kind, options = file_system(folder)
    usage = shutil.disk_usage(folder)
    observed: dict[str, object] = {
        "disk_device": device,
        "disk_file_system": kind,
        "disk_mount_options": options[:200],
        "disk_total_bytes": usage.total,
        "disk_free_bytes": usage.free,
    }
    number = os.stat(folder).st_dev
    block = os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if os.path.exists(block + "/partition"):
        block = os.path.dirname(block)
    if os.path.isdir(block + "/queue"):
        observed["disk_model"] = _read(block + "/device/model")
        observed["disk_kind"] = DISK_KINDS.get(_read_number(block + "/queue/rotational"))
        observed["disk_scheduler"] = _chosen(block + "/queue/scheduler")
        observed["disk_read_ahead_kib"] = _read_number(block + "/queue/read_ahead_kb")
    return observed


def _chosen(path: str) -> str:
    """The word in brackets of the kernel's "always [madvise] never"; the whole text where nothing is in brackets."""
    text = _read(path)
    match = re.search(r"\[(.*?)\]", text)
    if match is None:
        return text
    return match.group(1)


def _read_number(path: str) -> int | None:
    try:
        return int(_read(path))
    except ValueError:
        return None


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().strip()
    except OSError:
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Facts and metrics of this machine for Benchsite.")
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--facts", action="store_true", help="print what this machine is, as JSON, and end")
    task.add_argument("--serve", metavar="ADDRESS:PORT", help="answer there with metrics, until Ctrl-C")
    task.add_argument(
        "--watch", metavar="URL", help="push metrics there with the token in BENCHSITE_TOKEN, until Ctrl-C"
    )
    parser.add_argument("--name", default=platform.node(), help="the machine's name at the site, for --watch")
    parser.add_argument("--folder", help="where the database keeps its data: facts of that disk, and its free space")
    options = parser.parse_args()
    if options.folder and not os.path.isdir(options.folder):
        parser.error(f"there is no folder {options.folder}")
    if options.serve:
        return serve(options.serve, parser)
    if options.watch:
        return watch(options.watch, options.name, parser)
    print(json.dumps(facts(options.folder), indent=1))
    return 0


def serve(address: str, parser: argparse.ArgumentParser) -> int:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        parser.error(f"{address} is no ADDRESS:PORT, as in 10.0.0.5:9100")
    try:
        server = HTTPServer((host, int(port)), MetricsHandler)
    except OSError as error:
        parser.error(f"cannot listen on {address}: {error.strerror or error}")
    print(f"http://{address}/metrics", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()
    return 0


def watch(url: str, name: str, parser: argparse.ArgumentParser) -> int:
    token = os.environ.get("BENCHSITE_TOKEN", "")
    if not token or not url.startswith(("https://", "http://")):
        parser.error("--watch needs an https:// address, and a token in BENCHSITE_TOKEN")
    state = ""
    try:
        while True:
            begin = time.monotonic()
            problem, is_final = push(url, name, token)
            if (problem or "pushing") != state:
                state = problem or "pushing"
                print(state, file=sys.stderr, flush=True)
            if is_final:
                return 1
            time.sleep(max(0.0, begin + PUSH_INTERVAL_S - time.monotonic()))
    except KeyboardInterrupt:
        return 0


def push(url: str, name: str, token: str) -> tuple[str, bool]:
    """What the site objects to, and whether it will do so again."""
    body = json.dumps({"machine": name, "text": metrics_text(Counters())}).encode()
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    request = urllib.request.Request(url, data=body, headers=headers, method="PUT")
    try:
        urllib.request.urlopen(request, timeout=PUSH_TIMEOUT_S).close()
    except urllib.error.HTTPError as error:
        return f"{error.code}: {error.read(2000).decode(errors='replace')}", error.code in (401, 403, 404, 422)
    except OSError as error:
        return str(error), False
    return "", False


if __name__ == "__main__":
    sys.exit(main())
