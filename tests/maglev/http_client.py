#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""http_client.py PORT VIP4 VIP6 SOURCE...: generates the load of the scale-out test. Persistent
connections send requests until the end, short connections come and go, and datagrams are sent.
Reads commands, a JSON list per line, and answers each with a line of JSON.

  ["hold", family, n, first_port]   opens n persistent connections
  ["churn", on]                     opens one connection after another, each for one request
  ["state"]                         the state of all connections
  ["connect", n]                    n connections for one request each: backend names
  ["probe", n]                      a datagram from each of n source ports: backend names
  ["fragments", bytes]              a large datagram from each source address

Every source port is used once, so that a flow is named by its port and has the same slot in every
run.
"""

import hashlib
import http.client
import json
import random
import socket
import sys
import threading
import time

PORT, SOURCES = int(sys.argv[1]), sys.argv[4:]
VIPS = {4: sys.argv[2], 6: sys.argv[3]}
PAUSE_S = 0.25
# TCP survives every pause caused by a route change, so a longer silence means that the connection
# is broken.
PATIENCE_S = 40
UDP_WAIT_S, UDP_TRIES = 1.0, 8
CHURN_PORT, CONNECT_PORT, PROBE_PORT, FRAGMENT_PORT = 30000, 40000, 45000, 46000


def family_of(address):
    return 6 if ":" in address else 4


def source(family):
    return next(address for address in SOURCES if family_of(address) == family)


class Web(http.client.HTTPConnection):
    auto_open = False  # A connection that ends must not be reopened silently.

    def __init__(self, family, source_port):
        super().__init__(VIPS[family], PORT, timeout=PATIENCE_S,
                         source_address=(source(family), source_port))
        self.random = random.Random(source_port)
        self.connect()
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self):
        """Returns the backend that replied correctly; None if the reply was wrong."""
        data = self.random.randbytes(self.random.choice([1, 100, 1400, 4000]))
        self.request("POST", "/", body=data)
        response = self.getresponse()
        name, _, body = response.read().partition(b"\n")
        return name.decode() if response.status == 200 and body == data[::-1] else None


class Holder(threading.Thread):
    """A persistent connection."""

    def __init__(self, family, port):
        super().__init__(daemon=True)
        self.state = {"family": family, "port": port, "backend": None, "served": 0, "wrong": 0,
                      "error": None}
        self.start()

    def run(self):
        state = self.state
        try:
            web = Web(state["family"], state["port"])
            while True:
                name = web.ask()
                state["backend"] = state["backend"] or name
                state["served"] += 1
                state["wrong"] += name is None or name != state["backend"]
                time.sleep(PAUSE_S * random.uniform(0.8, 1.2))
        except (OSError, http.client.HTTPException) as error:
            state["error"] = repr(error)


class Churn(threading.Thread):
    """Connections that come and go."""

    def __init__(self):
        super().__init__(daemon=True)
        self.on, self.port, self.opened, self.errors = False, CHURN_PORT, 0, []
        self.lock = threading.Lock()
        self.start()

    def turn(self, on):
        """Starts or stops opening connections. After a stop, no connection is open."""
        with self.lock:
            self.on = on

    def run(self):
        while True:
            with self.lock:
                if self.on:
                    self.open_one()
            time.sleep(0.02)

    def open_one(self):
        self.port += 1
        try:
            web = Web(4 if self.port % 2 else 6, self.port)
            if web.ask() is None:
                self.errors.append(f"port {self.port}: wrong answer")
            web.close()
            self.opened += 1
        except (OSError, http.client.HTTPException) as error:
            self.errors.append(f"port {self.port}: {error!r}")


def datagram(address, port, data):
    """Sends up to UDP_TRIES times until a reply arrives. Returns [backend, whether the reply's hash
    is correct], or [None, False] without a reply."""
    family = family_of(address)
    with socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6,
                       socket.SOCK_DGRAM) as udp:
        udp.bind((address, port))
        udp.connect((VIPS[family], PORT))
        udp.settimeout(UDP_WAIT_S)
        for _ in range(UDP_TRIES):
            try:
                udp.send(data)
                name, digest = udp.recv(2048).decode().split()
                return [name, digest == hashlib.sha256(data).hexdigest()]
            except OSError:
                continue
    return [None, False]


class Commands:
    def __init__(self):
        self.holders, self.churner, self.port = [], Churn(), CONNECT_PORT

    def hold(self, family, n, first_port):
        self.holders += [Holder(family, first_port + i) for i in range(n)]
        return n

    def churn(self, on):
        self.churner.turn(on)
        return on

    def state(self):
        return {"held": [holder.state for holder in self.holders],
                "opened": self.churner.opened, "errors": self.churner.errors}

    def connect(self, n):
        names = []
        for _ in range(n):
            self.port += 1
            web = Web(4 if self.port % 2 else 6, self.port)
            names.append(web.ask())
            web.close()
        return names

    def probe(self, n):
        return [datagram(source(4 if i % 2 else 6), PROBE_PORT + i, b"probe")[0] for i in range(n)]

    def fragments(self, size):
        """Returns, for each flow, the receiver of a small datagram, the receiver of the large one,
        and whether it was complete."""
        data = random.randbytes(size)
        return [[address, datagram(address, FRAGMENT_PORT, b"small")[0],
                 *datagram(address, FRAGMENT_PORT, data)] for address in SOURCES]


commands = Commands()
for line in sys.stdin:
    name, *arguments = json.loads(line)
    print(json.dumps(getattr(commands, name)(*arguments)), flush=True)
