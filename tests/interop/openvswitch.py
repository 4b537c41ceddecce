# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch with DPDK from Debian's packages, unpacked below build/deps and never installed: a
private database and switch in the test's scratch folder."""
import os
import pathlib
import re
import signal
import subprocess
import time

import harness

PACKAGES = pathlib.Path(__file__).resolve().parents[2] / "build/deps/openvswitch"
SWITCH = PACKAGES / "usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
ENOUGH = 500


def why_missing():
    return None if SWITCH.exists() else "no Open vSwitch: scripts/setup --interop fetches it"


class Row:
    """Like interop_test.Row, for a bridge with all ports. With `bond`, the first two ports form one
    port, which uses its first member while the link of that member is up."""

    def __init__(self, name, row, driver, plugin, folder):
        import interop_test  # pylint: disable=import-outside-toplevel,cyclic-import
        self.base = interop_test.Row(name, row, driver, plugin, folder)
        self.row, self.plugin, self.folder = row, plugin, pathlib.Path(folder)
        share = PACKAGES / "usr/share/openvswitch"
        self.environment = {
            **dict.fromkeys(("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR", "OVS_SYSCONFDIR"), folder),
            "OVS_PKGDATADIR": str(share), "PATH": f"{PACKAGES}/usr/bin:{PACKAGES}/usr/sbin:"
            + os.environ["PATH"], "LD_LIBRARY_PATH": f"{PACKAGES}/usr/lib/x86_64-linux-gnu"}
        self.processes = self.base.processes
        self.socket = f"unix:{self.folder}/db.sock"

    # ------------------------------------------------------------ its tools

    def tool(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, **self.environment})
        with open(self.folder / "tools", "a", encoding="utf-8") as file:
            file.write(done.stdout + done.stderr)
        return done.stdout

    def configure(self, *command):
        return self.tool("ovs-vsctl", f"--db={self.socket}", "--timeout=40", *command)

    def ask(self, *command):
        """Queries the switch itself. Returns its answer."""
        return self.tool("ovs-appctl", "-t", f"{self.folder}/switch.ctl", *command)

    def said(self):
        tools = self.folder / "tools"
        return (tools.read_text(encoding="utf-8") if tools.exists() else "") + self.base.said()

    # ------------------------------------------------------------ running

    def start(self):
        database = self.folder / "conf.db"
        self.tool("ovsdb-tool", "create", str(database),
                  str(PACKAGES / "usr/share/openvswitch/vswitch.ovsschema"))
        self.base.start(str(PACKAGES / "usr/sbin/ovsdb-server"),
                        [str(database), f"--remote=p{self.socket}",
                         f"--unixctl={self.folder}/db.ctl"], self.environment)
        harness.wait_until(lambda: (self.folder / "db.sock").exists(), "the database")
        self.configure("--no-wait", "init")
        vdevs = " ".join(f"--vdev={vdev}" for vdev in self.base.vdevs())
        settings = ["dpdk-init=true", "dpdk-lcore-mask=0x1", "pmd-cpu-mask=0x2",
                    "dpdk-socket-mem=512",
                    f"dpdk-extra=-d {self.plugin} --no-pci --file-prefix={self.base.prefix} "
                    f"{vdevs}",
                    *self.row.get("settings", [])]
        for setting in settings:
            key, _, value = setting.partition("=")
            self.configure("--no-wait", "set", "Open_vSwitch", ".", f'other_config:{key}="{value}"')
        self.base.start(str(SWITCH), [self.socket, f"--unixctl={self.folder}/switch.ctl"],
                        self.environment)
        self.configure("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
        ports = list(enumerate(self.base.ports))
        if self.row.get("bond"):
            members, ports = ports[:2], ports[2:]
            names = [f"p{i}" for i, _ in members]
            self.configure("add-bond", "br0", "bond0", *names, "bond_mode=active-backup",
                           "other_config:bond-primary=p0",
                           *(part for i, name in members for part in self.interface(i, name)))
        for i, name in ports:
            self.configure("add-port", "br0", f"p{i}", *self.interface(i, name))

    @staticmethod
    def interface(i, name):
        return ["--", "set", "Interface", f"p{i}", "type=dpdk", f"options:dpdk-devargs={name}",
                "options:dpdk-lsc-interrupt=" + str(name.startswith("net_ipu")).lower()]

    # ------------------------------------------------------------ output

    def packets(self, way, names=r"p\d"):
        """Returns the packets of the ports with these names. The switch is queried, since the
        database lags by seconds."""
        total, port = 0, ""
        for line in self.ask("dpctl/show", "-s").splitlines():
            if found := re.match(r" *port \d+: (\S+)", line):
                port = found[1]
            elif (found := re.match(rf" *{way} packets:(\d+)", line)) and re.fullmatch(names, port):
                total += int(found[1])
        return total

    def forwards(self):
        return self.packets("RX") > ENOUGH and self.packets("TX") > ENOUGH

    def offloads(self):
        """Returns whether the flows that the NIC marks have counted more than ENOUGH packets, and
        the switch has classified more than ENOUGH packets by the mark."""
        self.ask("dpctl/dump-flows", "-m")
        flows = self.ask("dpctl/dump-flows", "-m", "type=partially-offloaded")
        counted = sum(map(int, re.findall(r"packets:(\d+),[^\n]*offloaded:partial", flows)))
        marked = re.search(r"phwol hits: *(\d+)", self.ask("dpif-netdev/pmd-stats-show"))
        return counted > ENOUGH and marked is not None and int(marked[1]) > ENOUGH

    def fails_over(self):
        """Returns whether the first member of the bond has sent packets and lost its link, and the
        second member now sends."""
        if not hasattr(self, "sent_by_first"):
            if self.packets("TX", "p0") > ENOUGH:
                self.sent_by_first = True
            return False
        bond = self.ask("bond/show", "bond0")
        return (re.search(r"member p0: disabled", bond) is not None
                and re.search(r"member p1: enabled\s+active member", bond) is not None
                and self.packets("TX", "p1") > ENOUGH)

    def verdict(self):
        self.start()
        shows = getattr(self, self.row["shows"].replace(" ", "_"))
        end = time.monotonic() + self.row.get("slow", 20)
        while time.monotonic() < end:
            if shows():
                return self.end()
            time.sleep(0.5)
        return "refused"

    def end(self):
        return self.base.end(signal.SIGTERM, 20)

    def close(self):
        self.base.close()
