#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""veth_test.py SLUICE_RPC ODD_SERVICE: real clients. sluice-rpc is on one end of a veth pair; in a
network namespace on the other are clients made by rpcgen, and unmodified rpcinfo. Root only."""
import contextlib
import json
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts" / "bench")]
import private_folder  # pylint: disable=wrong-import-position,unused-import
import harness
from veth import Veth, sh  # pylint: disable=wrong-import-position

SERVICE = sys.argv.pop()
RPC = sys.argv.pop()
HERE = pathlib.Path(__file__).resolve().parent
SERVICES = ROOT / "apps/rpc/services"
# scripts/setup unpacks this package instead of installing it, because the package would start a
# service.
RPCINFO = ROOT / "build/deps/rpcbind/usr/sbin/rpcinfo"
PAIR = Veth("rpc")
CLIENT, SERVER, CLIENT6, SERVER6 = "10.99.8.1", "10.99.8.2", "fd99:8::1", "fd99:8::2"
PORT = 20049
ODD = 0x20000777
# Programs and versions of the bundled services, and of odd.x.
PROGRAMS = {100000: (2, 3, 4), 0x20000101: (1,), 0x20000102: (1,), 0x20000103: (1,),
            0x20000104: (1,), 0x20000105: (1,), ODD: (1,)}
PATIENCE_S = 60


def build_client(folder, source, *x_files):
    """Builds a client from rpcgen's stubs. Returns its path."""
    stubs = []
    for x in x_files:
        shutil.copy(x, folder)
        for option, end in (("-h", ".h"), ("-c", "_xdr.c"), ("-l", "_clnt.c")):
            subprocess.run(["rpcgen", "-C", option, "-o", x.stem + end, x.name], cwd=folder,
                           check=True, timeout=PATIENCE_S)
        stubs += [x.stem + "_xdr.c", x.stem + "_clnt.c"]
    subprocess.run(["cc", "-O1", "-w", "-I/usr/include/tirpc", f"-I{folder}", "-o", "client",
                    str(HERE / source), *stubs, "-ltirpc"], cwd=folder, check=True,
                   timeout=PATIENCE_S)
    return f"{folder}/client"


