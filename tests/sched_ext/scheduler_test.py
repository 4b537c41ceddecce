#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scheduler_test.py BUILD KERNEL_TEST WORK: sluice-sched --host=sched_ext in a guest whose kernel has
sched_ext. A program of many threads ends with the right result under each policy, and when the
program that schedules it is killed or stopped; the kernel's scheduler is back afterwards."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "vm"))
import guests  # noqa: E402

BUILD, KERNEL_TEST, WORK = sys.argv[1:]
POLICIES = ("fifo_per_cpu", "fifo_central", "shinjuku", "multi_queue", "fair_share",
            "join_shortest_queue")
TIMES = 3  # How often the program is killed, and stopped.
ROUNDS = 48
SCHED = f"{BUILD}/apps/sched/sluice-sched --host=sched_ext"
STATE = "/sys/kernel/sched_ext/state"


def sums():
    """Returns the right results of the work, by its number of rounds."""
    return {rounds: subprocess.run([WORK, str(rounds)], capture_output=True, text=True,
                                   check=True).stdout.strip() for rounds in (ROUNDS, 8 * ROUNDS)}


class Scheduler(guests.Case):
    def test_threads_of_a_guest(self):
        self.sums = sums()
        options = guests.options(BUILD, bind="none", newest_kernel=True)
        with guests.Guest(options) as self.guest:
            self.check_kernel()
            for policy in POLICIES:
                with self.subTest(policy=policy):
                    self.check_policy(policy)
            self.check_other_choices()
            for _ in range(TIMES):
                self.check_killed()
            self.check_stopped()
            self.check_faults_of_the_agent()
            guests.leave(self.guest)

    def sh(self, command, code=0):
        return guests.run(self.guest, command, code)

    def work(self, rounds):
        """Starts the work in the background, stopped, as $work."""
        self.guest.send(f"sh -c 'kill -STOP $$; exec {WORK} {rounds}' >/tmp/sum 2>&1 & work=$!\n")

    def schedule(self, flags, decides=True):
        """Starts sluice-sched in the background, as $sched, and lets the work run. Returns once the
        agent has decided."""
        self.guest.send(f"{SCHED} --stats_period_s=0.2 {flags} >/tmp/sched 2>&1 & sched=$!\n")
        for line in (["threads [1-9]", "enforced [1-9]"] if decides else ["threads [1-9]"]):
            self.sh(f"until grep -q '{line}' /tmp/sched; do sleep 0.1; kill -0 $sched || break; "
                    "done; kill -CONT $work; kill -0 $sched || { cat /tmp/sched; false; }")

    def check_work(self, rounds):
        self.assertIn(self.sums[rounds], self.sh("wait $work; cat /tmp/sum"))

    def end(self):
        """Ends sluice-sched; returns its last line of figures, by their names."""
        said = self.sh("kill $sched; wait $sched && tail -n 1 /tmp/sched")
        self.assertIn("disabled", self.sh(f"cat {STATE}"))
        return {name: int(count) for name, count in re.findall(r"([a-z-][a-z -]*) (\d+)[;,]", said)}

    def check_kernel(self):
        self.sh(f"{KERNEL_TEST} --gtest_color=no 2>&1")
        said = self.sh("setpriv --reuid=65534 --clear-groups "
                       f"{SCHED} --process=1 --duration_s=1 2>&1", code=1)
        self.assertRegex(said, "sluice-sched: --host=sched_ext: no permission .*: run as root")

    def check_policy(self, policy):
        self.work(ROUNDS)
        self.schedule(f"--process=$work --policy={policy}")
        self.check_work(ROUNDS)
        figures = self.end()
        print(f"{policy}: {figures}", flush=True)
        self.assertGreater(figures["enforced"], 10)

    def check_other_choices(self):
        """Does not enforce; and chooses the processes of a compilation by their cgroup, or by name."""
        self.work(ROUNDS)
        self.schedule("--process=$work --dry_run --policy=fifo_central", decides=False)
        self.check_work(ROUNDS)
        self.sh("kill $sched; wait $sched")
        self.assertRegex(self.sh("cat /tmp/sched"),
                         r"dry run: CPU [01]: thread \d+ \(threads_work\): valid\n")
        self.assertRegex(self.sh("tail -n 1 /tmp/sched"), "enforced 0,.* given up 0")

        self.sh("mkdir /tmp/cgroups && mount -t cgroup2 none /tmp/cgroups && mkdir /tmp/cgroups/own")
        self.sh("for i in 1 2 3; do echo \"int f$i(int a) { return a + $i; }\" >/tmp/f$i.c; done")
        self.guest.send("sh -c 'echo $$ >/tmp/cgroups/own/cgroup.procs; kill -STOP $$; cd /tmp; "
                        "for i in 1 2 3; do cc -O2 -c f$i.c & done; wait; ar rc f.a f1.o f2.o f3.o; "
                        "echo functions: $(nm f.a | grep -c \" T f[123]\")' >/tmp/sum 2>&1 & work=$!\n")
        self.schedule("--cgroup=/tmp/cgroups/own --thread_name=none --policy=fair_share")
        self.assertIn("functions: 3", self.sh("wait $work; cat /tmp/sum"))
        figures = self.end()
        print(f"compilation: {figures}", flush=True)

    def check_killed(self):
        self.work(8 * ROUNDS)
        self.schedule("--process=$work --policy=shinjuku")
        self.sh("kill -9 $sched; wait $sched", code=137)
        self.sh(f"until grep -q disabled {STATE}; do sleep 0.1; done")
        self.check_work(8 * ROUNDS)

    def check_stopped(self):
        self.work(8 * ROUNDS)
        self.schedule("--process=$work --policy=fifo_central")
        for _ in range(TIMES):
            self.sh("kill -STOP $sched; sleep 0.5; kill -CONT $sched; sleep 0.5")
        self.check_work(8 * ROUNDS)
        figures = self.end()
        print(f"stopped: {figures}", flush=True)
        self.assertGreaterEqual(figures["given up"], 1)
        self.assertGreater(figures["without an agent"], 0)

    def check_faults_of_the_agent(self):
        for fault in ("kill", "freeze"):
            self.work(4 * ROUNDS * 2)
            self.schedule(f"--process=$work --policy=fifo_per_cpu --agent_fault={fault}@2")
            self.check_work(8 * ROUNDS)
            print(f"agent {fault}: {self.end()}", flush=True)


if __name__ == "__main__":
    del sys.argv[1:]
    guests.need_packages(newest_kernel=True)
    unittest.main()
