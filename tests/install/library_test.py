#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""library_test.py BUILD PLUGIN_DIR SLUICE_MAGLEV: compiles programs as users do against the
installed files: the C API through its shared library and its archive, the engines in C++, nodes of
rte_graph, and drivers that are linked into a program statically."""
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "maglev")]
# pylint: disable=wrong-import-position
from harness import write_capture
from offline import read_capture
from stage import EAL, install, pkg_config, run

BUILD = pathlib.Path(sys.argv[1])
STAGE = BUILD / "library_test"
PLUGINS = STAGE / sys.argv[2].lstrip("/")
BALANCER = sys.argv[3]
ROOT = HERE.parents[1]
CONFIG = ROOT / "configs" / "maglev-sample.json"
STRICT = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations"]
ROUTER, PORT_TYPE = bytes.fromhex("020000000099"), bytes.fromhex("0800")


def setUpModule():
    install(BUILD, STAGE)


def flags(package, *arguments):
    return pkg_config(STAGE, PLUGINS, package, *arguments)


def installed(name):
    [path] = STAGE.rglob(name)
    return path


def library_path():
    return {"LD_LIBRARY_PATH": str(installed("libsluice-engines.so").parent)}


def internet_sum(data):
    """Returns the folded sum of 16-bit words (RFC 1071), without the complement."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ipv4(source, destination, protocol, payload):
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 7, 0, 64, protocol, 0,
                         bytes(source), bytes(destination))
    checksum = 0xFFFF ^ internet_sum(header)
    return bytes.fromhex("0200000000020200000000010800") + header[:10] + \
        struct.pack(">H", checksum) + header[12:] + payload


def traffic():
    """Returns TCP and UDP packets to VIPs of the sample, from repeating clients, mixed with other
    frames and with truncated or corrupted frames."""
    chance = random.Random(5)
    frames = []
    for _ in range(400):
        client = (203, 0, 113, chance.randrange(1, 60))
        ports = struct.pack(">H", chance.randrange(1024, 1100))
        text = chance.randbytes(chance.randrange(20, 200) * 2)
        kind = chance.randrange(6)
        if kind < 3:
            tcp = ports + struct.pack(">HIIBBHHH", 80, 1, 1, 0x50, 0x10, 1000, 0, 0)
            frames.append(ipv4(client, (192, 0, 2, 10), 6, tcp + text))
        elif kind == 3:
            udp = ports + struct.pack(">HHH", 53, 8 + len(text), 0)
            frames.append(ipv4(client, (192, 0, 2, 53), 17, udp + text))
        elif kind == 4:  # Another destination.
            udp = ports + struct.pack(">HHH", 9, 8 + len(text), 0)
            frames.append(ipv4(client, (198, 18, 0, 1), 17, udp + text))
        else:
            frames.append(bytes.fromhex("ffffffffffff02000000000108060001080006040001") + bytes(38))
    hostile = []
    for frame in frames[:60]:
        hostile.append(frame[:chance.randrange(14, len(frame))])
        bent = bytearray(frame)
        for _ in range(3):
            bent[chance.randrange(14, len(bent))] = chance.randrange(256)
        hostile.append(bytes(bent))
    return frames, hostile


