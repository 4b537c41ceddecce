# SPDX-License-Identifier: BSD-3-Clause
"""A guest: QEMU, the NICs on its bus, and the command that runs in it."""
import dataclasses
import glob
import json
import os
import pathlib
import select
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import accelerator
import child
import initramfs
import packages
from nic import MODELS, Nic
from qmp import Qmp

FOLDER_PREFIX = "sluice-vm-"
BINDINGS = ("uio", "vfio", "none")
WIRINGS = ("hub", "cable")  # All emulated NICs share one hub, or pairs of them share a cable.
INIT = "/sbin/init"  # The first process of a booted system.
END_OF_INPUT = b"\x04"


class GuestFailed(Exception):
    """One line that explains why there is no guest, or no exit code."""


@dataclasses.dataclass
class Options:
    nics: list = dataclasses.field(default_factory=list)  # (model, flags of its device)
    emulated: list = dataclasses.field(default_factory=list)  # Names of devices that QEMU emulates.
    wiring: str = "hub"     # One of WIRINGS: how the emulated NICs are connected.
    # Unix datagram socket of one more station, connected to a port of the hub or to the other end
    # of the last cable. Each datagram is a frame. Frames from the guest are sent from
    # `station.sock` in the guest's folder.
    station: str = ""
    hugepages: bool = False  # Hugepages of this host back the guest's memory.
    bind: str = "vfio"
    memory_mb: int = 512
    cpus: int = 2
    command: list = dataclasses.field(default_factory=lambda: ["/bin/sh"])
    newest_kernel: bool = False  # Boot the kernel of the backports.
    system: str = ""        # Root folder of a system to boot instead.
    terminal: bool = False  # A user types at the guest's terminal.
    reboots: bool = False   # The guest may reboot; otherwise a reboot ends it.
    build: pathlib.Path = packages.PROJECT / "build" / "release"
    accelerator: str = ""   # One of accelerator.ACCELERATORS; empty: the one that works.


def boots_on_kvm(patience_s):
    """Returns whether a guest without NICs boots on KVM."""
    end = time.monotonic() + patience_s
    try:
        with Guest(Options(bind="none", command=["true"], accelerator="kvm")) as trial:
            while not trial.boots and time.monotonic() < end:
                if trial.step(0.2) is None or not trial.qmp.ask("query-status")["running"]:
                    break
            return trial.boots > 0
    except (GuestFailed, OSError):  # QEMU does not start, or aborts.
        return False


def _receive(source, most):
    """Returns b"" at the end of the stream, or on a reset, which occurs if QEMU exits with unread
    data."""
    try:
        return source.recv(most)
    except ConnectionResetError:
        return b""


def sweep():
    """Removes folders of runs whose process was killed."""
    for path in pathlib.Path(tempfile.gettempdir()).glob(FOLDER_PREFIX + "*"):
        owner = path.name.removeprefix(FOLDER_PREFIX).split("-")[0]
        if owner.isdigit() and not pathlib.Path(f"/proc/{owner}").exists():
            shutil.rmtree(path, ignore_errors=True)


