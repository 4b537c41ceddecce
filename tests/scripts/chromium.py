# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, controlled through a pipe with its DevTools protocol: messages are JSON,
each terminated by a zero byte, on descriptors 3 (to it) and 4 (from it)."""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium")
PATIENCE_S = 60


class Chromium:
    """One page. `events` contains all events so far, as (method, parameters)."""

    def __init__(self, width=1200, height=900):
        self.profile = tempfile.TemporaryDirectory()
        to_read, self.to = os.pipe()
        self.source, from_write = os.pipe()
        command = ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{from_write}', "bash", PROGRAM,
                   "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--disable-background-networking", "--disable-extensions",
                   "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}",
                   f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(to_read, from_write),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        targets = self.call("Target.getTargets")["targetInfos"]
        [target] = [one["targetId"] for one in targets if one["type"] == "page"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)  # Chromium exits at the end of its input.
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.source)
        self.profile.cleanup()

    def message(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.source], [], [], max(deadline - time.monotonic(), 0))
            data = os.read(self.source, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("chromium says nothing")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        """Returns the result of a command."""
        self.number += 1
        asked = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.to, json.dumps(asked).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while (said := self.message(deadline)).get("id") != self.number:
            if "method" in said:
                self.events.append((said["method"], said["params"]))
        if "error" in said:
            raise RuntimeError(f"{method}: {said['error']}")
        return said["result"]

    def open(self, path):
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        deadline = time.monotonic() + PATIENCE_S
        while self.evaluate("document.readyState") != "complete" or \
                self.evaluate("location.protocol") != "file:":
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} does not load")

    def evaluate(self, expression):
        """Returns the value of a JavaScript expression."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"]["text"])
        return done["result"].get("value")

    def emulate(self, scheme="light", media=""):
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path):
        """Writes a PNG of the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self):
        """Returns a PDF of the printed page."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def errors(self):
        """Returns exceptions of scripts, and errors on the console and in the log."""
        return [(method, said) for method, said in self.events
                if method == "Runtime.exceptionThrown"
                or method == "Runtime.consoleAPICalled" and said["type"] in ("error", "assert")
                or method == "Log.entryAdded" and said["entry"]["level"] == "error"]

    def requests(self):
        return [said["request"]["url"] for method, said in self.events
                if method == "Network.requestWillBeSent"]
