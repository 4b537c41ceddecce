#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bad_arguments_test.py SLUICE_ECHO …: invalid values for every flag of every application. Each
ends the run before it begins, with exit code 2 and one line that names the flag and the value.
Missing files, folders, programs, CPUs, devices and addresses are reported at the start, not at the
end of a run."""

import concurrent.futures
import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import private_folder  # pylint: disable=wrong-import-position,unused-import

BINARIES = {pathlib.Path(path).name.removeprefix("sluice-"): path for path in sys.argv[1:]}
del sys.argv[1:]

NOWHERE = "/nonexistent/folder/file"
THIS = pathlib.Path(__file__).resolve()
CONFIG = THIS.parents[2] / "configs" / "maglev-sample.json"
# A capture without frames.
CAPTURE = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")

# In each line, the first flag is invalid.
BAD = {
    "echo": f"""
        --iface=telepathy
        --duration_s=-1
        --duration_s=nan
        --duration_s=long
        --stats_period_s=-0.1
        --stats_period_s=0.0001
        --json={NOWHERE}
        --json=/
        --pcap={NOWHERE}
        --pcap=/
        --pcap={THIS}
        --frame_size=63
        --flows=0
        --rate=fast
        --rate=1e6
        --rate=1001G
        --wire=string
        --wire=gen:size=1
        --wire=pcap:{NOWHERE}
        --wire=port:nobody
        --seed=x
        --port=nobody
        --exception_port=nobody
        --workers=0
        --workers=65
        --pipes=0
        --burst=65
        --regions=2
        --region_bytes=5000
        --region_frames=17
        --on=moon
        --on=threads:threads=0
        --capture={NOWHERE}
        --capture=CAPTURE --pcap=CAPTURE
        --capture={NOWHERE},n=5
        --capture=,n=5
        --metrics=x
        --metrics=65536
        --metrics=192.0.2.1:0
        --metrics=300.0.0.1:0
        --ip=10.0.0.300
        --reassemble=1
        --reassemble=16385 --ip=10.0.0.1
        --list=everything
        --flagfile={NOWHERE}
        --flagfile=/dev/zero
        --flagfile=/
        --mode=reverse
        --transport=smtp
        --tcp_port=0 --transport=tcp --ip=10.0.0.1
        --tcp_port=65536 --transport=tcp --ip=10.0.0.1
        --ip=10.0.0.1 --transport=tcp
        --ip=fd00::1 --transport=tcp
        --tcp_on=fpga --transport=tcp --ip=10.0.0.1
        --tcp_ring=3 --transport=tcp --ip=10.0.0.1
        --tcp_ring=512 --transport=tcp --ip=10.0.0.1
        --tcp_connections=16385 --transport=tcp --ip=10.0.0.1
        --tcp_connections_per_peer=x
        --clients=connections=0 --transport=tcp
        --clients=color=red --transport=tcp""",
    "maglev": f"""
        --config={NOWHERE}
        --config={THIS}
        --config_etcd=nowhere
        --explain=nonsense
        --plan={NOWHERE}
        --instance=nobody
        --instance=nobody --plan={CONFIG}
        --out_pcap=out.pcap
        --out_pcap={NOWHERE} --pcap=CAPTURE
        --pass_pcap=pass.pcap --pcap=CAPTURE
        --pass_pcap={NOWHERE} --pcap=CAPTURE --out_pcap=/dev/null
        --out_pcap=CAPTURE --pcap=CAPTURE
        --pass_pcap=CAPTURE --pcap=CAPTURE --out_pcap=/dev/null
        --pass_pcap=CAPTURE.new --pcap=CAPTURE --out_pcap=CAPTURE.new
        --ip=10.0.0.1
        --metrics=192.0.2.1:0
        --json={NOWHERE}""",
    "kv": f"""
        --mode=database
        --memory_mb=3
        --items=0
        --partitions=1025
        --memcached_port=65536
        --mica_port=65536
        --max_reply_bytes=1
        --excess_kb_s=1000000001
        --snapshot={NOWHERE}
        --snapshot=/
        --snapshot=/dev/zero
        --memory_mb=1048577
        --client=protocol=http
        --transport=quic
        --mica_port=1024 --transport=tcp --ip=10.0.0.1
        --memcached_port=0 --transport=tcp --ip=10.0.0.1
        --workers=2 --transport=tcp --ip=10.0.0.1
        --tcp_on=fpga --transport=tcp --ip=10.0.0.1
        --clients=connections=0 --transport=tcp
        --ip=10.0.0.1 --transport=tcp
        --register=nowhere --ip=10.0.0.2
        --register=127.0.0.1:2379/sluice-kv/
        --register_as=10.0.0.2:1024
        --register_as=10.0.0.2:99999 --register=127.0.0.1:2379/sluice-kv/
        --register_lease_s=1
        --register_lease_s=3601
        --ip=10.0.0
        --json={NOWHERE}""",
    "kv-client": f"""
        --server=10.0.0.1:99999
        --servers_file={NOWHERE}
        --servers_file=/
        --servers_etcd=nowhere
        --sharding=modulo
        --protocol=http
        --workers=0
        --partitions=65536
        --items=0
        --first_item=18446744073709551615
        --size=huge
        --key_bytes=251
        --value_bytes=7
        --mix=1.1
        --distribution=normal
        --rate=-1
        --arrivals=late
        --outstanding=0
        --batch=256
        --batch_wait_us=-1
        --max_datagram_bytes=63
        --timeout_ms=0
        --seed=x
        --duration_s=-1
        --stats_period_s=nan
        --stats_period_s=0.0005
        --patience_s=0
        --json={NOWHERE}
        --json=/""",
    "logmon": f"""
        --filters={NOWHERE}
        --filters={THIS}
        --filter='{{ $.'
        --syslog_ports=0
        --line_ports=514
        --tcp_ports=x
        --syslog_tcp_ports=0
        --sources=0
        --line_bytes=1
        --idle_s=-1
        --lines={NOWHERE}
        --minutes={NOWHERE}
        --alerts={NOWHERE}
        --alerts=/
        --alert_exec={NOWHERE}
        --alert_exec=no-such-program
        --log={NOWHERE}
        --log_as=pigeon
        --log_sources=0
        --transport=smtp
        --tcp_port=0 --transport=tcp --ip=10.0.0.1
        --pass_on=true --transport=tcp --ip=10.0.0.1
        --tcp_on=fpga --transport=tcp --ip=10.0.0.1
        --tcp_connections_per_peer=x
        --test_filter='{{ $.'
        --ip=10.0.0.1.1
        --json={NOWHERE}""",
    "telemetry": f"""
        --keys=ports
        --sketch=bloom
        --rows=2
        --columns=1000
        --top_k=0
        --exact_flows=4294967295
        --levels=0
        --level_columns=3
        --level_top_k=1
        --pace=slow
        --probability=1.1
        --full_rate_pps=0
        --epoch_s=0.0001
        --heavy_hitter_share=-1
        --change_share=2
        --confidence=1
        --oracle_one_in=0 --oracle
        --oracle_flows=0
        --top=101
        --zipf=-1
        --export_ipfix=collector
        --export_ipfix=[127.0.0.1]:4739
        --ipfix_domain=0
        --ipfix_template_s=0
        --export_csv={NOWHERE}
        --export_csv=/
        --export_json={NOWHERE}
        --export_epochs={NOWHERE}
        --export_epochs={THIS}
        --epochs_kept=-1
        --sketch_seed=x
        --merge={NOWHERE}
        --merge={THIS}
        --ip=10.0.0.1
        --json={NOWHERE}""",
    "pktgen": f"""
        --streams={NOWHERE}
        --streams={THIS}
        --rate=1k --streams={NOWHERE}
        --streams=/
        --schedule=1k
        --schedule=1k:1s,0:1s
        --arrivals=late
        --arrivals=poisson --gaps=original --pcap=CAPTURE
        --loops=x
        --loops=1099511627777 --pcap=CAPTURE
        --loops=2
        --gaps=original
        --gaps=some --pcap=CAPTURE
        --dst_mac=here
        --line_gbps=-1
        --line_gbps=1e-10
        --late_ms=0
        --settle_s=-1
        --verify=nothing
        --hgrm={NOWHERE}
        --pcap={NOWHERE}
        --pcap=/
        --pcap={THIS}
        --pcap=/dev/zero
        --pcap=CAPTURE
        --rate=0
        --rate=fast
        --rate=101%
        --rate=1k --schedule=1k:1s
        --rate=200M --line_gbps=100
        --frame_size=63
        --frame_size=64,1519
        --frame_size=64 --pcap=CAPTURE
        --flows=0
        --flows=1048577
        --flows=1048573 --frame_size=64,65,66,67,68
        --rfc2544=speed
        --trial_s=1
        --trial_s=0 --rfc2544=loss
        --probe_s=2 --rfc2544=loss --trial_s=1
        --loss_percent=51 --rfc2544=throughput
        --precision_percent=0 --rfc2544=throughput
        --repeats=10001 --rfc2544=latency
        --generator_mpps=-1 --rfc2544=throughput
        --rate=1M --rfc2544=throughput
        --duration_s=1 --rfc2544=loss
        --wire=string
        --ip=10.0.0.1
        --json={NOWHERE}""",
    "sched": f"""
        --host=bsd
        --host=sched_ext
        --process=4294967295 --host=sched_ext
        --cgroup={NOWHERE} --host=sched_ext
        --thread_name=longer-than-comm --host=sched_ext
        --policy=lottery
        --mode=pigeon
        --cell_s=0
        --replays=101
        --requests=none
        --short_us=-1
        --long_us=2000000
        --long_share=1.5
        --runaway_share=nan
        --request_port=0
        --slice_us=-1
        --poll_us=0
        --runaway_us=1
        --max_tasks=0
        --stack_kb=1
        --watchdog_ms=0.5
        --agent_cpu=-2
        --agent_cpu=4095
        --agent_cpu=1023
        --agent_fault=sing@3
        --agent_down_ms=-1
        --rate=101M
        --ip=nowhere
        --json={NOWHERE}""",
    "device": f"""
        --model=fpga
        --socket=
        --socket={NOWHERE}
        --vfio_user=
        --vfio_user={NOWHERE}
        --vfio_user=a.sock --socket=b.sock
        --interrupts=some
        --interrupts=off
        --wire=string
        --wire=pcap:{NOWHERE}
        --faults=drop:2
        --verify=a
        --pause=maybe
        --seed=x
        --on=card
        --device_cpu=cpu
        --device_cpu=1023
        --duration_s=-1
        --stats_period_s=nan
        --stats_period_s=0.0005
        --json={NOWHERE}
        --pipe_flits=1000 --model=enso
        --nb_entries=1000 --model=enso
        --notify=never --model=enso""",
}

# Devices and primary processes that are absent now but may exist when a service restarts.
ABSENT = (
    ("-a 0000:fe:1f.7", "-a 0000:fe:1f.7: no such PCI device"),
    ("--allow=fe:1f.7 --", "--allow=fe:1f.7: no such PCI device"),
    (f"--no-pci --proc-type=secondary --file-prefix=nobody_{os.getpid()}", "EAL failed to start: "),
    ("--no-pci --no-huge -m 64 --vdev=net_af_packet0,iface=nobody",
     "--vdev=net_af_packet0,iface=nobody: no such network interface: nobody: "),
    (f"--no-pci --no-huge -m 64 --vdev=net_ipu0,device={NOWHERE}",
     f"--vdev=net_ipu0,device={NOWHERE}: EAL created no port for this device: "),
)
# EAL's arguments, and the beginning of the last line. EAL prints other lines before it.
BAD_EAL = (
    ("--no-pci --no-huge -m 64 --vdev=net_nobody0",
     'EAL failed to start: failed to parse device "net_nobody0": '),
    ("--no-pci --no-huge -m 64 --vdev=net_ipu0,device_cpu=1023",
     "--vdev=net_ipu0,device_cpu=1023: EAL created no port for this device: "),
    ("--no-pci --no-huge -m 64 --vdev=net_null0 -- --exception_port=net_null0",
     "--exception_port=net_null0: "),
    ("--no-pci --no-huge -m 64 --vdev=net_null0 -- --workers=9", "--workers=9: "),
    ("--no-pci --no-huge -m 64 -l 0,1023", "EAL failed to start: "),
    ("--no-pci --no-huge -m 64 --iova-mode=nonsense", "EAL failed to start: "),
)


def run(app, line):
    done = subprocess.run([BINARIES[app], *shlex.split(line)], capture_output=True, text=True,
                          timeout=60, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


def lines_of(app):
    return [line.strip() for line in BAD[app].splitlines() if line.strip()]


def help_of(app):
    """Returns the flags that --help lists, and those of them that are boolean."""
    code, text, _ = run(app, "--help")
    assert code == 0
    listed = dict(re.findall(r"^  --(\w+) +(.*)$", text, re.M))
    listed.pop("help", None)
    return set(listed), {name for name, rest in listed.items()
                         if rest.endswith(("(true)", "(false)"))}


class BadArguments(unittest.TestCase):
    def test_every_flag_has_a_value_that_it_refuses(self):
        common, _ = help_of("echo")
        common.remove("mode")
        for app in BAD:
            with self.subTest(app):
                flags, switches = help_of(app)
                if app not in ("echo", "kv-client", "device"):
                    flags -= common
                tried = {re.match(r"--(\w+)", line)[1] for line in lines_of(app)}
                self.assertLessEqual(flags - switches - tried, set())

    def test_a_bad_value_ends_the_run_before_it_begins(self):
        with tempfile.TemporaryDirectory() as folder, \
                concurrent.futures.ThreadPoolExecutor(2) as pool:
            capture = pathlib.Path(folder) / "a.pcap"
            capture.write_bytes(CAPTURE)
            tries = [(app, line.replace("=CAPTURE", f"={capture}"))
                     for app in BAD for line in lines_of(app)]
            for (app, line), (code, stdout, stderr) in zip(
                    tries, pool.map(lambda one: run(*one), tries)):
                with self.subTest(f"sluice-{app} {line}"):
                    self.assertEqual(code, 2, stderr)
                    self.assertEqual(len(stderr.splitlines()), 1, stderr)
                    flag = shlex.split(line)[0] + ": "
                    self.assertTrue(stderr.startswith(flag), stderr)
                    self.assertRegex(stderr.removeprefix(flag), r"\w+ \S+", "what is wrong")
                    self.assertEqual(stdout, "")

    def test_a_missing_file_is_not_called_empty(self):
        for app, flag in (("maglev", "config"), ("maglev", "plan"), ("logmon", "filters"),
                          ("logmon", "log"), ("kv-client", "servers_file"), ("echo", "pcap"),
                          ("pktgen", "pcap"), ("pktgen", "streams"),
                          ("device", "wire=pcap:")):
            with self.subTest(app=app, flag=flag):
                _, _, stderr = run(app, f"--{flag}{'' if ':' in flag else '='}{NOWHERE}")
                self.assertIn("No such file or directory", stderr)

    def test_what_eal_does_not_take(self):
        for line, beginning in BAD_EAL:
            with self.subTest(line):
                code, stdout, stderr = run("echo", line)
                self.assertEqual(code, 2, stderr)
                self.assertTrue(stderr.splitlines()[-1].startswith(beginning), stderr)
                self.assertNotIn("Success", stderr)
                self.assertEqual(stdout, "")

    def test_what_may_come_is_no_bad_argument(self):
        with socket.create_server(("127.0.0.1", 0)) as busy:
            port = busy.getsockname()[1]
            for line, beginning in (*ABSENT, (f"--metrics=127.0.0.1:{port}", "--metrics=127")):
                with self.subTest(line):
                    code, stdout, stderr = run("echo", line)
                    self.assertEqual(code, 1, stderr)
                    self.assertTrue(stderr.splitlines()[-1].startswith(beginning), stderr)
                    self.assertEqual(stdout, "")

    def test_too_few_descriptors_are_no_bad_argument(self):
        for app in ("echo", "device", "chain", "rpc"):
            told = []
            for limit in (6, 10, 14):  # It depends on the build which one fails.
                done = subprocess.run(
                    ["/bin/sh", "-c", f'ulimit -n {limit}; exec "$0" --duration_s=0.1',
                     BINARIES[app]], capture_output=True, text=True, timeout=60, check=False)
                lines = done.stderr.splitlines()
                if lines and lines[-1].endswith("Too many open files"):
                    told.append((limit, done.returncode))
            with self.subTest(app):
                self.assertEqual({code for _, code in told}, {1}, told)

    def test_help_shows_numbers_as_they_are_written(self):
        for app in BAD:
            with self.subTest(app):
                self.assertIsNone(re.search(r"\(\S*\d{14}\S*\)$", run(app, "--help")[1], re.M))


if __name__ == "__main__":
    unittest.main()
