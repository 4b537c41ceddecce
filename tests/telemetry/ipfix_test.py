#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ipfix_test.py IPFIX_MESSAGES: Wireshark's dissector and nfdump's collector read the encoder's
output for the reports of export_reports.h."""

import socket
import subprocess
import sys
import tempfile
import unittest

import ipfix_collectors

MESSAGES = sys.argv.pop()


def messages(*arguments):
    result = subprocess.run([MESSAGES, *arguments], capture_output=True, text=True, check=True,
                            timeout=60)
    return [bytes.fromhex(line) for line in result.stdout.split()]


class Wireshark(unittest.TestCase):
    def records(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            return ipfix_collectors.tshark_records(messages(*arguments), folder)

    def one(self, records, **wanted):
        found = [r for r in records if all(r.get(k) == v for k, v in wanted.items())]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_flows_of_ipv4_and_ipv6(self):
        records = self.records()
        flow = self.one(records, set=256, domain=40, srcaddr="10.0.0.1")
        self.assertEqual({k: flow[k] for k in ("dstaddr", "srcport", "dstport", "protocol")},
                         {"dstaddr": "192.0.2.80", "srcport": "1024", "dstport": "443",
                          "protocol": "6"})
        self.assertEqual(flow["packets"], "6000000000")
        self.assertEqual(flow["layer2_octet_delta_count"], "400000000000")
        self.assertEqual(flow["octets"], str(400_000_000_000 - 14 * 6_000_000_000))
        self.assertEqual(flow["abstimestart"], "Nov 14, 2023 22:13:27.000000000 UTC")
        self.assertEqual(flow["abstimeend"], "Nov 14, 2023 22:13:28.000000000 UTC")
        flow = self.one(records, set=257, domain=40)
        self.assertEqual((flow["srcaddrv6"], flow["dstaddrv6"]),
                         ("2001:db8::2", "2001:db8:ff00::"))
        self.assertEqual(flow["packets"], "2500")

    def test_limits_belong_to_flows(self):
        records = self.records()
        flow = self.one(records, set=256, domain=40, srcaddr="10.0.0.1")
        limits = self.one(records, set=258, domain=40, flow_id=flow["flow_id"],
                          information_element_id="2")
        self.assertEqual(float(limits["lower_cilimit"]), 6e9 - 1000)
        self.assertEqual(float(limits["upper_cilimit"]), 6e9 + 1000)
        self.assertEqual(float(limits["confidence_level"]), 0.95)
        exact = self.one(records, set=256, domain=40, srcaddr="10.0.0.3")
        self.assertFalse([r for r in records if r["set"] == 258 and r["domain"] == 40
                          and r["flow_id"] == exact["flow_id"]])

    def test_totals_of_every_key(self):
        records = self.records()
        for domain in (40, 41, 42):
            total = self.one(records, set=259, domain=domain)
            self.assertEqual(total["packets"], "10000000000")
            self.assertEqual(total["layer2_octet_delta_count"], "640000000000")

    def test_prefixes(self):
        records = self.records()
        flow = self.one(records, set=256, domain=42)
        self.assertEqual((flow["dstprefix"], flow["dstmask"]), ("192.0.2.0", "24"))
        flow = self.one(records, set=257, domain=42)
        self.assertEqual((flow["dstnetv6"], flow["dstmaskv6"]), ("2001:db8:ff00::", "64"))

    def test_several_messages(self):
        records = self.records("1000")
        flows = [r for r in records if r["set"] == 256]
        self.assertEqual(len({r["srcport"] for r in flows}), 1000)
        self.assertEqual(sum(int(r["packets"]) for r in flows), 1000 * 1000 + 999 * 500)
        self.assertEqual(sum(r["set"] == 258 for r in records), 2000)


class Nfdump(unittest.TestCase):
    def collect(self, *arguments):
        with tempfile.TemporaryDirectory() as folder, \
                ipfix_collectors.Nfcapd(folder) as collector, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for message in messages(*arguments):
                # The test sends slowly enough for any receive buffer.
                collector.wait(lambda: collector.queued() < 32768)
                sender.sendto(message, ("127.0.0.1", collector.port))
            flows, said = collector.flows()
        # nfcapd counts sequence errors differently: it omits option records, which RFC 7011 counts
        # as data records (section 2). Wireshark's dissector follows RFC 7011.
        self.assertIn("Bad Packets: 0", said)
        return flows, said

    def test_reads_flows(self):
        flows, said = self.collect()
        for domain in (40, 41, 42):
            self.assertIn(f"Observation domain {domain} ", said)
        self.assertEqual(len(flows), 6)
        flow = next(f for f in flows if f.get("src4_addr") == "10.0.0.1" and f["src_port"])
        for name, value in {"dst4_addr": "192.0.2.80", "src_port": 1024, "dst_port": 443,
                            "proto": 6, "in_packets": 6_000_000_000,
                            "in_bytes": 316_000_000_000, "first": "2023-11-14T22:13:27.000",
                            "last": "2023-11-14T22:13:28.000"}.items():
            self.assertEqual(flow[name], value, name)
        flow = next(f for f in flows if f.get("src6_addr") == "2001:db8::2")
        self.assertEqual((flow["in_packets"], flow["src_port"], flow["dst_port"]),
                         (2500, 53, 5353))

    def test_reads_all_flows_of_many_messages(self):
        flows, _ = self.collect("1000")
        self.assertEqual(len({f["src_port"] for f in flows}), 1000)
        self.assertEqual(sum(f["in_packets"] for f in flows), 1000 * 1000 + 999 * 500)


if __name__ == "__main__":
    unittest.main()
