# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command in a virtual machine whose PCI bus has one or two of the model NICs.

  scripts/vm run [flags] -- dpdk-testpmd -l 0,1 -- --forward-mode=io
  scripts/vm shell [flags]
  scripts/vm boot [flags] FOLDER
  scripts/vm fetch

The command is a program of this host, which the guest sees read-only; its drivers are those of the
build. It runs as the guest's root user in this folder; $SLUICE_NICS contains the NICs' addresses.
`boot` starts the system in FOLDER, which becomes the guest's writable root, with its NICs already
bound. The exit code is that of the command, or 0 if the system powers itself off; 124: --timeout_s
expired; 125: there is no guest; 2: bad arguments.
"""
import argparse
import os
import select
import signal
import subprocess
import sys
import termios
import time
import tty

import guest
import packages
from nic import NicFailed

TIMED_OUT, NO_GUEST = 124, 125
TARGETS = ("apps/device/sluice-device", "drivers/net_enso/librte_net_enso.so.23",
           "drivers/net_ipu/librte_net_ipu.so.23")


class Ended(Exception):
    """A signal requests the end of this process."""


def on_signal(number, _):
    for other in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(other, signal.SIG_IGN)  # Ignore further signals, so that cleanup runs once.
    raise Ended(number)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"vm: {message}; see scripts/vm --help\n")


def parse(arguments):
    """Parses the flags, and the command after --."""
    middle = arguments.index("--") if "--" in arguments else len(arguments)
    arguments, program = arguments[:middle], arguments[middle + 1:]
    parser = Parser(prog="vm", description=__doc__, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fetch", help="download and unpack the packages for guests")
    for name, text in (("run", "run a command in a guest"),
                       ("shell", "start a shell in a guest; exit ends the guest"),
                       ("boot", "boot a system; it ends when the system powers off")):
        sub = commands.add_parser(name, help=text, allow_abbrev=False)
        if name == "boot":
            sub.add_argument("system", type=os.path.realpath, metavar="FOLDER",
                             help="root folder of a system with systemd, such as one by mmdebstrap")
        sub.add_argument("--nic", action="append", default=[], metavar="MODEL[,FLAG=VALUE...]",
                         help="NIC of the guest: enso or ipu, and flags of its sluice-device; "
                         "give it once or twice; default: no NIC")
        sub.add_argument("--wire", action="append", default=[],
                         help="wire of a NIC; give it once per NIC, in order; the last one "
                         "applies to the remaining NICs; default: loopback")
        sub.add_argument("--bind", default="vfio",
                         help="driver of the guest's kernel for the NICs: vfio (default), uio or "
                         "none")
        sub.add_argument("--kernel", choices=("stable", "backports"), default="stable",
                         help="kernel of the guest: that of Debian's release (default) or the "
                         "newer one of its backports")
        sub.add_argument("--accel", default="",
                         help="accelerator of QEMU: kvm or tcg; default: kvm if guests boot with "
                         "it")
        sub.add_argument("--memory", type=int, default=512, metavar="MB",
                         help="memory of the guest in MB, half of it hugepages; default: 512")
        sub.add_argument("--timeout_s", type=float, default=0,
                         help="time limit in seconds; default: none")
    args = parser.parse_args(arguments)
    if bool(program) != (args.command == "run"):
        parser.error("run: give the command after --" if args.command == "run"
                     else f"{args.command} accepts no command: use run")
    args.program = program
    return args


def nics(args):
    """Returns the models and flags of the NICs on the command line."""
    listed = []
    for i, text in enumerate(args.nic):
        model, *flags = text.split(",")
        options = [tuple(flag.split("=", 1)) for flag in flags if "=" in flag]
        if len(options) != len(flags):
            bad = next(flag for flag in flags if "=" not in flag)
            raise ValueError(f"--nic={text}: '{bad}' is not FLAG=VALUE")
        if args.wire and not any(key == "wire" for key, _ in options):
            options.append(("wire", args.wire[min(i, len(args.wire) - 1)]))
        listed.append((model, options))
    if len(args.wire) > len(listed):
        raise ValueError("--wire: give a --nic for each --wire")
    return listed


def build():
    """Builds the programs that a guest's NICs need, if they are missing."""
    if all((guest.Options.build / target).exists() for target in TARGETS):
        return
    print("vm: building sluice-device and the drivers", file=sys.stderr)
    for command in (["scripts/setup"], ["scripts/build", "release", *TARGETS]):
        done = subprocess.run(command, cwd=packages.PROJECT, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise guest.GuestFailed(f"{command[0]} fails: {done.stderr.strip()[-300:]}")


def relay(running, timeout_s):
    """Relays standard input and output until the guest is off; returns the exit code of its
    command."""
    end = time.monotonic() + timeout_s if timeout_s > 0 else float("inf")
    listens, last, typed = sys.stdin is not None, b"\n", b""
    while (data := running.step(0.02 if listens or typed
                                else min(1.0, max(end - time.monotonic(), 0)))) is not None:
        if data:
            os.write(sys.stdout.fileno(), data)
        if time.monotonic() > end:
            print(f"vm: the command did not end within {timeout_s:g} s", file=sys.stderr)
            return TIMED_OUT
        # Keep relaying output while the command does not read its input.
        typed = running.type(typed) if typed else b""
        while listens and not typed and running.runs and select.select([sys.stdin], [], [], 0)[0]:
            typed = os.read(sys.stdin.fileno(), 65536)
            listens = bool(typed)
            # After an incomplete line, the first ^D only flushes the line.
            end_of_input = guest.END_OF_INPUT * (1 if last == b"\n" else 2)
            last = typed[-1:]
            typed = running.type(typed or end_of_input)
    return running.code()


def run(options, timeout_s):
    """Runs the command in a guest with these options; returns the exit code."""
    saved = termios.tcgetattr(sys.stdin) if options.terminal else None
    try:
        with guest.Guest(options) as running:
            if saved:
                tty.setraw(sys.stdin)
            return relay(running, timeout_s)
    finally:
        if saved:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)


def main():
    args = parse(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    try:
        if args.command == "fetch":
            packages.fetch()
            return 0
        options = guest.Options(nics=nics(args), bind=args.bind, memory_mb=args.memory,
                                newest_kernel=args.kernel == "backports",
                                accelerator=args.accel)
        if args.command == "run":
            options.command = args.program
        elif args.command == "boot":
            options.system = args.system
        else:
            options.command = [os.environ.get("SHELL", "/bin/sh")]
        # A closed stream is None.
        options.terminal = all(end is not None and end.isatty() for end in (sys.stdin, sys.stdout))
        fault = guest.check(options)
        if fault:
            raise ValueError(fault)
        if options.nics:
            build()
        return run(options, args.timeout_s)
    except ValueError as error:
        print(f"vm: {error}", file=sys.stderr)
        return 2
    except (packages.CannotFetch, guest.GuestFailed, NicFailed, OSError) as error:
        print(f"vm: {error}", file=sys.stderr)
        return NO_GUEST
    except Ended as ended:
        return 128 + ended.args[0]


if __name__ == "__main__":
    sys.exit(main())
