#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts on sluice-kv, and the comparison with memcached."""
import unittest

from samples import kv
import kv_report
import rows
import targets


class KvVerdicts(unittest.TestCase):
    def lines(self, *samples, **more):
        return targets.verdicts(rows.build_rows(list(samples), True), True, 3.0, **more)

    def found(self, lines, *words):
        [line] = [line for line in lines if all(word in line for word in words)]
        return line

    def test_requests_are_counted_by_the_datagram(self):
        line = self.found(self.lines(kv("streaming", 250.0, "16 requests")), "Mops of")
        self.assertIn("160.00 Mops of the worker's time", line)  # 100 ns for 16 requests.
        self.assertIn("p50 1.5, p99 9.0 us", line)

    def test_streaming_is_held_against_packetized_at_one_request(self):
        for cycles, end in ((260.0, "1.30: met"), (200.0, "1.00: NOT MET")):
            lines = self.lines(kv("packetized", cycles), kv("streaming", 200.0))
            line = self.found(lines, "1.3x")
            self.assertTrue(line.endswith(end), line)
        line = self.found(self.lines(kv("streaming", 200.0)), "1.3x")
        self.assertTrue(line.endswith("not measured in this run"))

    def test_streaming_is_held_against_the_table_that_does_the_same_share_of_gets(self):
        # Three of four are gets: 0.75 x 40 + 0.25 x 80 = 50 ns in the table alone.
        served = {"requests": 400, "get_hits": 299, "get_misses": 1}
        engines = {"kv": [{"get": get, "set": set_} for get, set_ in
                          ((30.0, 70.0), (40.0, 80.0), (41.0, 80.0), (60.0, 90.0), (99.0, 99.0))]}
        for cycles, end in ((2800.0, "0.71: met"), (3000.0, "0.67: NOT MET")):  # 70, 75 ns each.
            lines = self.lines(kv("streaming", cycles, "16 requests", mica=served),
                               engines=engines)
            line = self.found(lines, "table alone")
            self.assertIn("(20.00 Mops)", line)
            self.assertTrue(line.endswith(end), line)

    def test_what_was_not_run_is_said(self):
        lines = self.lines(kv("streaming", 200.0))
        for words in ("table alone", "memcached's protocol"):
            self.assertTrue(self.found(lines, words).endswith("not measured in this run"))


def kv_row(server, path, requests, link="", client=None, **cpu_s):
    """Returns a row with three windows of a second: a tenth fewer requests, a tenth more, and
    `requests`."""
    windows = [{"requests": requests * n // 10, "seconds": 1.0, **cpu_s}
               for n in (9, 11, 10)]
    return {"server": server, "flags": "", "path": path, "link": link, "windows": windows,
            "client": client}


class KvComparison(unittest.TestCase):
    MEMCACHED = kv_row("memcached", "kernel UDP", 160000, "loopback", process_s=0.8)  # 200 k/s.

    def lines(self, *found, missing=()):
        return kv_report.lines({"work": "work", "rows": list(found), "missing": list(missing)})

    def verdicts(self, *found):
        return kv_report.verdicts({"rows": list(found)},
                                  lambda text, met, *rows: targets.judge(text, True, met, *rows))

    def test_a_second_of_busy_worker_is_held_against_one_of_memcacheds_process(self):
        for requests, ratio, end in ((1000000, "10.0", ": met"), (980000, "9.8", ": NOT MET")):
            [line] = self.verdicts(self.MEMCACHED, kv_row("sluice-kv streaming", "model NIC",
                                                          requests, busy_s=0.5, process_s=2.0))
            self.assertIn(f"process) {ratio}, ", line)
            self.assertTrue(line.endswith(end), line)

    def test_what_all_threads_took_stands_beside_it(self):
        [line] = self.verdicts(self.MEMCACHED, kv_row("sluice-kv streaming", "model NIC", 1000000,
                                                      busy_s=0.5, process_s=2.0))
        self.assertIn("with all threads 2.5:", line)

    def test_a_memcached_that_waits_for_its_client_gives_no_verdict(self):
        waiting = kv_row("memcached", "kernel UDP", 160000, "loopback", process_s=0.79)
        [line] = self.verdicts(waiting, kv_row("sluice-kv streaming", "model NIC", 1000000,
                                               busy_s=0.1, process_s=2.0))
        self.assertTrue(line.endswith("no verdict, idle"), line)

    def test_each_interface_has_its_line(self):
        ours = [kv_row(f"sluice-kv {iface}", "model NIC", 10, busy_s=1.0, process_s=1.0)
                for iface in ("packetized", "streaming")]
        self.assertEqual(len(self.verdicts(self.MEMCACHED, *ours)), 2)

    def test_what_came_over_a_veth_pair_is_not_judged(self):
        rest = [kv_row("sluice-kv packetized", "af_packet", 10**9, "veth", busy_s=1.0,
                       process_s=1.0),
                kv_row("memcached", "kernel UDP", 1, "veth", process_s=1.0)]
        for found in ([], [self.MEMCACHED], rest):
            [line] = self.verdicts(*found)
            self.assertTrue(line.endswith("not measured in this run"), line)

    def test_every_row_names_its_path(self):
        client = {"lost": 3, "get_latency_us": {"p50": 100.4, "p99": 900.0}}
        lines = self.lines(kv_row("sluice-kv streaming", "model NIC", 1000000, busy_s=0.5,
                                  process_s=2.0),
                           kv_row("memcached", "kernel UDP", 160000, "veth", client, process_s=0.8))
        self.assertEqual(lines[0], "work:")
        self.assertEqual(lines[2].split(), ["sluice-kv", "streaming", "model", "NIC", "2200",
                                            "(2000..2200)", "550", "(500..550)", "1.000", "-",
                                            "-", "-"])
        self.assertEqual(lines[3].split(), ["memcached", "kernel", "UDP,", "veth", "-", "220",
                                            "(200..220)", "0.160", "100", "900", "3"])

    def test_what_is_missing_says_why(self):
        self.assertIn("veth: not measured, only root can make a veth pair",
                      self.lines(self.MEMCACHED,
                                 missing=["veth: not measured, only root can make a veth pair"]))


if __name__ == "__main__":
    unittest.main()