class Engines(unittest.TestCase):
    def compare_with_the_application(self, program):
        source, ours, theirs = (STAGE / name for name in ("in.pcap", "ours.pcap", "theirs.pcap"))
        frames, hostile = traffic()
        write_capture(source, frames + hostile + frames)
        said = run(program, CONFIG, source, ours, **library_path()).stdout
        report = json.loads(run(BALANCER, f"--config={CONFIG}", f"--pcap={source}",
                                f"--out_pcap={theirs}", "--json=-").stdout)
        self.assertEqual(ours.read_bytes(), theirs.read_bytes())
        counters = {name: int(value) for name, value in
                    (line.split() for line in said.splitlines())}
        self.assertEqual(counters["forwarded"], report["tx_pkts"])
        self.assertGreater(counters["forwarded"], 400)
        drops = {name.removeprefix("drop_"): value for name, value in counters.items()
                 if name.startswith("drop_")}
        self.assertEqual(drops, {name: value for name, value in report["drops"].items() if value})
        self.assertGreater(sum(drops.values()), 10)

    def test_a_capture_is_balanced_as_by_sluice_maglev(self):
        program = STAGE / "maglev_capture"
        run("cc", *STRICT, installed("maglev_capture.c"), "-o", program, *flags("sluice-engines"))
        self.assertIn("libsluice-engines.so.1", run("readelf", "--dynamic", program).stdout)
        self.compare_with_the_application(program)

    def test_the_same_with_the_archive(self):
        program = STAGE / "maglev_capture_static"
        archive = installed("libsluice-engines.a")
        self.assertTrue(archive.read_bytes().startswith(b"!<arch>\n"), "not a thin archive")
        run("cc", *STRICT, installed("maglev_capture.c"), "-o", program,
            *flags("sluice-engines-static"))
        self.assertNotIn("libsluice-engines", run("readelf", "--dynamic", program).stdout)
        self.compare_with_the_application(program)

    def test_programs_in_cpp_have_the_engines_themselves(self):
        program = STAGE / "engine_consumer"
        run("c++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", HERE / "engine_consumer.cc",
            "-o", program, *flags("sluice-engines-static"))
        self.assertEqual(run(program).stdout, "3 frames, 1 flow, backend 192.0.2.1\n")

    def test_a_header_needs_no_other(self):
        for language, standard in (("c", "-std=c99"), ("c++", "-std=c++98")):
            run("cc", "-x", language, standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                installed("engines.h"))


