#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""veth_test.py SLUICE_RPC ODD_SERVICE: a real client. sluice-rpc on one end of a veth pair, in a
network namespace on the other a client that rpcgen made, with libtirpc, unmodified. Root only."""
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench"))
from veth import Veth  # pylint: disable=wrong-import-position

SERVICE = sys.argv.pop()
RPC = sys.argv.pop()
HERE = pathlib.Path(__file__).resolve().parent
PAIR = Veth("rpc")
CLIENT, SERVER = "10.99.8.1", "10.99.8.2"
CALLS = 2000
PATIENCE_S = 60


def build_client(folder):
    """The client of odd.x, from rpcgen's stubs."""
    shutil.copy(HERE / "odd.x", folder)
    for option, name in (("-h", "odd.h"), ("-c", "odd_xdr.c"), ("-l", "odd_clnt.c")):
        subprocess.run(["rpcgen", "-C", option, "-o", name, "odd.x"], cwd=folder, check=True,
                       timeout=PATIENCE_S)
    subprocess.run(["cc", "-O1", "-w", "-I/usr/include/tirpc", f"-I{folder}", "-o", "client",
                    str(HERE / "odd_client.c"), "odd_xdr.c", "odd_clnt.c", "-ltirpc"], cwd=folder,
                   check=True, timeout=PATIENCE_S)
    return f"{folder}/client"


class RealClient(unittest.TestCase):
    def test_a_client_of_rpcgen_is_answered(self):
        for partial_checksums in (False, True):
            with self.subTest(partial_checksums=partial_checksums), \
                    tempfile.TemporaryDirectory() as folder, \
                    PAIR.up(CLIENT + "/24", partial_checksums=partial_checksums):
                self.serve(build_client(folder))

    def serve(self, client):
        with subprocess.Popen([RPC, f"--wire={PAIR.here}", f"--ip={SERVER}", "--json=-",
                               f"--services=portmap,{SERVICE}:{HERE}/odd.x", "--duration_s=0",
                               "--preempt_ms=10000", "--stats_period_s=0.05"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            try:
                self.assertIn("Mcalls/s", server.stderr.readline())
                done = subprocess.run(PAIR.command(client, SERVER, "20049", str(CALLS)),
                                      capture_output=True, text=True, timeout=PATIENCE_S,
                                      check=False)
            finally:
                server.send_signal(signal.SIGINT)
                output, lines = server.communicate(timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, (done, lines))
        said = done.stdout.splitlines()
        self.assertEqual(said[0], f"good {CALLS}")
        # libtirpc's words for SYSTEM_ERR and PROG_MISMATCH.
        self.assertIn("Remote system error", said[1])
        self.assertIn("Program/version mismatch; low version = 1, high version = 1", said[2])
        self.assertEqual(said[3], "portmap: fine", "clnt_create asks the port mapper")
        self.assertEqual(server.returncode, 0, lines)
        report = json.loads(output)
        # libtirpc sends a call again if it waits for long: then there are more.
        self.assertGreaterEqual(report["device"]["rpc_answered"], CALLS + 3)
        self.assertEqual(report["nic_drops"], 0, report)


if __name__ == "__main__":
    unittest.main()
