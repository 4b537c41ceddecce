#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""zero_loss_run_test.py BUILD ...: scripts/zero_loss on real processes, with minimal durations. If
the host withdraws CPUs there is no verdict, which is not a failure; a wrong verdict is."""
import pathlib
import sys
import types
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path[:0] = [str(SCRIPTS / "bench"), str(SCRIPTS / "reporting"),
                str(pathlib.Path(__file__).resolve().parents[1])]
import harness

import accuracy
import ends
import latency
import run
import zero_loss

run.RELEASE = sys.argv[1]
# Use a slow line, and a generator that does not discard late frames, so that a busy host rarely
# invalidates a trial.
zero_loss.LINE = ["--line_gbps=0.02", "--late_ms=60000"]
CAP_PPS = 10_000
BUCKET = 64
TRIAL_S = 0.1
TRIES = 3


@unittest.skipIf(len(ends.cpus()) < 2, "two processes that poll need two CPUs")
class Real(unittest.TestCase):
    def args(self, **given):
        usual = {"app": ["echo"], "frame_size": "64", "trial_s": TRIAL_S, "precision_percent": 20.0,
                 "loss_percent": 0.0, "limit_s": 0, "repeats": 1}
        return types.SimpleNamespace(**usual | given)

    def test_the_generator_alone_fills_a_slow_line(self):
        alone = zero_loss.Searches(self.args(), [], False).generator_alone("echo")
        if not alone.mpps:
            self.skipTest("the host took CPUs away")
        # A frame of 64 bytes, with preamble and gap, has 672 bits.
        self.assertAlmostEqual(alone.mpps, 0.02e9 / 672 / 1e6, places=6)
        self.assertFalse(alone.limits)

    @unittest.skipUnless(harness.FULL, "suite slow")
    def test_the_interval_holds_the_cap_of_the_device(self):
        for _ in range(TRIES):
            job = zero_loss.Searches(self.args(), ["streaming"], False,
                                     f",faults=police:{CAP_PPS}/{BUCKET}")
            job.run()
            self.assertEqual(job.stopped, "")
            [row] = job.rows
            if not row["verdict"]:
                break
            self.assertRegex(row["verdict"], "^noise")
        else:
            self.skipTest(row["verdict"])
        # In each trial, a bucket absorbs an excess of this many frames.
        self.assertLessEqual(row["low_mpps"] * 1e6, CAP_PPS + BUCKET / TRIAL_S)
        self.assertGreaterEqual(row["high_mpps"] * 1e6, CAP_PPS)
        self.assertGreater(row["generator_mpps"] * 1e6, CAP_PPS)

    def test_applications_return_what_they_get(self):
        """Offers each application a rate that any host can carry; some get logs or requests."""
        for [app] in harness.each(("kv", "logmon", "maglev", "telemetry")):
            with self.subTest(app=app):
                job = zero_loss.Searches(self.args(app=[app]), ["packetized"], False)
                found = job.offer(app, "packetized", ["--rate=2k", "--duration_s=0.2",
                                                      "--settle_s=10", "--late_ms=60000"])
                [stream] = found["streams"]
                self.assertEqual([stream[f"{what}_pkts"] for what in
                                  ("sent", "received", "untagged")], [400, 400, 0], found)

    @unittest.skipUnless(harness.FULL, "suite slow")
    def test_curves(self):
        latency.SECONDS, latency.PERCENT = 0.05, (1, 10)
        job = latency.Curves(self.args(), ["streaming"], False)
        job.run()
        self.assertEqual(job.stopped, "")
        self.assertEqual(list(job.saturation), ["streaming", "streaming, one per packet",
                                                "streaming, prefetched", "streaming, 2 pipes",
                                                "streaming, 2 pipes, prefetched"])
        for found in job.points().values():
            for us in found.values():
                self.assertLessEqual(us["p50"], us["p99.9"])
        self.assertEqual(len(job.figures()), 3)

    @unittest.skipUnless(harness.FULL, "suite slow")
    def test_accuracy(self):
        error, report = accuracy.measure_rate(1e4, False, window_s=1)
        self.assertEqual(report["streams"][0]["lost"], 0)
        self.assertLess(abs(error), 0.05)
        errors = accuracy.measure_gaps(False, count=200)
        self.assertEqual(len(errors), 199)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
