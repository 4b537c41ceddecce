# SPDX-License-Identifier: BSD-3-Clause
"""A veth pair, one end here, the other in a network namespace of its own, where Linux is a peer of
whoever has the end here. Root only. Tests use it, too."""
import contextlib
import os
import subprocess

PATIENCE_S = 60


def sh(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          timeout=PATIENCE_S).stdout


class Veth:
    """Names that are this process's alone. `name`: of the pair, up to 6 letters."""

    def __init__(self, name):
        own = f"{name}{os.getpid()}"
        self.netns, self.here, self.there = f"sluice{own}", own, f"c{own}"

    def command(self, *command):
        """The same, run in the namespace. The process is not another one for it."""
        return ["ip", "netns", "exec", self.netns, *command]

    def run(self, *command):
        return sh(*self.command(*command))

    @contextlib.contextmanager
    def up(self, *there, here=(), partial_checksums=False):
        """Addresses with their prefixes, of both ends. An end here that has none is left alone by
        the kernel: it neither answers in our stead nor speaks by itself. With `partial_checksums`
        those of UDP and TCP are left to hardware that a veth does not have, as Linux does it."""
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
            # Whatever became of it, and also what was not made yet.
            for rest in (("link", "del", self.here), ("netns", "del", self.netns)):
                subprocess.run(["ip", *rest], check=False, capture_output=True, timeout=PATIENCE_S)
