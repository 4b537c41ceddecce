# SPDX-License-Identifier: BSD-3-Clause
"""A minimal client of QEMU's machine protocol (docs/interop/qmp-spec)."""
import json

PATIENCE_S = 600  # An emulated guest may need minutes to release a device.


class Qmp:
    """`connection` is a socket that QEMU has connected to."""

    def __init__(self, connection):
        connection.settimeout(PATIENCE_S)
        self.file = connection.makefile("rw", encoding="utf-8")
        self.connection = connection
        self.events = []
        self._read()  # The greeting.
        self.ask("qmp_capabilities")

    def _read(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("QEMU has ended")
        return json.loads(line)

    def ask(self, command, **arguments):
        """Returns the result of the command."""
        text = {"execute": command}
        if arguments:
            text["arguments"] = {name.replace("_", "-"): value for name, value in arguments.items()}
        self.file.write(json.dumps(text) + "\n")
        self.file.flush()
        while True:
            answer = self._read()
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
            self.events.append(answer)

    def wait_for(self, event, device):
        """Returns when this event of the device has arrived, possibly before the call."""
        while True:
            for known in self.events:
                if known["event"] == event and known["data"].get("device") == device:
                    self.events.remove(known)
                    return
            self.events.append(self._read())

    def shutdown_reason(self):
        """Returns QEMU's reason for shutdown (ShutdownCause of qapi/run-state.json); empty if it
        sent none."""
        try:
            while not (said := [event for event in self.events if event["event"] == "SHUTDOWN"]):
                self.events.append(self._read())
        except ConnectionError:
            return ""
        return said[-1]["data"]["reason"]
