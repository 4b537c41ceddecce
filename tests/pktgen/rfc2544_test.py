#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""rfc2544_test.py SLUICE_PKTGEN: the tests of RFC 2544, on devices with caps unknown to the
generator."""
import json
import pathlib
import random
import statistics
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness

APP = sys.argv.pop()
NICS = {"packetized": "net_ipu0", "streaming": "net_enso0", "bilateral": "net_ipu0",
        "coherent": "net_ipu0"}
SHORT = ("--trial_s=0.2", "--probe_s=0.05", "--settle_s=0.1", "--precision_percent=2")
# A worker that waits for a CPU must not make the generator discard frames.
PATIENT = ("--late_ms=60000",)
# On a host that withdraws CPUs, a search reports no verdict. If the host withdraws the device's
# CPU, the generator cannot detect it, so the interval may be wrong.
TRIES = 3


def command(iface, test, *flags, wire="loopback"):
    return (APP, *harness.MEMORY, "--no-pci", "--lcores=0@0,1@1",
            f"--vdev={NICS[iface]},device_cpu=0,wire={wire}", "--", f"--iface={iface}",
            f"--rfc2544={test}", "--json=-", *PATIENT, *flags)


def measure(iface, test, *flags, wire="loopback"):
    """Returns the exit code, the report's member, and standard error."""
    done = subprocess.run(command(iface, test, "--stats_period_s=0", *flags, wire=wire),
                          capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, json.loads(done.stdout)["rfc2544"], done.stderr


class Rfc2544(unittest.TestCase):
    @staticmethod
    def holds_20k(found):
        return found["limit"] == "device" and found["low_pps"] <= 20_000 * 1.017 and \
            20_000 <= found["high_pps"] <= found["low_pps"] * 1.0201

    def test_throughput_is_an_interval_that_holds_the_cap(self):
        for iface in NICS if harness.FULL else ("streaming",):
            with self.subTest(iface=iface):
                for _ in range(TRIES):
                    # A burst of 64 frames is 1.6 % of a trial. If a rate does not exceed the cap by
                    # more than that, no frame is lost.
                    code, found, error = measure(iface, "throughput", "--line_gbps=0.05", *SHORT,
                                                 wire="loopback,faults=police:20k/64")
                    self.assertEqual(code, 0 if found["verdict"] == "" else 1, error)
                    if code == 0 and self.holds_20k(found):
                        break
                    if code != 0:
                        self.assertEqual(found["limit"], "noise", error)
                if code != 0:
                    self.skipTest("the host took CPUs away in every search")
                self.assertTrue(self.holds_20k(found), found)
                self.assertLess(found["trials"][0]["offered_pps"], 0.002 * found["line_pps"])

    @unittest.skipUnless(harness.FULL, "suite slow")
    def test_nineteen_of_twenty_intervals_hold_a_cap_that_nobody_knows(self):
        """Draws caps from a log-uniform distribution. Searches without a verdict report no
        interval; any number of them is accepted. Trials are shorter than the time between two
        pauses of a virtual machine."""
        draw, held, missed, none = random.Random(2544), 0, [], 0
        trial_s, bucket = 0.1, 64
        while held + len(missed) < 20 and none < 20:
            cap = round(40_000 * 10 ** draw.random())
            iface = list(NICS)[(held + len(missed)) % len(NICS)]
            code, found, _ = measure(iface, "throughput", "--line_gbps=0.4", f"--trial_s={trial_s}",
                                     "--probe_s=0.05", "--settle_s=0.05", "--precision_percent=2",
                                     wire=f"loopback,faults=police:{cap}/{bucket}")
            if code != 0:
                none += 1
                continue
            # The bucket absorbs its excess in each trial, and trials offer whole numbers of frames.
            low = found["low_pps"] - (bucket + 1) / trial_s
            if low <= cap <= found["high_pps"] and found["limit"] == "device":
                held += 1
            else:
                missed.append((cap, found["low_pps"], found["high_pps"], found["limit"]))
            print(f"{held} of {held + len(missed)} intervals hold the cap ({iface}, {cap} pps: "
                  f"{found['low_pps']:.0f} to {found['high_pps']:.0f}); {none} searches without a "
                  f"verdict", flush=True)
        self.assertEqual(held + len(missed), 20, f"{none} searches without a verdict")
        self.assertGreaterEqual(held, 19, missed)

    def verdict(self, *arguments, **wire):
        """Returns the result of a test; skips the case if the host disturbed it repeatedly."""
        for _ in range(TRIES):
            code, found, error = measure(*arguments, **wire)
            self.assertEqual(code, 0 if found["verdict"] == "" else 1, error)
            if code == 0:
                return found
        return self.skipTest("the host took CPUs away: " + error)

    def test_loss_falls_with_the_rate_until_two_rates_lose_nothing(self):
        found = self.verdict("bilateral", "loss", "--line_gbps=0.05", "--trial_s=0.1",
                             "--settle_s=0.1", wire="loopback,faults=police:40k/64")
        rates = found["rates"]
        self.assertEqual([rate["percent"] for rate in rates], [100 - 10 * i for i in range(len(rates))])
        self.assertGreater(rates[0]["lost_pkts"], 0.3 * rates[0]["offered_pkts"])
        for rate in rates:
            self.assertEqual(rate["verdict"], "")
            spread = rate["loss_percent"]
            self.assertLessEqual(spread["minimum"], spread["average"])
            self.assertLessEqual(spread["average"], spread["maximum"])
            self.assertGreaterEqual(len(rate["trials"]), 3)
            # Three trials of a tenth of a second.
            self.assertAlmostEqual(rate["offered_pkts"], 0.3 * rate["offered_pps"], delta=3)
        clean = [rate["loss_percent"]["maximum"] == 0 for rate in rates]
        self.assertTrue(len(rates) == 10 or clean[-2:] == [True, True], clean)

    def test_back_to_back_is_as_long_as_the_bucket(self):
        found = self.verdict("streaming", "back_to_back", "--line_gbps=0.05", "--trial_s=0.1",
                             "--probe_s=0.1", "--repeats=10", "--settle_s=0.05",
                             wire="loopback,faults=police:20k/64")
        self.assertEqual(found["longest_offered_pkts"], 7440)
        bursts = found["burst_pkts"]
        self.assertEqual(len(bursts), 10)
        # A burst of n frames passes if n (1 - 20 / 74.4) < 64 + 1, because the bucket absorbs 64
        # frames, and others drain while the burst arrives. If the host withdraws the CPU in the
        # middle of a burst, the result is too high; if it does so before a burst, the result is too
        # low.
        self.assertLessEqual(statistics.median(bursts), 65 / (1 - 20_000 / 74_404) + 2)
        self.assertGreaterEqual(max(bursts), 40)
        self.assertAlmostEqual(found["bursts"]["average"], statistics.mean(bursts), places=3)
        self.assertAlmostEqual(found["bursts"]["deviation"], statistics.stdev(bursts), places=3)
        self.assertEqual((found["bursts"]["minimum"], found["bursts"]["maximum"]),
                         (min(bursts), max(bursts)))

    def test_what_was_not_offered_gives_no_verdict(self):
        # The line rate is 595 Mpps. Frames may be sent up to one minute late by default here, and
        # up to 10 ms late with --late_ms=10.
        for test, *flags in (("back_to_back",), ("loss", "--late_ms=10"),
                             ("back_to_back", "--late_ms=10")):
            with self.subTest(test=test, flags=flags):
                code, found, error = measure("packetized", test, "--line_gbps=400",
                                             "--trial_s=0.01", "--settle_s=0.02", *flags)
                self.assertEqual(code, 1)
                self.assertRegex(found["verdict"], "none: the (generator could|host)", error)
                if test == "back_to_back":
                    self.assertEqual(found["burst_pkts"], [])
                else:
                    self.assertEqual(found["rates"][0]["loss_percent"]["maximum"], 0)
                    self.assertRegex(found["rates"][0]["verdict"], "none: the (generator|host)")

    def test_a_signal_keeps_the_trials_that_ended(self):
        for test, trials in (("throughput", "trials"), ("loss", "rates")):
            with self.subTest(test):
                report, _ = harness.run(
                    *command("streaming", test, "--line_gbps=0.05", *SHORT,
                             "--stats_period_s=0.05", wire="loopback,faults=police:20k/64"),
                    until=["trial 3: the last one"], code=1)
                found = report["rfc2544"]
                self.assertEqual(found["verdict"], "none: stopped before its end")
                ended = found[trials]
                if test == "loss":
                    ended = [trial for rate in ended for trial in rate["trials"]]
                self.assertGreaterEqual(len(ended), 2)
                for trial in ended:
                    due = trial["offered_pps"] * trial["duration_s"]
                    self.assertAlmostEqual(trial["offered_pkts"], due, delta=1 + 0.001 * due)
                if test == "throughput":
                    self.assertEqual(found["limit"], "stopped")
                    self.assertEqual(found["confidence"], 0)


if __name__ == "__main__":
    unittest.main()
