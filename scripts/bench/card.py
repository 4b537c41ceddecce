# SPDX-License-Identifier: BSD-3-Clause
"""Measures the models of a card, on a GPU across PCIe or on CPU threads: rates by workers,
applications, latency against load, and bytes on the link."""
import pathlib
import re
import tempfile

import card_report
import card_run
import ending
import output
import run

DRIVER = pathlib.Path("/proc/driver/nvidia/version")


def driver_version():
    """Returns the version of the GPU's driver, or an empty string."""
    found = re.search(r"\b\d+\.\d+(\.\d+)?\b", DRIVER.read_text(encoding="utf-8")) \
        if DRIVER.exists() else None
    return found[0] if found else ""


def describe(args, job):
    """Returns the description of the card in the manifest."""
    links = [sample["nvml"] for sample in job.samples if "generation" in sample["nvml"]]
    best = max(links, key=lambda link: link["generation"], default={})
    return {"on": args.device, "about": job.about, "driver": driver_version(),
            "generation": best.get("generation"), "width": best.get("width")}


def main(args, manifest):
    """Runs scripts/throughput --device."""
    found = {}

    def save():
        """Writes all results so far, so that a later fault does not lose them."""
        hugepages = all(s.get("memory") == "hugepages" for s in job.samples)
        found["rows"] = card_run.table_rows(job.samples, hugepages)
        found["manifest"] = manifest | {
            "hugepages": hugepages, "device": describe(args, job), "latency": job.latency,
            "omitted": job.omitted, "stopped": job.stopped}
        output.write_json(args.json, found["manifest"], found["rows"], "card")

    with tempfile.TemporaryDirectory() as folder:
        job = card_run.CardJob(args, run.listing("echo"), folder, save)
        job.run()
    if not job.measured:
        for line in card_report.omitted_lines(job.omitted):
            print(line)
        return ending.ended("throughput", args, job)
    save()
    print("\n" + "\n".join(card_report.lines(found["rows"], found["manifest"])))
    ending.print_written("throughput", args, [args.json])
    return ending.ended("throughput", args, job) or \
        (1 if card_report.failed(found["rows"]) or job.failed else 0)
