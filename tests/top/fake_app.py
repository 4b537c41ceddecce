# SPDX-License-Identifier: BSD-3-Clause
"""A process with scripted replies on DPDK's telemetry socket."""
import contextlib
import json
import os
import pathlib
import socket
import threading

INFO = {"version": "DPDK 22.11.11", "pid": 4711, "max_output_len": 16384}


class FakeApp:
    """A process with a file prefix below `folder`, a RUNTIME_DIRECTORY. `answers` contains, by
    command with parameters, an object that is sent as JSON, bytes that are sent verbatim, or a
    function that returns either."""

    def __init__(self, folder, prefix, answers, info=None):
        self.answers, self.info = dict(answers), json.dumps(info or INFO).encode()
        self.path = pathlib.Path(folder) / "dpdk" / prefix / "dpdk_telemetry.v2"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.clients, self.asked = [], []
        self.answers.setdefault("/", ["/", *(key.split(",")[0] for key in self.answers)])
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.clients.append(client)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            client.send(self.info)
            while asked := client.recv(4096).decode():
                self.asked.append(asked)
                answer = self.answers.get(asked)
                answer = answer() if callable(answer) else answer
                client.send(answer if isinstance(answer, bytes) else
                            json.dumps({asked.split(",")[0]: answer}).encode())
        except OSError:
            pass

    def die(self):
        """Ends like a killed process: the socket's name stays."""
        for one in [self.listener, *self.clients]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def remove(self):
        self.die()
        os.unlink(self.path)


def port(packets, missed=0, queues=(1,)):
    """Returns /ethdev/stats after this many packets, distributed over queues by these weights."""
    of = [packets * weight // sum(queues) for weight in queues]
    return {"ipackets": packets, "opackets": packets, "ibytes": 60 * packets, "obytes": 60 * packets,
            "imissed": missed, "ierrors": 0, "oerrors": 0, "rx_nombuf": 0, "q_ipackets": of,
            "q_opackets": of, "q_ibytes": [60 * n for n in of], "q_obytes": of, "q_errors": [0]}