class Graph(unittest.TestCase):
    def test_frames_go_through_telemetry_maglev_and_the_lookup(self):
        program = STAGE / "graph_forward"
        run("cc", *STRICT, installed("graph_forward.c"), "-o", program, *flags("sluice-graph"))
        frames, _ = traffic()
        paths = {name: STAGE / name for name in ("graph_in", "graph_out", "out", "passed")}
        write_capture(paths["graph_in"], frames)
        said = run(program, "--no-huge", "-m", "512", "--no-pci", "--no-telemetry",
                   f"--file-prefix=graph-{os.getpid()}",
                   f"--vdev=net_pcap0,rx_pcap={paths['graph_in']},tx_pcap={paths['graph_out']}",
                   "--", CONFIG, len(frames), **library_path()).stdout
        epochs, balanced = self.reports(said)
        self.assertEqual(sum(epoch["packets"] for epoch in epochs), len(frames))
        sent = read_capture(paths["graph_out"])
        expected = self.routed(self.balanced(paths, frames))
        self.assertEqual(len(sent), len(expected))
        mac = sent[0][6:12]
        self.assertEqual(sent, [ROUTER + mac + PORT_TYPE + packet for packet in expected])
        web, dns, _ = balanced["vips"]
        self.assertEqual(web["packets"], sum(frame[23] == 6 for frame in frames if len(frame) > 60
                                             and frame[12:14] == PORT_TYPE))
        self.assertGreater(dns["packets"], 0)

    def test_a_node_without_an_engine_makes_no_graph(self):
        program = STAGE / "graph_without"
        source = installed("graph_forward.c").read_text()
        without = STAGE / "graph_without.c"
        without.write_text(re.sub(r"check\(rte_node_sluice_engine_set.*?;", "(void)node;", source,
                                  flags=re.DOTALL))
        # The program needs the plugin's nodes but does not call any of its functions, so the linker
        # would omit the plugin.
        run("cc", *STRICT, without, "-o", program, "-Wl,--no-as-needed", *flags("sluice-graph"))
        done = subprocess.run([program, *EAL, f"--file-prefix=without-{os.getpid()}",
                               "--vdev=net_null0", "--", CONFIG, "1"], capture_output=True,
                              text=True, check=False, timeout=60, env=os.environ | library_path())
        self.assertEqual(done.returncode, 1)
        self.assertIn("call rte_node_sluice_engine_set first", done.stdout + done.stderr)

    def test_an_engine_works_in_one_node(self):
        program, twice = STAGE / "graph_twice", STAGE / "graph_twice.c"
        source = installed("graph_forward.c").read_text()
        twice.write_text("#include <errno.h>\n" + source.replace("\treturn engine;", """
\tchar other[64];

\tsnprintf(other, sizeof(other), "%s-other", node);
\tcheck(rte_node_clone(rte_node_from_name(node), "other") != RTE_NODE_ID_INVALID, "clone");
\tcheck(rte_node_sluice_engine_set(other, engine) == -EEXIST, "both nodes have it");
\tcheck(rte_node_sluice_engine_set(node, NULL) == 0, "taken away");
\tcheck(rte_node_sluice_engine_set(other, engine) == 0, "the other one has it");
\texit(77);""", 1))
        run("cc", "-Wno-declaration-after-statement", twice, "-o", program, *flags("sluice-graph"))
        done = subprocess.run([program, *EAL, f"--file-prefix=twice-{os.getpid()}",
                               "--vdev=net_null0", "--", CONFIG, "1"], capture_output=True,
                              text=True, check=False, timeout=60, env=os.environ | library_path())
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)

    @staticmethod
    def reports(said):
        lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        return lines[:-1], lines[-1]

    @staticmethod
    def balanced(paths, frames):
        """Returns the frames that sluice-maglev sends and passes, in order."""
        run(BALANCER, f"--config={CONFIG}", f"--pcap={paths['graph_in']}",
            f"--out_pcap={paths['out']}", f"--pass_pcap={paths['passed']}")
        out, passed = read_capture(paths["out"]), read_capture(paths["passed"])
        assert len(out) + len(passed) == len(frames)
        merged = []
        for frame in frames:
            merged.append(passed.pop(0) if passed and passed[0] == frame else out.pop(0))
        return merged

    @staticmethod
    def routed(frames):
        """Returns the IPv4 packets of frames, forwarded by one hop (RFC 1812, section 5.3.1)."""
        packets = []
        for frame in frames:
            if frame[12:14] != PORT_TYPE:
                continue
            packet = bytearray(frame[14:])
            packet[8] -= 1
            packet[10:12] = bytes(2)
            packet[10:12] = struct.pack(">H", 0xFFFF ^ internet_sum(bytes(packet[:20])))
            packets.append(bytes(packet))
        return packets


class StaticDrivers(unittest.TestCase):
    def test_a_static_program_has_both_drivers(self):
        program = STAGE / "static_consumer"
        try:
            linking = flags("sluice-static", "--static")
            # libdbus requires it for libpcap. libdpdk-dev does not depend on it, and it is not
            # needed.
            linking = [flag for flag in linking if flag != "-lsystemd"]
        except AssertionError as error:
            self.skipTest(f"DPDK's static archives need packages that are not here: {error}")
        run("cc", "-std=gnu11", "-O2", "-Wno-deprecated-declarations", HERE / "consumer.c", "-o",
            program, *linking)
        self.assertNotIn("librte_", run("readelf", "--dynamic", program).stdout)
        run(program, *EAL, f"--file-prefix=static-{os.getpid()}", "--vdev=net_enso0,wire=gen:size=64")
        program = STAGE / "static_link_consumer"
        run("cc", "-std=gnu11", "-O2", "-Wno-deprecated-declarations", HERE / "link_consumer.c",
            "-o", program, *linking)
        run(program, *EAL, f"--file-prefix=static-{os.getpid()}", "--vdev=net_ipu0,wire=gen:size=64")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
