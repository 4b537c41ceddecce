# SPDX-License-Identifier: BSD-3-Clause
"""Child processes that do not outlive this one, however it ends."""
import ctypes
import signal
import subprocess

PR_SET_PDEATHSIG = 1  # prctl(2)
PATIENCE_S = 30
_libc = ctypes.CDLL(None, use_errno=True)


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(command, **options):
    """As subprocess.Popen; in a session of its own: ^C at the terminal is ours alone."""
    return subprocess.Popen(command, preexec_fn=_die_with_parent, start_new_session=True, **options)


def end(process, request):
    """Sends the signal `request`; kills what does not end by it."""
    if process.poll() is None:
        process.send_signal(request)
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
