#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts on sluice-maglev."""
import unittest

from samples import maglev, sample
import output
import rows
import targets


class MaglevVerdicts(unittest.TestCase):
    def lines(self, *samples, hugepages=True, engine=()):
        return targets.verdicts(rows.build_rows(list(samples), hugepages), hugepages, 3.0,
                                {"maglev": list(engine)})

    def found(self, lines, *words):
        [line] = [line for line in lines if all(word in line for word in words)]
        return line

    def test_time_per_packet_counts_what_was_received_while_the_worker_was_busy(self):
        [row] = rows.build_rows([maglev("streaming", 100.0)], True)
        self.assertAlmostEqual(row["ns_per_pkt"], 40.0)
        half = sample(mpps=10.0, worker_busy=0.5, rx_pkts=200, tx_pkts=100)  # 20 Mpps, 0.5 s
        [row] = rows.build_rows([half], True)
        self.assertAlmostEqual(row["ns_per_pkt"], 25.0)

    def test_what_sends_nothing_or_is_a_peer_has_no_time(self):
        silent = maglev("streaming", 100.0) | {"mpps": 0.0}
        peer = sample("net_null", 16.0, app="testpmd", mode="macswap", peer=True)
        del peer["worker_busy"]
        for row in rows.build_rows([silent, peer], True):
            self.assertIsNone(row["ns_per_pkt"])
            self.assertIn(row["iface"], output.table([row]))

    def test_the_engine_is_held_against_the_limit_of_its_traffic_by_its_envelope(self):
        lines = self.lines(maglev("packetized", 75.5),
                           engine=[{"16 flows": 29.0, "2^20 flows": 59.0},
                                   {"16 flows": 30.2, "2^20 flows": 59.9},
                                   {"16 flows": 31.0, "2^20 flows": 70.0},
                                   {"16 flows": 50.0, "2^20 flows": 90.0},
                                   {"16 flows": 60.0, "2^20 flows": 99.0}])
        self.assertTrue(self.found(lines, "engine alone", "16").endswith("30.2 (29.0..31.0): NOT MET"))
        self.assertTrue(self.found(lines, "engine alone", "2^20").endswith("59.9 (59.0..70.0): met"))
        self.assertIn("not measured", self.found(self.lines(maglev("packetized", 75.5)),
                                                 "engine alone", "16"))

    def test_each_interface_has_its_time(self):
        lines = self.lines(maglev("packetized", 75.5), maglev("streaming", 74.5))
        self.assertTrue(self.found(lines, "packetized, 64 B, 16").endswith("30.2 ns/packet"))
        self.assertTrue(self.found(lines, "streaming, 64 B, 16").endswith("29.8 ns/packet"))

    def test_streaming_over_packetized_is_said_for_each_traffic(self):
        lines = self.lines(maglev("packetized", 100.0, round=0), maglev("streaming", 80.0, round=0),
                           maglev("packetized", 100.0, round=1), maglev("streaming", 40.0, round=1))
        # The expected value is the median of the ratios 0.8, 0.4 and (1 / 100 + 1 / 100) / (1 / 80
        # + 1 / 40).
        self.assertIn("0.53 (0.40..0.80)", self.found(lines, "streaming/packetized", "16 flows"))

    def test_streaming_is_held_against_packetized_by_encapsulation(self):
        for mode, met, missed in (("ip", 90, 91), ("mac", 70, 71), ("nat", 70, 71)):
            for cycles, end in ((met, ": met"), (missed, ": NOT MET")):
                samples = [maglev("packetized", 100.0, mode=mode),
                           maglev("streaming", float(cycles), mode=mode)]
                words = ("streaming/packetized", f"maglev {mode}", "16 flows")
                self.assertTrue(self.found(self.lines(*samples), *words).endswith(end), mode)
                self.assertIn("no verdict", self.found(self.lines(*samples, hugepages=False), *words))

    def test_an_encapsulation_that_was_not_run_is_not_mentioned(self):
        lines = self.lines(maglev("packetized", 75.5, mode="mac"))
        self.assertFalse(any("maglev ip" in line or "maglev nat" in line for line in lines), lines)
        self.assertIn("not measured", self.found(lines, "streaming/packetized", "mac, 16 flows"))

    def test_there_is_no_ratio_where_one_interface_drops_what_the_other_sends(self):
        lines = self.lines(maglev("packetized", 100.0, rx_pkts=1000, tx_pkts=1000, drops={}),
                           maglev("streaming", 50.0, rx_pkts=1000, tx_pkts=500,
                                  drops={"tx_full": 500}))
        self.assertIn("not equal", self.found(lines, "streaming/packetized", "16 flows"))

    def test_the_targets_of_an_app_are_shown_where_it_was_run(self):
        self.assertFalse(any("maglev" in line for line in self.lines(sample())))
        lines = self.lines(maglev("streaming", 50.0))
        self.assertTrue(all("maglev" in line for line in lines))
        both = self.lines(sample(), maglev("streaming", 50.0))
        self.assertEqual(len(both), len(self.lines(sample())) + len(lines))


if __name__ == "__main__":
    unittest.main()