def there(*command):
    """Runs a command in the client's namespace, which must succeed. Returns its output."""
    done = subprocess.run(PAIR.command(*command), capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done
    return done.stdout


@contextlib.contextmanager
def serving(address=SERVER, services="nothing,echo,add,store,front"):
    """Runs sluice-rpc. Yields its report, which is complete after the block."""
    report = {}
    with subprocess.Popen([RPC, f"--wire={PAIR.here}", f"--ip={address}", "--json=-",
                           f"--services=portmap,{services},{SERVICE}:{HERE}/odd.x",
                           "--duration_s=0", "--preempt_ms=10000", "--stats_period_s=0.05"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            first = server.stderr.readline()
            assert "Mcalls/s" in first, first
            yield report
        finally:
            server.send_signal(signal.SIGINT)
            output, lines = server.communicate(timeout=PATIENCE_S)
    assert server.returncode == 0, lines
    report.update(json.loads(output))


def words(*values):
    return struct.pack(f">{len(values)}I", *values)


def call(program=ODD, version=1, procedure=6, rpc=2, credential=(0, b""), verifier=(0, b""),
         arguments=b""):
    """Returns a call (RFC 5531 section 9). Lengths are those of the bodies; the caller adds
    padding."""
    return words(42, 0, rpc, program, version, procedure, credential[0], len(credential[1])) \
        + credential[1] + words(verifier[0], len(verifier[1])) + verifier[1] + arguments


def sys_credential(name_bytes=5):
    """Returns AUTH_SYS credentials (RFC 5531 appendix A): stamp, machine name, uid, gid, two
    groups."""
    return (1, words(7, name_bytes) + b"hostn\0\0\0" + words(1000, 100, 2, 4, 27))


def accepted(status, *more):
    return words(42, 1, 0, 0, 0, status, *more)


def denied(*more):
    return words(42, 1, 1, *more)


# This call follows each message and has another xid.
LAST = words(43) + call()[4:]
# A message, and the reply that RFC 5531 section 9 requires. FINE is procedure 6, FAIL is 3, and
# TURN is 5.
ANSWERS = [
    ("AUTH_NONE", call(), accepted(0)),
    ("AUTH_SYS", call(credential=sys_credential()), accepted(0)),
    ("a union without an arm", call(procedure=5, arguments=words(9)), accepted(0, 9)),
    ("PROG_UNAVAIL", call(program=99), accepted(1)),
    ("PROG_MISMATCH", call(version=7), accepted(2, 1, 1)),
    ("PROC_UNAVAIL", call(procedure=77), accepted(3)),
    ("GARBAGE_ARGS: no arguments", call(procedure=5), accepted(4)),
    ("GARBAGE_ARGS: a wrong length", call(procedure=5, arguments=words(5, 4, 1)), accepted(4)),
    ("SYSTEM_ERR", call(procedure=3), accepted(5)),
    ("RPC_MISMATCH", call(rpc=3), denied(0, 2, 2)),
    ("AUTH_BADCRED", call(credential=sys_credential(name_bytes=256)), denied(1, 1)),
    ("AUTH_BADCRED: too long", call(credential=(0, bytes(404))), denied(1, 1)),
    ("AUTH_REJECTEDCRED", call(credential=(77, b"")), denied(1, 2)),
    ("AUTH_BADVERF", call(verifier=(0, bytes(404))), denied(1, 3)),
    ("a reply", accepted(0), None),
    ("half a header", call()[:20], None),
]


class Clients(unittest.TestCase):
    def check(self, output, calls):
        """Checks the output of odd_client."""
        said = output.splitlines()
        self.assertEqual(said[0], f"good {calls}")
        # libtirpc's texts for SYSTEM_ERR and PROG_MISMATCH.
        self.assertIn("Remote system error", said[1])
        self.assertEqual(said[2], "long: good")
        self.assertIn("Program/version mismatch; low version = 1, high version = 1", said[3])


class OwnAddresses(Clients):
    """Tests addresses that are unknown to the kernel."""

    def test_clients_of_rpcgen_are_answered_over_ipv4_and_ipv6(self):
        with tempfile.TemporaryDirectory() as folder:
            client = build_client(folder, "odd_client.c", HERE / "odd.x")
            # Addresses, ports and numbers of calls. Without a port, the client queries the port
            # mapper.
            for partial_checksums, runs in (
                    (False, ((SERVER, PORT, 1500), (SERVER, 0, 50), (SERVER6, 0, 300))),
                    (True, ((SERVER, PORT, 100), (SERVER6, 0, 50)))):
                with self.subTest(partial_checksums=partial_checksums), \
                        PAIR.up(CLIENT + "/24", CLIENT6 + "/64",
                                partial_checksums=partial_checksums):
                    self.serve(client, runs)

    def serve(self, client, runs):
        with serving(f"{SERVER},{SERVER6}", "nothing") as report:
            for address, port, calls in runs:
                self.check(there(client, address, str(port), str(calls)), calls)
        # libtirpc repeats a call if it has waited for long, so there may be more.
        self.assertGreaterEqual(report["device"]["rpc_answered"], sum(run[2] for run in runs))
        self.assertEqual(report["nic_drops"], 0, report)
        self.assertGreaterEqual(report["device"]["wire_reassembled"], len(runs))
        self.assertEqual(report["drops"]["wire_unsent"], 0)

    def test_clients_of_rpcgen_are_answered_by_every_service(self):
        with tempfile.TemporaryDirectory() as folder, PAIR.up(CLIENT + "/24", CLIENT6 + "/64"), \
                serving() as report:
            client = build_client(folder, "services_client.c",
                                  *(SERVICES / f"{name}.x" for name in ("echo", "add", "store",
                                                                        "front")))
            said = there(client, SERVER)
        self.assertEqual([line.rsplit(": ", 1)[1] for line in said.splitlines()], ["good"] * 10,
                         said)
        self.assertGreaterEqual(report["device"]["rpc_nested"], 4)

    def test_every_message_has_the_answer_of_the_rfc(self):
        with PAIR.up(CLIENT + "/24", CLIENT6 + "/64"), serving(f"{SERVER},{SERVER6}", "nothing"):
            for address in SERVER, SERVER6:
                said = there(sys.executable, str(HERE / "wire_client.py"), "udp", address,
                             str(PORT), LAST.hex(), *(message.hex() for _, message, _ in ANSWERS))
                for (name, _, reply), line in zip(ANSWERS, said.splitlines(), strict=True):
                    with self.subTest(name, address=address):
                        self.assertEqual(line, "none" if reply is None else reply.hex())


# One end of the veth as a DPDK port, and NICs that use it as their cable.
PCAP = f"--vdev=net_pcap0,iface={PAIR.here},phy_mac=1"
IPU = "--vdev=net_ipu0,wire=port:net_pcap0"
ENSO = "--vdev=net_enso0,wire=port:net_pcap0"


class EachInterface(Clients):
    """Tests each interface that carries frames."""

    @contextlib.contextmanager
    def serving(self, interface, *vdevs, flags=()):
        """Runs sluice-rpc on the interface. Yields its report, which is complete after the
        block."""
        report = {}
        port = vdevs[-1].split("=", 1)[1].split(",")[0]
        # sluice-rpc executes this program on the other interfaces, because coherent transfers
        # calls, not frames.
        with subprocess.Popen([RPC + "-frames", "--lcores=0@0-1,1@0-1", "--no-pci", "--no-huge", "-m", "512",
                               *vdevs, "--", f"--iface={interface}", f"--port={port}",
                               f"--ip={SERVER},{SERVER6}",
                               f"--services=portmap,{SERVICE}:{HERE}/odd.x", "--json=-", *flags],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            try:
                lines = []
                while "Mpps" not in (lines or [""])[-1]:
                    lines.append(server.stderr.readline())
                    assert lines[-1], lines
                yield report
            finally:
                server.send_signal(signal.SIGINT)
                output, rest = server.communicate(timeout=PATIENCE_S)
        assert server.returncode == 0, (lines, rest)
        report.update(json.loads(output))

    def test_calls_and_results_longer_than_a_frame_are_carried(self):
        with tempfile.TemporaryDirectory() as folder:
            client = build_client(folder, "odd_client.c", HERE / "odd.x")
            # An Ensō pipe carries neither ARP nor IPv6.
            for interface, vdevs, runs in (
                    ("packetized", (PCAP,), ((SERVER, PORT), (SERVER6, 0))),
                    ("packetized", (PCAP, IPU), ((SERVER, PORT),)),
                    ("streaming", (PCAP,), ((SERVER, PORT), (SERVER6, 0))),
                    ("streaming", (PCAP, ENSO), ((SERVER, PORT),)),
                    ("bilateral", (PCAP, IPU), ((SERVER, PORT), (SERVER6, 0))),
                    ("coherent", (PCAP, IPU), ((SERVER, PORT), (SERVER6, 0)))):
                with self.subTest(interface, vdevs=vdevs), \
                        PAIR.up(CLIENT + "/24", CLIENT6 + "/64"):
                    here = pathlib.Path("/sys/class/net", PAIR.here, "address").read_text().strip()
                    PAIR.run("ip", "neigh", "replace", SERVER, "lladdr", here, "dev", PAIR.there)
                    with self.serving(interface, *vdevs) as report:
                        for address, port in runs:
                            self.check(there(client, address, str(port), "20"), 20)
                    self.assertGreaterEqual(report["reassembled_pkts"], 2)
                    self.assertEqual(report["rpc"]["rpc_unsent"], 0, report)
                    self.assertEqual(report["nic_dropped_pkts"], 0, report)

    @unittest.skipUnless(RPCINFO.exists(), f"{RPCINFO}: scripts/setup has not unpacked rpcbind")
    @unittest.skipUnless(harness.has_tcp(RPC + "-frames"), "this build has no TCP")
    def test_tcp(self):
        for interface, vdevs in (("packetized", (PCAP,)), ("bilateral", (PCAP, IPU)),
                                 ("coherent", (PCAP, IPU))):
            place = "nic" if interface == "bilateral" else "host"
            with self.subTest(interface), PAIR.up(CLIENT + "/24", CLIENT6 + "/64"), \
                    self.serving(interface, *vdevs,
                                 flags=["--transport=tcp", f"--tcp_on={place}"]) as report:
                for address in SERVER, SERVER6:
                    for protocol in "tcp!", "tcp":
                        said = there(sys.executable, str(HERE / "wire_client.py"), protocol,
                                     address, str(PORT),
                                     *(message.hex() for _, message, _ in ANSWERS))
                        for (name, _, reply), line in zip(ANSWERS, said.splitlines(), strict=True):
                            with self.subTest(name, address=address):
                                self.assertEqual(line, "none" if reply is None else reply.hex())
                for program in 100000, ODD:
                    said = there(str(RPCINFO), "-t", SERVER, str(program))
                    self.assertIn(f"program {program} version", said)
            self.assertEqual(report["tcp"]["bad_segments"], 0, report)


class SharedAddresses(unittest.TestCase):
    """Tests addresses that the kernel uses, too, with TCP servers."""

    @contextlib.contextmanager
    def up(self):
        with PAIR.up(CLIENT + "/24", CLIENT6 + "/64", here=(SERVER + "/24",)):
            sh("ip", "addr", "add", SERVER6 + "/64", "dev", PAIR.here, "nodad")
            with serving(f"{SERVER},{SERVER6}") as report:
                yield report

    @unittest.skipUnless(RPCINFO.exists(), f"{RPCINFO}: scripts/setup has not unpacked rpcbind")
    def test_rpcinfo_finds_every_service(self):
        def rpcinfo(*arguments):
            return [line.split() for line in there(str(RPCINFO), *arguments).splitlines()]

        with self.up() as report:
            old = rpcinfo("-p", SERVER)
            new = rpcinfo(SERVER)
            short = rpcinfo("-s", SERVER)
            for program, versions in PROGRAMS.items():
                port = 111 if program == 100000 else PORT
                networks = ("udp", "udp6") + (("tcp", "tcp6") if port == 111 else ())
                for version in versions:
                    for network in networks:
                        address = SERVER6 if network[-1] == "6" else SERVER
                        row = [str(program), str(version), network,
                               f"{address}.{port >> 8}.{port & 255}"]
                        self.assertIn(row, [line[:4] for line in new])
                    for network in networks[::2]:
                        row = [str(program), str(version), network, str(port)]
                        self.assertIn(row, [line[:4] for line in old])
                self.assertIn(str(program), [line[0] for line in short])
                # Queries the port mapper, then calls procedure 0 of every registered version.
                for arguments in (("-u", SERVER), ("-T", "udp", SERVER), ("-T", "udp6", SERVER6)):
                    said = rpcinfo(*arguments, str(program))
                    for version in versions:
                        self.assertIn(f"program {program} version {version} ready and waiting"
                                      .split(), said, arguments)
            said = rpcinfo("-t", SERVER, "100000")
            self.assertEqual(len(said), 3, said)
            listed = rpcinfo("-l", SERVER, str(ODD), "1")
            self.assertIn(f"{SERVER}.78.81", [word for line in listed for word in line])
        # The kernel must not have rejected any datagram.
        self.assertEqual(report["nic_drops"], 0, report)
        self.assertGreater(report["device"]["wire_kernel"], 0)

    def test_hostile_peers_of_tcp_do_not_keep_others_from_an_answer(self):
        portmap = {"program": 100000, "version": 2, "procedure": 0}
        cases = [(call(**portmap), accepted(0)),
                 (call(**portmap | {"procedure": 3}, arguments=words(ODD, 1, 17, 0)),
                  accepted(0, PORT)),
                 (call(**portmap | {"version": 9}), accepted(2, 2, 4)),
                 (call(**portmap | {"procedure": 3}), accepted(4)),
                 (call(**portmap, rpc=3), denied(0, 2, 2)),
                 (call(**portmap, credential=(77, b"")), denied(1, 2)),
                 (accepted(0), None)]
        with self.up():
            for protocol, address in (("tcp", SERVER6), ("tcp!", SERVER), ("tcp", SERVER)):
                said = there(sys.executable, str(HERE / "wire_client.py"), protocol, address, "111",
                             *(message.hex() for message, _ in cases))
                self.assertEqual(said.splitlines(),
                                 ["none" if reply is None else reply.hex() for _, reply in cases])


if __name__ == "__main__":
    unittest.main()
