#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Shows the activity of a DPDK process live, over its telemetry socket. Works with any Sluice
application, testpmd and others. Run it as the user that runs the process."""
import argparse
import os
import shutil
import sys

import pages
from sampler import Sampler, listing
from view import View


def open_closed_streams():
    """Opens /dev/null in place of closed standard streams, which Python represents as None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


def fail(message, code=2):
    """Prints one line, without control characters. Returns `code`."""
    shown = "".join(c if c.isprintable() else "?" for c in message)
    print(f"sluice-top: {shown}", file=sys.stderr)
    return code


class Parser(argparse.ArgumentParser):
    def error(self, message):
        """Prints one line instead of argparse's several."""
        sys.exit(fail(f"{message}: --help lists the flags"))


def parse():
    parser = Parser(prog="sluice-top", description=__doc__)
    parser.add_argument("--file-prefix", metavar="NAME", default="",
                        help="EAL's --file-prefix of the process; default: the only process, or a "
                        "choice on the screen")
    parser.add_argument("--period_s", type=float, default=1.0,
                        help="seconds between samples, 0.1 to 60; default: 1")
    parser.add_argument("--page", default="Overview", help="first page; default: Overview")
    parser.add_argument("--once", action="store_true", help="print one page as text and exit")
    parser.add_argument("--list", action="store_true", help="print the processes and exit")
    return parser.parse_args()


def main():
    args = parse()
    if not 0.1 <= args.period_s <= 60:
        return fail(f"--period_s={args.period_s:g}: give 0.1 to 60")
    if args.list:
        print("".join(f"{name}  {about}\n" for name, about in listing()), end="")
        return 0
    known = [] if args.file_prefix else [name for name, _ in listing()]
    name = args.file_prefix or (known[0] if len(known) == 1 else None)
    titles = [*pages.COMMON, *(page.title for page in pages.APP_PAGES)]
    if args.page not in titles:
        return fail(f"--page={args.page}: give one of {', '.join(titles)}")
    view = View(args.page, args.period_s)
    sampler = Sampler(name, args.period_s)
    if args.once:
        if name is None:
            return fail("--file-prefix: give one of " + ", ".join(known) if known else
                        "no DPDK process with telemetry runs here as this user")
        import terminal  # pylint: disable=import-outside-toplevel
        size = shutil.get_terminal_size((80, 24))
        if not terminal.print_once(view, sampler, size.columns, size.lines):
            return fail(f"{name} {sampler.status.split(';')[0]}", 1)
        return 0
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return fail("standard output is not a terminal: give --once")
    if name is None:
        view.screen = "apps"
    return show(view, sampler)


def show(view, sampler):
    import curses  # pylint: disable=import-outside-toplevel
    import terminal  # pylint: disable=import-outside-toplevel
    try:
        terminal.show(view, sampler)
    except curses.error as error:
        return fail(f"cannot use the terminal type in TERM: {error}: try TERM=vt100")
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    open_closed_streams()
    try:
        exit_code = main()
        sys.stdout.flush()
    except OSError as error:
        exit_code = fail(f"standard output: {error.strerror}", 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Discards buffered output.
    sys.exit(exit_code)
