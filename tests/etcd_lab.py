# SPDX-License-Identifier: BSD-3-Clause
"""Debian's etcd for tests, and scripted gateways in Python. Import harness first."""
import base64
import contextlib
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

from harness import PATIENCE_S, free_port, wait_until

ETCD, ETCDCTL = shutil.which("etcd"), shutil.which("etcdctl")
INSTALLED = bool(ETCD and ETCDCTL)
MISSING = "etcd-server and etcd-client are not installed"
# Without peers, etcd need not wait for others when it elects a leader. Times are in ms.
ALONE = ("--heartbeat-interval=20", "--election-timeout=100")


class Etcd:
    """Runs on a free port until the end of the test."""

    def __init__(self, test):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.port, self.peers = free_port(), free_port()
        self.process = None
        test.addCleanup(self.stop)
        self.start()

    def start(self, data="data"):
        """Starts etcd with its keys in the folder `data`."""
        self.run(data)
        wait_until(lambda: self.serves(data), "etcd")

    def run(self, data):
        here, peers = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.peers}"
        with open(os.path.join(self.folder, "log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [ETCD, "--data-dir", os.path.join(self.folder, data),
                 "--listen-client-urls", here, "--advertise-client-urls", here,
                 "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                 "--initial-cluster", f"default={peers}", *ALONE],
                stdout=log, stderr=log)

    def serves(self, data):
        """Returns whether etcd serves. Another connection may use its port for a moment, so an etcd
        that has ended is started again."""
        if self.process.poll() is not None:
            self.run(data)
        return self.run_ctl("get", "x").returncode == 0

    def stop(self):
        self.process.kill()
        self.process.wait()

    def run_ctl(self, *command, lines=""):
        return subprocess.run([ETCDCTL, f"--endpoints=127.0.0.1:{self.port}", *command],
                              env={**os.environ, "ETCDCTL_API": "3"}, input=lines,
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def ctl(self, *command, lines=""):
        done = self.run_ctl(*command, lines=lines)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def in_one_step(self, *lines):
        """Runs a transaction without conditions."""
        assert "SUCCESS" in self.ctl("txn", lines="\n" + "\n".join(lines) + "\n\n\n")

    def keys(self, prefix):
        """Returns {key: value}."""
        lines = self.ctl("get", "--prefix", prefix).splitlines()
        return dict(zip(lines[::2], lines[1::2]))


def b64(text):
    return base64.b64encode(text.encode()).decode()


def pair(key, value):
    return {"key": b64(key), "value": b64(value)}


class Gateway:
    """A scripted gateway: for each path it returns a list of bodies in turn, and repeats the last
    one; the last watch never ends. None means no reply before the end of the test."""

    def __init__(self, test, scripts):
        self.scripts, self.requests = {path: list(script) for path, script in scripts.items()}, []
        self.times = []  # The times of requests, recorded before each reply.
        self.ending = threading.Event()
        gateway = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                gateway.requests.append((self.path, json.loads(body)))
                gateway.times.append(time.monotonic())
                script = gateway.scripts[self.path]
                last = len(script) == 1
                answer = script[0] if last else script.pop(0)
                if answer is None:
                    gateway.ending.wait()
                    return
                self.send_response(200)
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(answer.encode() if isinstance(answer, str) else answer)
                    if self.path == "/v3/watch" and last:
                        gateway.ending.wait()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        # 0.02 s is the polling interval for shutdown.
        thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        thread.start()
        for cleanup in (self.server.server_close, thread.join, self.server.shutdown,
                        self.ending.set):  # The last cleanup runs first.
            test.addCleanup(cleanup)

    def asked(self, path):
        """Returns the requests to a path in order."""
        return [request for at, request in self.requests if at == path]
