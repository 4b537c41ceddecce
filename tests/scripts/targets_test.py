#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts on sluice-echo, and the paper's ratios next to measured ones."""
import unittest

from samples import logmon, maglev, sample
import paper_ratios
import rows
import targets


class Verdicts(unittest.TestCase):
    def verdict(self, samples, number, hugepages=True, stream_cycles=3.0):
        return targets.verdicts(rows.build_rows(samples, hugepages), hugepages, stream_cycles)[number]

    def test_a_target_is_met_up_to_its_limit(self):
        self.assertTrue(self.verdict([sample("packetized", 17.0)], 0).endswith(": met"))
        self.assertIn("NOT MET", self.verdict([sample("packetized", 17.1)], 0))

    def test_packetized_is_held_against_testpmd_of_the_same_run(self):
        null = sample("net_null", 16.0, app="testpmd", mode="macswap", peer=True)
        self.assertIn("NOT MET", self.verdict([sample("packetized", 16.5), null], 1))
        self.assertIn(": met", self.verdict([sample("packetized", 15.5), null], 1))

    def test_the_worst_traffic_decides(self):
        samples = [sample(cycles=2.0), sample(cycles=8.0, traffic="imix")]
        self.assertIn("8.0 (imix): NOT MET", self.verdict(samples, 2))

    def test_of_a_capture_the_part_that_every_nic_can_send_is_judged(self):
        samples = [sample(cycles=3.0, traffic="capture-ipv4"), sample(cycles=99.0, traffic="capture")]
        for number in (2, 3):
            line = self.verdict(samples, number)
            self.assertTrue(line.endswith("3.0 (capture-ipv4): met"), line)
            self.assertIn("capture-ipv4", line.split(":")[0] + line.split(":")[1])

    def test_a_missed_target_names_the_floor_of_the_host(self):
        samples = [sample(cycles=14.0, traffic="random")]
        self.assertIn("costs 12.5", self.verdict(samples, 3, stream_cycles=12.5))
        self.assertNotIn("costs", self.verdict(samples, 3, stream_cycles=3.0))

    def test_without_hugepages_the_value_is_shown_and_not_judged(self):
        self.assertIn("17.0 (64): no verdict", self.verdict([sample("packetized", 17.0)], 0, False))

    def test_what_was_not_run_is_said(self):
        for number in (0, 4, 5):
            self.assertIn("not measured", self.verdict([sample()], number))

    def test_bilateral_is_held_against_streaming_of_the_same_rounds(self):
        for number, traffic, met, missed in ((4, "64", 11.5, 11.6), (5, "1518", 10.5, 10.6)):
            for cycles, end in ((met, ": met"), (missed, "NOT MET")):
                samples = [sample("streaming", 10.0, traffic=traffic),
                           sample("bilateral", cycles, traffic=traffic)]
                self.assertTrue(self.verdict(samples, number).endswith(end), (traffic, cycles))
                self.assertIn("no verdict", self.verdict(samples, number, False))
        noisy = [sample("streaming", c) for c in (5.0, 6.0, 6.0, 6.0, 6.0)] + [sample("bilateral")]
        self.assertTrue(self.verdict(noisy, 4).endswith("no verdict, noisy"))

    def found(self, samples, text, hugepages=True):
        lines = targets.verdicts(rows.build_rows(samples, hugepages), hugepages, 3.0)
        [line] = [line for line in lines if line.startswith(text)]
        return line

    def test_what_streaming_saves_is_judged_in_cycles_and_in_frames_delivered(self):
        for traffic, least in (("64", 1.5), ("512", 1.2), ("imix", 1.2), ("capture-ipv4", 1.2),
                               ("1518", 1.0), ("random", 1.0)):
            for cycles, mpps, end in ((7.0, 100 * least, ": met"), (7.1, 99 * least, ": NOT MET")):
                samples = [sample("packetized", 10.0, 100.0, traffic=traffic),
                           sample("streaming", cycles, mpps, traffic=traffic)]
                for what in ("cycles", "Mpps"):
                    line = self.found(samples, f"streaming/packetized {what}, {traffic},")
                    self.assertTrue(line.endswith(end), line)
        self.assertIn("not measured", self.found([sample()], "streaming/packetized Mpps, 64,"))

    def test_pairs_decide_a_ratio_of_noisy_rows(self):
        def at(iface, cycles, number):
            return sample(iface, cycles, 500 / cycles, round=number)

        noise = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
        samples = [at(iface, cycles * factor, number) for number, factor in enumerate(noise)
                   for iface, cycles in (("packetized", 10.0), ("streaming", 6.0))]
        for what in ("cycles", "Mpps"):
            line = self.found(samples, f"streaming/packetized {what}, 64,")
            self.assertTrue(line.endswith(": met"), line)
            self.assertIn("no verdict", self.found(samples, f"streaming/packetized {what}, 64,", False))

    def test_the_limit_of_the_model_is_named_beside_a_rate(self):
        samples = [sample("packetized"), sample("streaming", device_busy=0.97, worker_busy=0.4)]
        self.assertIn("plays the NIC is the limit", self.found(samples, "streaming/packetized Mpps, 64,"))

    def test_streaming_is_held_against_memif_of_the_same_run(self):
        memif = sample("net_memif", 100.0, 50.0, app="testpmd", mode="macswap", peer=True)
        for mpps, end in ((100.0, "2.00: met"), (99.0, "1.98: NOT MET")):
            self.assertTrue(self.found([sample(mpps=mpps), memif], "streaming/net_memif").endswith(end))


class PaperRatios(unittest.TestCase):
    def test_what_the_paper_found_stands_beside_what_was_measured(self):
        lines = paper_ratios.lines(rows.build_rows(
            [maglev("packetized", 150.0), maglev("streaming", 100.0), maglev("bilateral", 50.0),
             logmon("packetized", 30.0), logmon("streaming", 20.0)], True))
        self.assertEqual(len(lines), 4)
        self.assertIn("measured", lines[1])
        self.assertEqual(lines[2].split(), ["maglev", "ip", "16", "flows", "6.0", "(138", "/", "23",
                                            "Mpps)", "1.50", "(1.50..1.50)", "1.50",
                                            "(1.50..1.50)"])
        self.assertEqual(lines[3].split(), ["logmon", "lines", "light", "1.0-1.9", "(2-100", "/",
                                            "2-53.2", "Gb/s)", "1.50", "(1.50..1.50)", "-"])

    def test_what_is_noisy_says_so(self):
        noisy = [maglev("streaming", cycles) for cycles in (100.0, *[120.0] * 4)]
        lines = paper_ratios.lines(rows.build_rows([maglev("packetized", 150.0), *noisy], True))
        self.assertTrue(lines[2].endswith("noisy"), lines)

    def test_what_is_not_the_papers_or_has_no_partner_has_no_line(self):
        for samples in ([sample("packetized"), sample("streaming")], [maglev("packetized", 150.0)]):
            self.assertEqual(paper_ratios.lines(rows.build_rows(samples, True)), [])


if __name__ == "__main__":
    unittest.main()