class Guest:
    """Use it as a context: on exit, its processes end and its files are removed."""

    def __init__(self, options):
        packages.fetch(options.newest_kernel)
        self.options = options
        self.accelerator = options.accelerator or accelerator.choose(boots_on_kvm)
        sweep()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-"))
        self.process = self.console = self.control = self.qmp = None
        self.boots = 0
        self.runs = False  # Whether the command's terminal is set up.
        self.exit_code = None
        self.said = b""  # An incomplete line from the control port.
        self.output = ""  # Output that `wait_for` has read.
        binary = options.build / "apps" / "device" / "sluice-device"
        self.nics = [Nic(binary, self.folder, i, model, flags)
                     for i, (model, flags) in enumerate(options.nics)]

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    # ------------------------------------------------------------------ start

    def start(self):
        for nic in self.nics:
            nic.start()
        initramfs.make(self.folder / "initrd.gz", self.options.newest_kernel)
        self._write_job()
        listeners = {}
        for name in ("console", "control", "qmp"):
            listeners[name] = socket.socket(socket.AF_UNIX)
            listeners[name].bind(str(self.folder / f"{name}.sock"))
            listeners[name].listen(1)
        environment = {**os.environ,
                       "QEMU_MODULE_DIR": str(self._library_folder() / "qemu")}
        with open(self.folder / "qemu.log", "wb") as log:
            self.process = child.start(self._command_line(), stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, env=environment)
        # QEMU connects before the guest runs, so no output is lost.
        self.console, self.control, qmp = (self._accept(listeners[name])
                                           for name in ("console", "control", "qmp"))
        self.qmp = Qmp(qmp)

    def _accept(self, listener):
        with listener:
            while True:
                ready, _, _ = select.select([listener], [], [], 0.2)
                if ready:
                    return listener.accept()[0]
                if self.process.poll() is not None:
                    raise GuestFailed(f"QEMU does not start: {self._last_line('qemu.log')}")

    @staticmethod
    def _library_folder():
        return packages.FOLDER / "qemu" / "usr" / "lib" / "x86_64-linux-gnu"

    def _command_line(self):
        options, root = self.options, packages.FOLDER / "qemu"
        loader = next(path for path in sorted(root.rglob("ld-linux-x86-64.so.2")))
        libraries = self._library_folder()
        search = [libraries, *sorted({path.parent for path in libraries.rglob("*.so*")
                                      if path.parent.name == "pulseaudio"})]
        memory = f"{options.memory_mb}M"
        kvm = self.accelerator == "kvm"
        executed = (["-accel", "kvm", "-cpu", "host"] if kvm
                    else ["-accel", "tcg,thread=multi", "-cpu", "max"])
        iommu = options.bind == "vfio"
        command = [
            loader, "--library-path", ":".join(map(str, search)),
            root / "usr" / "bin" / "qemu-system-x86_64",
            "-L", root / "usr" / "share" / "qemu", "-L", root / "usr" / "share" / "seabios",
            *executed, "-machine", "q35,memory-backend=memory"
            + (",kernel-irqchip=split" if iommu and kvm else ""),
            "-smp", options.cpus, "-m", memory,
            "-object", f"memory-backend-memfd,id=memory,size={memory},share=on"
            + (",hugetlb=on,prealloc=on" if options.hugepages else ""),
            "-display", "none", "-vga", "none", "-nodefaults", "-no-user-config",
            *([] if options.reboots else ["-no-reboot"]),
            "-kernel", initramfs.kernel(options.newest_kernel), "-initrd", self.folder / "initrd.gz",
            "-append", self._kernel_command_line(iommu),
            "-chardev", f"file,id=boot,path={self.folder}/boot.log", "-serial", "chardev:boot"]
        for name in ("console", "control", "qmp"):
            command += ["-chardev", f"socket,id={name},path={self.folder}/{name}.sock"]
        command += ["-mon", "chardev=qmp,mode=control"]
        if iommu:  # An IOMMU must precede the devices that it translates for.
            command += ["-device", "intel-iommu,caching-mode=on,aw-bits=48"]
        command += ["-device", "virtio-serial-pci",
                    "-device", "virtconsole,chardev=console",
                    "-device", "virtserialport,chardev=control,name=sluice.control",
                    "-virtfs", f"local,path={options.system or '/'},mount_tag=root,"
                           f"security_model=none,readonly={'off' if options.system else 'on'},"
                           "multidevs=remap"]
        for i, device in enumerate([*map(self.device, self.nics), *self._emulated(command)]):
            command += ["-device", f"pcie-root-port,id=slot{i},chassis={i + 1},slot={i + 1}",
                        "-device", json.dumps({**device, "bus": f"slot{i}"})]
        return [str(part) for part in command]

    def _emulated(self, command):
        """Yields the QEMU devices of emulated NICs; appends their network backends to `command`."""
        options, folder = self.options, self.folder
        station = (f"local.type=unix,local.path={folder}/station.sock,"
                   f"remote.type=unix,remote.path={options.station}")
        if options.station and options.wiring == "hub":
            command += ["-netdev", f"dgram,id=station,{station}",
                        "-netdev", "hubport,hubid=0,id=hub,netdev=station"]
        for i, driver in enumerate(options.emulated):
            net = f"net{i}"
            if options.wiring == "hub":
                command += ["-netdev", f"hubport,hubid=0,id={net}"]
            elif options.station and i % 2 == 0 and i + 1 == len(options.emulated):
                command += ["-netdev", f"dgram,id={net},{station}"]
            else:
                command += ["-netdev", f"stream,id={net},server={'off' if i % 2 else 'on'},"
                                       f"addr.type=unix,addr.path={folder}/cable{i // 2}.sock"]
            # QEMU's virtio devices bypass an IOMMU by default.
            behind = {"iommu_platform": True} if driver.startswith("virtio-") \
                and self.options.bind == "vfio" else {}
            yield {"driver": driver, "id": f"emulated{i}", "netdev": net,
                   "mac": f"02:00:00:00:00:{i + 1:02x}", **behind}

    @staticmethod
    def device(nic):
        """Returns the QEMU device of a NIC in its slot."""
        return {"driver": "vfio-user-pci", "id": nic.name, "bus": f"slot{nic.name[3:]}",
                "socket": {"path": str(nic.socket), "type": "unix"}}

    def _kernel_command_line(self, iommu):
        pages = self.options.memory_mb // 4  # 2 MiB pages for half of the memory.
        # An emulated processor may be too slow for the kernel's timer check.
        words = ["console=ttyS0", "quiet", "panic=-1", "no_timer_check", f"hugepages={pages}",
                 *(["intel_iommu=on"] if iommu else []),
                 f"sluice.bind={self.options.bind}"]
        if self.options.system:  # The last console in the list becomes /dev/console.
            return " ".join([*words, "console=hvc0", f"sluice.init={INIT}"])
        words += [f"sluice.job={self.folder}/job",
                  f"sluice.visible={self.folder},{packages.PROJECT},{os.getcwd()}"]
        drivers = [self.options.build / "drivers" / name / f"lib{file}.so"
                   for name, file in (("net_enso", "rte_net_enso"), ("net_ipu", "rte_net_ipu"))]
        plugins = sorted(glob.glob("/usr/lib/x86_64-linux-gnu/dpdk/pmds-*"))
        if plugins and all(driver.exists() for driver in drivers):
            words += [f"sluice.plugins={plugins[-1]}",
                      f"sluice.drivers={','.join(map(str, drivers))}"]
        if self.options.terminal:
            words.append("sluice.terminal=yes")
        return " ".join(words)

    def _write_job(self):
        """Writes the command, with the current environment and folder."""
        kept = ("LD_LIBRARY_PATH", "TERM", "LANG", "PYTHONPATH")
        lines = ["#!/bin/sh", f"cd {shlex.quote(os.getcwd())} || exit 125"]
        lines += [f"export {name}={shlex.quote(os.environ[name])}" for name in kept
                  if name in os.environ]
        lines.append("exec " + shlex.join(self.options.command))
        (self.folder / "job").write_text("\n".join(lines) + "\n", encoding="utf-8")

    # ---------------------------------------------------------------- running

    def log(self, name):
        """Returns the log: boot.log of the guest's kernel, or qemu.log of QEMU."""
        path = self.folder / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def _last_line(self, name):
        lines = [line.strip() for line in self.log(name).splitlines() if line.strip()]
        return lines[-1] if lines else "no output"

    def _hear(self):
        """Processes lines of the control port. Returns False at its end."""
        data = _receive(self.control, 4096)
        self.said += data
        *lines, self.said = self.said.split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").strip().partition(" ")
            if word == "boot":
                self.boots += 1
                self.runs = False
                self.control.sendall(f"{self.boots}\n".encode())
            elif word == "run":
                self.runs = True
            elif word == "exit":
                self.exit_code = int(rest)
            elif word == "failed":
                raise GuestFailed(f"the guest cannot use its NIC or files: {rest}")
        return bool(data)

    def step(self, timeout_s):
        """Returns the output of the guest's command in the meantime; None once the guest is off."""
        sources = [source for source in (self.console, self.control) if source.fileno() >= 0]
        if not sources:
            self.process.wait()
            return None
        ready, _, _ = select.select(sources, [], [], timeout_s)
        if self.control in ready and not self._hear():
            self.control.close()
        if self.console in ready:
            data = _receive(self.console, 65536)
            if not data:
                self.console.close()
            return data
        return b""

    def code(self):
        """Returns the command's exit code, or 0 if a system switched itself off. The guest must be
        off."""
        if self.options.system and self.process.poll() == 0 \
                and self.qmp.shutdown_reason() == "guest-shutdown":
            return 0
        if self.exit_code is None:
            said = self._last_line("boot.log") if self.process.poll() == 0 \
                else self._last_line("qemu.log")
            raise GuestFailed(f"the guest ended before its command: {said}")
        return self.exit_code

    def type(self, data):
        """Writes to the command's standard input without blocking; returns the bytes that were not
        written. If the guest is off, all bytes are discarded."""
        try:
            return data[self.console.send(data, socket.MSG_DONTWAIT):]
        except BlockingIOError:
            return data
        except OSError:
            return b""

    def send(self, text):
        """Writes to the command's standard input, once it runs."""
        while not self.runs:
            data = self.step(1)
            if data is None:
                self.code()  # Raises an error with the reason.
                return
            self.output += data.decode(errors="replace")
        self.console.sendall(text.encode())

    def wait_for(self, pattern, patience_s):
        """Reads until the compiled `pattern` is found; returns the match, and discards the output
        up to it."""
        end = time.monotonic() + patience_s
        while not (found := pattern.search(self.output)):
            left = end - time.monotonic()
            data = self.step(max(left, 0)) if left > 0 else None
            if data is None:
                raise GuestFailed(f"no {pattern.pattern!r} in: ...{self.output[-3000:]}\n"
                                  f"QEMU: {self._last_line('qemu.log')}")
            self.output += data.decode(errors="replace")
        self.output = self.output[found.end():]
        return found

    def wait(self, patience_s):
        """Reads until the guest is off; returns the command's exit code."""
        end = time.monotonic() + patience_s
        while (data := self.step(max(end - time.monotonic(), 0))) is not None:
            if time.monotonic() > end:
                raise GuestFailed(f"the guest does not end: ...{self.output[-3000:]}")
            self.output += data.decode(errors="replace")
        return self.code()

    def await_boot(self, number, patience_s):
        """Returns when the guest has booted for the `number`-th time and its command runs."""
        end = time.monotonic() + patience_s
        while self.boots < number or not self.runs:
            left = end - time.monotonic()
            data = self.step(left) if left > 0 else None
            if data is None:
                raise GuestFailed(f"the guest did not start {number} time(s): "
                                  f"{self._last_line('boot.log')}")
            self.output += data.decode(errors="replace")
        self.output = ""

    # -------------------------------------------------------------------- bus

    def unplug(self, nic):
        """Unplugs a NIC. Returns when the guest has released it."""
        self.qmp.ask("device_del", id=nic.name)
        self.qmp.wait_for("DEVICE_DELETED", nic.name)

    def plug(self, nic):
        """Plugs in a NIC that was unplugged; its process must be listening."""
        self.qmp.ask("device_add", **self.device(nic))

    def set_link(self, index, up):
        """Connects or disconnects the cable of an emulated NIC."""
        self.qmp.ask("set_link", name=f"emulated{index}", up=up)

    # -------------------------------------------------------------------- end

    def power_off(self):
        """Powers off the guest, but not its NICs."""
        if self.process is not None:
            child.end(self.process, signal.SIGTERM)

    def close(self):
        self.power_off()
        for nic in self.nics:
            nic.stop()
        for connection in (self.console, self.control, self.qmp and self.qmp.connection):
            if connection is not None:
                connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def check(options):
    """Returns one line that names the invalid flag; None if the options are valid."""
    for model, _ in options.nics:
        if model not in MODELS:
            return f"--nic={model}: use {' or '.join(MODELS)}"
    if options.wiring not in WIRINGS:
        return f"wiring {options.wiring}: use {' or '.join(WIRINGS)}"
    if len(options.nics) > 2:
        return "--nic: a guest has at most two"
    if options.bind not in BINDINGS:
        return f"--bind={options.bind}: use {', '.join(BINDINGS[:-1])} or {BINDINGS[-1]}"
    if options.accelerator not in ("", *accelerator.ACCELERATORS):
        return f"--accel={options.accelerator}: use {' or '.join(accelerator.ACCELERATORS)}"
    if options.system and not os.path.lexists(f"{options.system}{INIT}"):
        return f"boot {options.system}: has no {INIT}: give the root of a system with systemd"
    if options.system and "," in str(options.system):
        return f"boot {options.system}: a comma separates options of QEMU: rename the folder"
    if not 256 <= options.memory_mb <= 65536:
        return f"--memory={options.memory_mb}: give megabytes, 256 to 65536"
    return None
