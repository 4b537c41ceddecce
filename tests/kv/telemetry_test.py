#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""telemetry_test.py SLUICE_KV: replies of a running server through DPDK's telemetry socket. Works
without root and without hugepages."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench"))
import private_folder  # pylint: disable=wrong-import-position,unused-import
import telemetry  # pylint: disable=wrong-import-position

KV = sys.argv.pop()
PATIENCE_S = 60
ITEMS = 2000
MIB = 1 << 20


@contextlib.contextmanager
def server(*flags):
    """Yields a function that queries a server whose client has set all items and keeps sending."""
    prefix = f"sluice-kv-telemetry-{os.getpid()}"
    process = subprocess.Popen(
        [KV, "--no-huge", "-m", "512", "--no-pci", "--lcores=0@0,1@0,2@0",
         f"--file-prefix={prefix}", "--", "--stats_period_s=0.1", *flags],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watchdog = threading.Timer(PATIENCE_S, process.kill)
    watchdog.start()
    try:
        for line in process.stdout:
            if f"% of gets found, {ITEMS} items" in line:
                break
        else:
            raise AssertionError(process.stderr.read())
        yield lambda command, parameters="": telemetry.ask(prefix, f"/sluice/kv/{command}",
                                                           parameters)
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate()
        watchdog.cancel()
    assert process.returncode == 0, said


class Telemetry(unittest.TestCase):
    def test_the_store_and_its_traffic(self):
        with server("--workers=2", f"--client=items={ITEMS}+get=0.5") as ask:
            first = ask("stats")
            self.assertEqual(list(first), ["store", "mica", "memcached", "workers",
                                           "snapshots"])
            self.assertEqual(first["store"]["items"], ITEMS)
            self.assertEqual(first["store"]["evicted"], 0)
            # Every item was set at least once, and some were read.
            self.assertGreaterEqual(first["mica"]["sets"], ITEMS)
            self.assertGreater(first["mica"]["get_hits"], 0)
            self.assertEqual(first["mica"]["get_misses"], 0)
            self.assertEqual(first["memcached"]["requests"], 0)
            later = ask("stats")
            while later["mica"]["requests"] == first["mica"]["requests"]:  # A watchdog ends it.
                later = ask("stats")
            self.assertGreater(later["mica"]["requests"], first["mica"]["requests"])

    def test_snapshots_while_it_serves(self):
        with tempfile.TemporaryDirectory() as folder, \
                server("--workers=2", f"--snapshot={folder}/items",
                       f"--client=items={ITEMS}+get=0.5") as ask:
            for written in (1, 2):
                self.assertEqual(ask("snapshot"), {"result": "begun"})
                while (found := ask("stats")["snapshots"])["written"] != written:
                    self.assertEqual(found["failed"], 0)
                self.assertEqual(found["items"], ITEMS)
                self.assertEqual(os.listdir(folder), ["items"])

    def test_without_a_file_there_is_no_snapshot(self):
        with server(f"--client=items={ITEMS}+get=0.5") as ask:
            self.assertEqual(ask("snapshot"),
                             {"error": "no snapshot file: start with --snapshot=FILE"})

    def partitions(self, mode, memory_of_each):
        # The hash seed is fixed, so a cache that does not evict an item in one run never evicts
        # one.
        with server("--workers=2", "--partitions=3", f"--mode={mode}", "--memory_mb=15",
                    "--items=30000", "--seed=1",
                    f"--client=items={ITEMS}+get=0.5+value=1000") as ask:
            store = ask("stats")["store"]
            found = ask("partitions")
            self.assertEqual(list(found), ["0", "1", "2"])
            self.assertEqual([p["worker"] for p in found.values()], [0, 1, 0])
            for total in ("items", "item_bytes", "evicted", "refused"):
                self.assertEqual(sum(p[total] for p in found.values()), store[total], total)
            for partition in found.values():
                self.assertGreater(partition["items"], 0)
                # An item has a key and a value, and at least 12 bytes of metadata.
                self.assertGreaterEqual(partition["item_bytes"], partition["items"] * 1020)
                self.assertEqual(partition["index_load_percent"], partition["items"] // 100)
                self.assertEqual(partition["memory_load_percent"],
                                 partition["item_bytes"] * 100 // memory_of_each)
            self.assertEqual(list(ask("partitions", "1")), ["1", "2"])
            for wrong in ("3", "-1", "x", "1x", "99999999999999999999"):
                self.assertEqual(list(ask("partitions", wrong)), ["error"], wrong)

    def test_partitions_of_a_cache_whose_memory_is_a_power_of_two(self):
        self.partitions("cache", 8 * MIB)

    def test_partitions_of_a_store(self):
        self.partitions("store", 5 * MIB)


if __name__ == "__main__":
    unittest.main()
