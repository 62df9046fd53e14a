"""Power cuts without the volatile disk: the server in a virtual machine that is killed. No Django.

A second way to the same answer, with the page cache, ext4 and the flushes of a real kernel: what the guest's kernel has
written to its disk is in the host's file, and `kill -9` of the machine loses the rest. Unlike a power cut it keeps what
the guest wrote without flushing, as a disk does whose cache has a battery.

qemu emulates the processor: that works where KVM is absent or incomplete, as in many virtual machines.
"""

import contextlib
import os.path
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from benchsite.core.child_environment import child_environment
from runs.catalog import Mode, RenderedServer, System
from runs.catalog.measured_losses import Fault
from workers.durability.trials import ServerBench, Trial, prepared_server
from workers.processes.guarded_process import Guarded, start_guarded
from workers.provision.folders import remove_folder
from workers.provision.process_provisioner import GRACE_S, LOG, ProcessProvisioner, Site
from workers.systems.manifests import Manifest

QEMU: Final = "qemu-system-x86_64"
INSTALL: Final = "apt-get install --no-install-recommends qemu-system-x86 busybox-static socat linux-image-cloud-amd64"
MODULES: Final = ("virtio_pci", "virtio_blk", "virtio_net", "ext4")
MEMORY_MB: Final = 768
DISK_MB: Final = 1024
IMAGE: Final = "disk.img"
ADDRESS: Final = "10.0.2.15"  # of the guest in qemu's own network
INIT: Final = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /usr/sbin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm {folder}
mount -t tmpfs tmpfs /dev/shm
chmod 1777 /dev/shm /tmp
for module in {modules}; do insmod $module; done
ip link set lo up
ip address add {address}/24 dev eth0
ip link set eth0 up
mount -t ext4 /dev/vda {folder} || exit 1
cd {folder}
{socat} TCP-LISTEN:{port},bind={address},fork,reuseaddr TCP:127.0.0.1:{port} &
export LC_ALL=C TZ=UTC PATH=/bin:/usr/bin
exec {command}
"""


def guest_problem() -> str:
    """The missing prerequisites of a guest, with the line that installs them; empty where none is missing."""
    missing = [name for name in (QEMU, "busybox", "socat", "setpriv", "mke2fs") if shutil.which(name) is None]
    if not _find_kernel():
        missing.append("a kernel in /boot with its modules")
    if not missing:
        return ""
    return f"A guest needs {', '.join(missing)}. Debian: {INSTALL}."


def _find_kernel() -> tuple[Path, Path] | None:
    """The newest kernel whose modules are there as well: its file and their folder."""
    images = sorted(Path("/boot").glob("vmlinuz-*"), key=lambda image: image.stat().st_mtime, reverse=True)
    for image in images:
        modules = Path("/lib/modules") / image.name.removeprefix("vmlinuz-")
        if modules.is_dir():
            return image, modules
    return None


class GuestProvisioner(ProcessProvisioner):
    """The same server in a virtual machine. Its folder lies on a disk image of its own, made at the first start."""

    def _start_node(self, program: Path, rendered: RenderedServer, node: int) -> Guarded:
        assert node == 0
        folder, kernel_and_modules = self.folder, _find_kernel()
        assert kernel_and_modules is not None  # `guest_problem`
        kernel, modules = kernel_and_modules
        image = folder / IMAGE
        if not image.exists():
            self._write_files(rendered, folder)
            self._make_image(image, ["data", *rendered.files])

        initial = folder / "initial.cpio"
        with initial.open("wb") as file:
            file.writelines(archive(self._list_files(program, rendered, modules)))

        forward = f"hostfwd=tcp:{rendered.host}:{rendered.port}-{ADDRESS}:{rendered.port}"
        argv: list[str | Path] = [
            QEMU, "-accel", "tcg", "-cpu", "max", "-m", str(MEMORY_MB), "-nographic", "-no-reboot",
            "-kernel", kernel, "-initrd", initial, "-append", "console=ttyS0 panic=-1 quiet rdinit=/init",
            "-drive", f"file={image},if=virtio,format=raw,cache=writeback",
            "-netdev", f"user,id=net,restrict=on,{forward}", "-device", "virtio-net-pci,netdev=net",
        ]  # fmt: skip

        return start_guarded(
            argv,
            registry=self.site.registry,
            label=f"guest {self.spec.deployment}",
            cwd=folder,
            stdout=folder / LOG,
            stderr=subprocess.STDOUT,
            grace_s=GRACE_S,
        )

    def _make_image(self, image: Path, names: Iterable[str]) -> None:
        """A disk with these files and folders of the server's."""
        tree = self.folder / "guest"
        tree.mkdir()
        for name in names:
            subprocess.run(["cp", "-a", self.folder / name, tree / name], env=child_environment(), check=True)
        if self.site.account is not None:
            shutil.chown(tree, self.site.account.name)
        with image.open("wb") as file:
            file.truncate(DISK_MB << 20)
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", tree, image], env=child_environment(), check=True)
        remove_folder(tree)

    def _list_files(self, program: Path, rendered: RenderedServer, modules: Path) -> Iterator[tuple[str, bytes, int]]:
        """The files of the guest's root: the server at its usual path, the programs that start it, and the script."""
        tools = {name: Path(str(shutil.which(name))) for name in ("busybox", "socat", "setpriv")}
        programs = [tools["socat"], tools["setpriv"], program]
        if self.recipe.program == "postgres":
            programs += [path for path in program.parent.parent.rglob("*") if path.is_file()]
        libraries = set(chain.from_iterable(map(_list_libraries, filter(_is_program, programs))))
        for path in sorted({*programs, *libraries}):
            yield str(path), path.read_bytes(), 0o755

        yield "/bin/busybox", tools["busybox"].read_bytes(), 0o755
        module_paths = []
        for path in _resolve_dependencies(MODULES, modules):
            module_paths.append(f"/modules/{path.name}")
            yield module_paths[-1], path.read_bytes(), 0o644

        command = " ".join(rendered.command(program, self._lib))
        account = self.site.account
        if account is not None:
            command = f"{tools['setpriv']} --reuid {account.uid} --regid {account.gid} --clear-groups {command}"
            yield "/etc/passwd", f"{account.name}:x:{account.uid}:{account.gid}::/:/bin/sh\n".encode(), 0o644

        script = INIT.format(
            folder=self.folder, modules=" ".join(module_paths), address=ADDRESS, port=rendered.port,
            socat=tools["socat"], command=command,
        )  # fmt: skip
        yield "/init", script.encode(), 0o755


