# SPDX-License-Identifier: BSD-3-Clause
"""Starts a systemd unit as systemd does, as far as systemd.service(5) specifies Environment=,
EnvironmentFile=, the words of commands, and Type=notify."""
import contextlib
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import tempfile

from harness import PATIENCE_S


def settings(text):
    """Returns {name: values} of a unit."""
    found = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"(\w+)=(.*)", line):
            found.setdefault(match[1], []).append(match[2])
    return found


def environment(unit, instance):
    """Returns the environment of the unit's programs: variables of the unit, then those of its
    file."""
    words = shlex.split(" ".join(unit["Environment"]))
    for path in unit["EnvironmentFile"]:
        words += shlex.split(pathlib.Path(path.replace("%i", instance)).read_text(), comments=True)
    return dict(word.split("=", 1) for word in words)


def command(line, variables):
    """Returns the words of a command line. A separate $NAME is split into words, ${NAME} is part of
    one word."""
    words = []
    for word in line.split():
        if re.fullmatch(r"\$\w+", word):
            words += variables[word[1:]].split()
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda match: variables[match[1]], word))
    return words


@contextlib.contextmanager
def managed(words, folder):
    """Yields a process, and a function that waits for its next message to the service manager and
    returns it. The process is killed if it still runs at the end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, \
            tempfile.TemporaryDirectory() as place, open(f"{place}/said", "w+") as said:
        manager.bind(f"{place}/notify")
        manager.settimeout(0.2)
        with subprocess.Popen(words, cwd=folder, stdout=said, stderr=subprocess.STDOUT,
                              env=os.environ | {"NOTIFY_SOCKET": f"{place}/notify"}) as process:
            def told():
                for _ in range(int(PATIENCE_S / 0.2)):
                    ended = process.poll() is not None  # This must be read before the messages.
                    with contextlib.suppress(TimeoutError):
                        return manager.recv(4096).decode()
                    if ended:
                        break
                said.seek(0)
                raise AssertionError(f"{words}: told nothing, exit code {process.poll()}\n"
                                     + said.read())
            try:
                yield process, told
            finally:
                process.kill()


def start_and_stop(test, words, folder, reloads):
    """Starts and stops a service, which must report both that it is ready and that it stops. With
    `reloads`, SIGHUP must not end it."""
    with managed(words, folder) as (process, told):
        test.assertEqual(told(), "READY=1")
        if reloads:
            process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        test.assertEqual(told(), "STOPPING=1")
        test.assertEqual(process.wait(PATIENCE_S), 0)
