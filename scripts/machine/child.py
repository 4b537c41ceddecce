# SPDX-License-Identifier: BSD-3-Clause
"""Child processes that do not outlive this one, even if it is killed."""
import ctypes
import signal
import subprocess

PR_SET_PDEATHSIG = 1  # prctl(2)
PATIENCE_S = 30
_libc = ctypes.CDLL(None, use_errno=True)


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(command, **options):
    """Starts a process like subprocess.Popen, but in a separate session, so that ^C on the terminal
    reaches only this process."""
    return subprocess.Popen(command, preexec_fn=_die_with_parent, start_new_session=True, **options)


def end(process, request):
    """Sends the signal `request`; kills the process if it does not exit."""
    if process.poll() is None:
        process.send_signal(request)
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