class GuestBench(ServerBench):
    """Power cuts of one system in one mode in a virtual machine. Made by `prepared_guest`."""

    faults = (Fault.POWER_CUT,)

    def run_trial(self, fault: Fault, after_s: float) -> Trial:
        """As `ServerBench.run_trial`, for power cuts: the machine is killed."""
        assert fault is Fault.POWER_CUT
        remove_folder(self.data)
        (self.provisioner.folder / IMAGE).unlink(missing_ok=True)
        template = self.provisioner.folder / "template"
        subprocess.run(["cp", "-a", template, self.data], env=child_environment(), check=True)
        try:
            self.provisioner.start()
            fault_us = self.write_for(self.client, after_s)
            self.provisioner.stop(planned=False)
            return self.read_after(fault, fault_us, self.client.finish_writing(), self.started_again())
        finally:
            self.provisioner.stop(planned=False)


@contextlib.contextmanager
def prepared_guest(system: System, mode: Mode, manifest: Manifest, site: Site) -> Iterator[GuestBench]:
    """As `prepared_server`; each trial begins with a new disk."""
    with prepared_server(system, mode, manifest, site) as bench:
        guest = GuestProvisioner(bench.provisioner.spec, site, port=bench.server.port)
        yield GuestBench(guest, bench.server, bench.client, site, bench.disk)


def _is_program(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _list_libraries(program: Path) -> list[Path]:
    listing = subprocess.run(["ldd", program], env=child_environment(), capture_output=True, text=True, check=False)
    return [Path(os.path.normpath(path)) for path in re.findall(r"(/\S+) \(0x", listing.stdout)]


def _resolve_dependencies(names: Iterable[str], modules: Path) -> Iterator[Path]:
    """Files of kernel modules in the order in which they are loaded; what is built in has none."""
    files = {path.stem.replace("-", "_"): path for path in modules.rglob("*.ko")}
    loaded: set[str] = set()

    def load(name: str) -> Iterator[Path]:
        if name in loaded or name not in files:
            return
        loaded.add(name)
        match = re.search(rb"\0depends=([^\0]+)\0", files[name].read_bytes())
        if match:
            for dependency in match[1].decode().split(","):
                yield from load(dependency.replace("-", "_"))
        yield files[name]

    for name in names:
        yield from load(name)


def archive(files: Iterable[tuple[str, bytes, int]]) -> Iterator[bytes]:
    """A cpio archive (format newc) of files with these paths, contents and permissions, and of their folders."""
    folders: set[str] = set()
    for path, content, permissions in files:
        for folder in reversed(Path(path.lstrip("/")).parents):
            if str(folder) != "." and str(folder) not in folders:
                folders.add(str(folder))
                yield _pack_entry(str(folder), b"", stat.S_IFDIR | 0o755)
        yield _pack_entry(path.lstrip("/"), content, stat.S_IFREG | permissions)
    yield _pack_entry("TRAILER!!!", b"", 0)


def _pack_entry(name: str, content: bytes, mode: int) -> bytes:
    fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)
