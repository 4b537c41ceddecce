# SPDX-License-Identifier: BSD-3-Clause
"""The end of a run of a script: its files, their page, and its exit code."""
import os
import pathlib
import signal
import sys

import run
from measurement import INTERRUPTED

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "reporting"))
from inputs import BadInput
from report import MEASURED, PAGE, page_after  # pylint: disable=unused-import

INTERRUPTED_CODE = 130  # Shells return this code after SIGINT.


def check_files(parser, args, names):
    """Makes the paths in these arguments absolute, since everything runs in the source tree, and
    checks that their folders exist."""
    for name in names:
        path = getattr(args, name)
        if path and path not in ("none", parser.get_default(name)):
            setattr(args, name, os.path.abspath(path))
            if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
                parser.error(f"--{name}={path}: no such folder")


def print_written(program, args, written):
    """Writes the page of all measurements, and prints the paths of all files."""
    if args.page != "none":
        try:
            written.append(page_after(args.json, args.page))
        except BadInput as error:
            print(f"{program}: no page: {error}", file=sys.stderr)
    print("\nwritten: " + ", ".join(written))


def ended(program, args, job):
    """Returns the exit code of a run; prints a message if it ended early or found nothing."""
    if not job.stopped:
        if not job.concluded:
            print(f"{program}: no verdict: see the reasons in {args.json}", file=sys.stderr)
        return 0 if job.concluded else 1
    kept = f"the results so far are in {args.json}" if job.measured else "nothing was measured"
    print(f"{program}: {job.stopped}; {kept}", file=sys.stderr)
    return INTERRUPTED_CODE if job.stopped == INTERRUPTED else 1


def run_main(program, main):
    """Exits with the result of `main`. Treats SIGTERM and SIGHUP, unless they are ignored, as
    an interrupt, so that processes and namespaces are cleaned up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP.
            signal.signal(number, signal.default_int_handler)
    try:
        sys.exit(main())
    except run.RunError as error:
        sys.exit(f"{program}: {error}")
    except KeyboardInterrupt:
        print(f"{program}: interrupted; nothing was measured", file=sys.stderr)
        sys.exit(INTERRUPTED_CODE)
