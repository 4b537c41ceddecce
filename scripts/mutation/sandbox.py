# SPDX-License-Identifier: BSD-3-Clause
"""Runs a test that may do any damage: kill processes, delete runtime files, allocate, write or
compute without end. It has private PID, /run, /tmp and /dev/shm."""
import math
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from typing import NamedTuple

import tree

DATA_KIB = 6 << 20
# $0 is a folder that must stay visible, even if it is below a hidden folder. $1 is the CPU time
# limit in seconds. The command follows; it runs as a child because process 1 ignores signals.
SETUP = """
for own in /run /tmp /dev/shm; do
  mount -t tmpfs tmpfs /mnt
  case $0/ in $own/*) mkdir -p "/mnt${0#$own}" && mount --bind "$0" "/mnt${0#$own}" ;; esac
  mount --move /mnt $own
done
ulimit -c 0 -d %d
ulimit -t $1
shift
"$@"
exit $?
""" % DATA_KIB
FAILED_CASE = re.compile(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)|^(?:FAIL|ERROR): (\w+)", re.M)
PASSED = (0, 77)  # 77: the test was skipped.


class Outcome(NamedTuple):
    passed: bool
    why: str  # The cause of a failure: a case, a signal or a limit.
    seconds: float
    cpu_s: float


def run(command, cwd, environment, cpu_limit_s, limit_s):
    """cpu_limit_s applies to each process. limit_s, in real time, applies to all of them and ends
    tests that wait forever; it may be long, as a busy machine slows everything down."""
    confined = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount",
                "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", SETUP,
                str(tree.ROOT), str(math.ceil(cpu_limit_s)), *map(str, command)]
    before, start = children_cpu_s(), time.monotonic()
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(["tail", "-c", "65536"], stdin=subprocess.PIPE, stdout=said) as tail:
            with subprocess.Popen(confined, cwd=cwd, env=os.environ | environment,
                                  stdin=subprocess.DEVNULL, stdout=tail.stdin,
                                  stderr=subprocess.STDOUT) as test:
                tail.stdin.close()
                try:
                    code = test.wait(limit_s)
                except subprocess.TimeoutExpired:
                    test.kill()
                    code = None
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    return Outcome(code in PASSED, reason(code, text), time.monotonic() - start,
                   children_cpu_s() - before)


def reason(code, text):
    if code is None:
        return "waits"
    if code not in PASSED and (case := FAILED_CASE.search(text)):
        return case[1] or case[2]
    if code > 128:
        number = code - 128
        return "computes on" if number in (signal.SIGXCPU, signal.SIGKILL) \
            else signal.Signals(number).name if number in set(signal.Signals) else f"exit {code}"
    return "" if code in PASSED else f"exit {code}"


def children_cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_possible():
    return run(["true"], "/", {}, 10, 30).passed
