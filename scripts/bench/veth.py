# SPDX-License-Identifier: BSD-3-Clause
"""A veth pair with one end here and the other in a separate network namespace, where Linux is the
peer of the program that uses the end here. Needs root. Tests use it, too."""
import contextlib
import os
import subprocess

PATIENCE_S = 60


def sh(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          timeout=PATIENCE_S).stdout


class Veth:
    """Creates names that are unique to this process. `name` is the pair's, up to 6 letters."""

    def __init__(self, name):
        own = f"{name}{os.getpid()}"
        self.netns, self.here, self.there = f"sluice{own}", own, f"c{own}"

    def command(self, *command):
        """Returns a command that executes `command` in the namespace, without forking."""
        return ["ip", "netns", "exec", self.netns, *command]

    def run(self, *command):
        return sh(*self.command(*command))

    @contextlib.contextmanager
    def up(self, *there, here=(), partial_checksums=False):
        """Sets addresses with prefixes at both ends. The kernel does not use an end here that has
        no address: it neither answers nor sends. With `partial_checksums`, which is Linux's
        default, UDP and TCP checksums are left to hardware, which a veth lacks."""
        try:
            sh("ip", "netns", "add", self.netns)
            sh("ip", "link", "add", self.here, "type", "veth", "peer", "name", self.there,
               "netns", self.netns)
            offloads = ("tx", "on" if partial_checksums else "off",
                        "tso", "off", "gso", "off", "gro", "off")
            sh("ethtool", "-K", self.here, *offloads)
            self.run("ethtool", "-K", self.there, *offloads)
            sh("ip", "link", "set", self.here, "up")
            if here:
                sh("ip", "addr", "add", *here, "dev", self.here)
            else:
                sh("sysctl", "-qw", f"net.ipv6.conf.{self.here}.disable_ipv6=1")
            for address in there:
                self.run("ip", "addr", "add", address, "dev", self.there,
                         *(["nodad"] if ":" in address else []))
            self.run("ip", "link", "set", self.there, "up")
            yield self
        finally:
            # Either may have vanished, or may not have been created yet.
            for rest in (("link", "del", self.here), ("netns", "del", self.netns)):
                subprocess.run(["ip", *rest], check=False, capture_output=True, timeout=PATIENCE_S)
