#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ptx_test.py EMBED_PTX CXX GENERATED…: checks the code that a GPU executes as text, and the script
that embeds it into the build. GENERATED are files that EMBED_PTX wrote."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

EMBED, CXX, *GENERATED = sys.argv[1:]
EMBED = os.path.realpath(EMBED)
PIECE = re.compile(r'R"ptx\((.*?)\)ptx"', re.DOTALL)
# The oldest GPU that the text supports, from its .target line.
ARCH = "sm_80"


def embedded(path):
    return "".join(PIECE.findall(pathlib.Path(path).read_text(encoding="ascii")))


# --- PTX as blocks of instructions ---------------------------------------------------------------

class Function:
    """The basic blocks of a function, with their successors."""

    def __init__(self, body):
        self.blocks = [[]]
        labels = {}
        for line in body.splitlines():
            line = line.split("//")[0].strip()
            label = re.fullmatch(r"(\$?[\w$]+):", line)
            if label:
                if self.blocks[-1]:
                    self.blocks.append([])
                labels[label[1]] = len(self.blocks) - 1
            elif line and not line.startswith("."):
                self.blocks[-1].append(line)
                if re.match(r"(@!?%\w+ )?(bra|ret|exit)", line):
                    self.blocks.append([])
        self.next = []
        for at, block in enumerate(self.blocks):
            last = block[-1] if block else ""
            branch = re.match(r"(@!?%\w+ )?bra(\.uni)?\s+(\S+);", last)
            targets = {labels[branch[3]]} if branch else set()
            if not re.match(r"(bra|ret|exit)", last) and at + 1 < len(self.blocks):
                targets.add(at + 1)
            self.next.append(targets)
        self.definitions = {}
        for block in self.blocks:
            for line in block:
                for written in self.written(line):
                    self.definitions.setdefault(written, []).append(line)

    @staticmethod
    def written(line):
        """Returns the registers that an instruction writes: its first operand."""
        operands = re.sub(r"^@!?%\w+ ", "", line).partition("\t" if "\t" in line else " ")[2]
        if re.match(r"(@!?%\w+ )?(st|bra|bar|membar|ret)\b", line):
            return []
        first = re.match(r"\s*(\{[^}]*\}|[^,;]*)", operands)[1]
        return re.findall(r"%[a-z]+\d+", first)

    @classmethod
    def read(cls, line):
        names = re.findall(r"%[a-z]+\d+", line)
        for name in cls.written(line):
            names.remove(name)
        return names

    def reachable(self, begins, stops=lambda at: False, within=None):
        """Returns the blocks reachable from `begins`, excluding paths through blocks where `stops`
        holds."""
        seen, left = set(), list(begins)
        while left:
            at = left.pop()
            if at in seen or (within is not None and at not in within):
                continue
            seen.add(at)
            if not stops(at):
                left.extend(self.next[at])
        return seen

    def loops(self):
        """Returns the blocks of each natural loop, by its header."""
        found = {}
        previous = [set() for _ in self.blocks]
        for at, targets in enumerate(self.next):
            for target in targets:
                previous[target].add(at)
        dominators = self.dominators(previous)
        for at, targets in enumerate(self.next):
            for header in targets:
                if header not in dominators[at]:
                    continue
                body, left = {header}, [at]
                while left:
                    block = left.pop()
                    if block not in body:
                        body.add(block)
                        left.extend(previous[block])
                found.setdefault(header, set()).update(body)
        return found

    def dominators(self, previous):
        everything = set(range(len(self.blocks)))
        live = self.reachable([0])
        sets = [everything if at else {0} for at in range(len(self.blocks))]
        changed = True
        while changed:
            changed = False
            for at in sorted(live - {0}):
                before = [sets[p] for p in previous[at] if p in live]
                new = set.intersection(*before) | {at}
                if new != sets[at]:
                    sets[at], changed = new, True
        return sets

    def in_card(self, address, seen=()):
        """Returns whether the address is in the GPU's structure or in shared memory: derived from
        the kernel's parameter and offsets, not from a loaded pointer."""
        if not address.startswith("%rd"):
            return True  # A variable in shared memory.
        for line in self.definitions.get(address, []):
            if line.startswith("ld.param"):
                return True
            kept = re.match(r"ld\.local\.u64\s+\S+, (\[[^\]]+\])", line)
            if kept and address not in seen and self.all_stored_in_card(kept[1], (*seen, address)):
                return True
            if re.match(r"(add|sub|mov|cvta)\b", line) and address not in seen and any(
                    self.in_card(name, (*seen, address)) for name in self.read(line)
                    if name.startswith("%rd")):
                return True
        return False

    def all_stored_in_card(self, place, seen):
        """Returns whether every pointer that is stored at this place of the stack is in_card."""
        stored = [re.findall(r"%rd\d+", line.rsplit("]", 1)[1]) for block in self.blocks
                  for line in block if line.startswith("st.local") and place in line]
        return bool(stored) and all(
            len(names) == 1 and self.in_card(names[0], seen) for names in stored)


def functions(text):
    return [Function(body) for body in re.findall(r"^\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)]


def roles(text):
    """Returns the functions that run the turns of the blocks of each role, by their role."""
    found = re.findall(r"^\.func \w+RunTurns\w*?\d([A-Za-z]+Role)E(\d+)E\w*\([^;{]*?\)\s*"
                       r"\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)
    return {kind + number: Function(body) for kind, number, body in found}


SCALAR = re.compile(
    r"ld\.(?:volatile|acquire\.gpu)(\.global)?\.[us](8|16|32|64)\s+(%\w+), \[([^\]+]+)")
FRAMES = "st.volatile.global.v2.u64"
FENCE = re.compile(r"(membar|fence\.\w+)\.sys")
EXCHANGE = re.compile(r"atom\.(\w+\.)*exch")
PUBLISH = re.compile(r"st\.relaxed\.sys\.global\.v2\.u64")
DATA = re.compile(r"ld\.volatile\.global\.v2\.u64")
ACQUIRE = re.compile(r"ld\.acquire\.(sys|gpu)")


def polls(function):
    """Returns the instructions of loops that wait for single words outside the GPU's memory."""
    found = []
    for header, body in function.loops().items():
        lines = [line for at in body for line in function.blocks[at]]
        # A phase of a block writes, and ends with a barrier.
        if any(re.match(r"(@!?%\w+ )?(st|bar|red)\b", line) for line in lines):
            continue
        for line in lines:
            load = SCALAR.match(line)
            if load is None or function.in_card(load[4]):
                continue
            depends, grows = {load[3]}, True
            while grows:
                grows = False
                for other in lines:
                    if set(function.read(other)) & depends:
                        new = set(function.written(other)) - depends
                        grows |= bool(new)
                        depends |= new
            leaves = any(
                re.match(r"@!?(%p\d+)", function.blocks[at][-1])
                and re.match(r"@!?(%p\d+)", function.blocks[at][-1])[1] in depends
                and not function.next[at] <= body for at in body if function.blocks[at])
            if leaves:
                found.append(f"block {header}: {line}")
    return found


def passes(function):
    """Returns a function that returns the blocks that are reachable from others within one pass of
    the outermost loop that contains them, and of the loop that begins at block `header`."""
    loops = function.loops()
    # Loops that are not inside another loop.
    turns = {header for header, body in loops.items()
             if not any(body < other for other in loops.values())}

    def behind(begins, header=None):
        ends = turns | {header}
        return function.reachable(begins, lambda at: at in ends) - ends

    return behind


def unfenced(function, announcement=EXCHANGE):
    """Returns exchanges of a pipe's status, or other announcements, that a pass of the innermost
    loop that contains both may reach from a copy of frames without a fence after that copy. A fence
    that each thread executes in a loop counts, even if the loop could be skipped."""
    behind = passes(function)
    loops = sorted(function.loops().items(), key=lambda loop: len(loop[1]))

    def has(at, what):
        return any(what.match(line) for line in function.blocks[at])

    announcements = {at for at in range(len(function.blocks)) if has(at, announcement)}
    found = []
    for at, block in enumerate(function.blocks):
        if not any(line.startswith(FRAMES) for line in block):
            continue
        headers = {}  # Maps the header of the innermost common loop to the announcements in that
                      # loop.
        for other in announcements:
            header = next((header for header, body in loops if {at, other} <= body), None)
            headers.setdefault(header, set()).add(other)
        for header, others in headers.items():
            after = behind(function.next[at], header)
            fenced = behind([fence for fence in after | {at} if has(fence, FENCE)], header)
            found += [f"block {at} to {other}" for other in others & (after - fenced)]
    return found


def unacquired(function):
    """Returns loads of data that no pass reaches after an acquiring load. Only such a load, by the
    thread that polls, and a barrier order the data after the word that announced it."""
    behind = passes(function)
    lines = [(at, place, line) for at, block in enumerate(function.blocks)
             for place, line in enumerate(block)]
    acquires = [(at, place) for at, place, line in lines if ACQUIRE.match(line)]
    after = behind({target for at, _ in acquires for target in function.next[at]})
    return [f"block {at}: {line}" for at, place, line in lines
            if DATA.match(line) and at not in after
            and not any(at == block and before < place for block, before in acquires)]


SPIN = """
.visible .entry f(.param .u64 card)
{
	ld.param.u64 	%rd1, [card];
	ld.u64 	%rd2, [%rd1+8];
	add.s64 	%rd3, %rd1, 64;
$L1:
	ld.volatile.u32 	%r1, [ADDRESS];
	setp.eq.s32 	%p1, %r1, 0;
	@%p1 bra 	$L1;
	ret;
}
"""
COPY = """
.visible .entry f(.param .u64 card)
{
	ld.param.u64 	%rd1, [card];
$L1:
	st.volatile.global.v2.u64 [%rd2], {%rd3,%rd4};
	@%p1 bra 	$L1;
FENCE
	bar.sync 	0;
	@%p2 bra 	$L2;
	atom.exch.b32 	%r1, [%rd1+8], 1;
$L2:
	ld.volatile.u32 	%r2, [%rd1];
	setp.eq.s32 	%p3, %r2, 0;
	@%p3 bra 	$L0;
	ret;
$L0:
	bra.uni 	$L1;
}
"""
POLL = """
.visible .entry f(.param .u64 card)
{
$L1:
	@%p1 bra 	$L2;
	ld.FLAG.global.v2.u64 {%rd1,%rd2}, [%rd3];
$L2:
	bar.sync 	0;
	ld.volatile.global.v2.u64 {%rd4,%rd5}, [%rd6];
	ld.volatile.u32 	%r2, [%rd7];
	setp.eq.s32 	%p3, %r2, 0;
	@%p3 bra 	$L1;
	ret;
}
"""


class TheReader(unittest.TestCase):
    def test_a_poll_is_found_where_the_address_was_loaded(self):
        self.assertTrue(polls(*functions(SPIN.replace("ADDRESS", "%rd2+4"))))
        self.assertFalse(polls(*functions(SPIN.replace("ADDRESS", "%rd3"))))

    def test_a_pointer_on_the_stack_is_that_which_was_stored_there(self):
        load = "ld.local.u64 \t%rd4, [%rd9+8];"
        spin = SPIN.replace("$L1:", f"STORE\n\t{load}\n$L1:", 1).replace("ADDRESS", "%rd4")
        for register, found in (("%rd3", False), ("%rd2", True)):
            text = spin.replace("STORE", f"\tst.local.u64 \t[%rd9+8], {register};")
            self.assertEqual(bool(polls(*functions(text))), found)

    def test_a_missing_fence_is_found(self):
        self.assertTrue(unfenced(*functions(COPY.replace("FENCE\n", ""))))
        self.assertFalse(unfenced(*functions(COPY.replace("FENCE", "\tmembar.sys;"))))

    def test_a_missing_fence_before_a_published_word_is_found(self):
        text = COPY.replace("atom.exch.b32 \t%r1, [%rd1+8], 1;",
                            "st.relaxed.sys.global.v2.u64 [%rd5], {%rd3,%rd4};")
        self.assertTrue(unfenced(*functions(text.replace("FENCE\n", "")), PUBLISH))
        self.assertFalse(unfenced(*functions(text.replace("FENCE", "\tmembar.sys;")), PUBLISH))

    def test_a_poll_that_does_not_acquire_is_found(self):
        for flag, missing in (("volatile", 2), ("relaxed.sys", 1), ("acquire.sys", 0)):
            text = POLL.replace("FLAG", flag)
            self.assertEqual(len(unacquired(*functions(text))), missing, flag)


class Text(unittest.TestCase):
    def setUp(self):
        self.texts = {path: embedded(path) for path in GENERATED}
        if not all(self.texts.values()):
            self.skipTest("the build has no PTX: there was no clang for it")

    def test_it_is_for_the_least_card(self):
        for text in self.texts.values():
            self.assertRegex(text, rf"(?m)^\.target {ARCH}$")
            self.assertRegex(text, r"\.visible \.entry sluice_\w+\(")

    def test_no_loop_waits_for_a_single_word_of_host_memory(self):
        for text in self.texts.values():
            self.assertEqual([poll for f in functions(text) for poll in polls(f)], [])

    def test_frames_are_fenced_from_their_notification(self):
        for text in self.texts.values():
            kernels = [f for f in functions(text) if any(
                line.startswith(FRAMES) for block in f.blocks for line in block)]
            self.assertTrue(kernels)
            self.assertTrue(any(EXCHANGE.match(line) for f in kernels for block in f.blocks
                                for line in block) or "enso" not in text)
            self.assertEqual([path for f in kernels for path in unfenced(f)], [])

    def test_frames_are_fenced_from_the_words_that_announce_them(self):
        for text in self.texts.values():
            found = {role: unfenced(function, PUBLISH) for role, function in roles(text).items()}
            self.assertEqual({role: paths for role, paths in found.items() if paths}, {})

    def test_data_is_loaded_after_a_poll_that_acquires(self):
        for text in self.texts.values():
            found = {role: unacquired(function) for role, function in roles(text).items()}
            self.assertEqual({role: loads for role, loads in found.items() if loads}, {})

    def test_every_poll_acquires(self):
        """The least number of places that acquire. With sys: registers poll entries, their head,
        the control line and the samples; senders poll rings; exchange blocks poll words twice, and
        a line twice. With gpu: the last place of a receiver loads a tail, and one of a reader."""
        lines = {role: [line for block in function.blocks for line in block]
                 for text in self.texts.values() for role, function in roles(text).items()}
        for role, scope, places in (("EnsoRole0", "sys", 4), ("EnsoRole2", "gpu", 5),
                                    ("IpuRole0", "sys", 4), ("IpuRole1", "gpu", 5),
                                    ("IpuRole2", "sys", 1), ("IpuRole3", "sys", 4)):
            found = sum(line.startswith(f"ld.acquire.{scope}") for line in lines[role])
            self.assertGreaterEqual(found, places, (role, scope))

    def test_it_assembles(self):
        ptxas = shutil.which("ptxas", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
        if ptxas is None:
            self.skipTest("there is no ptxas")
        for text in self.texts.values():
            with tempfile.NamedTemporaryFile("w", suffix=".ptx", encoding="ascii") as file:
                file.write(text)
                file.flush()
                done = subprocess.run([ptxas, f"-arch={ARCH}", "-O1", file.name, "-o", "/dev/null"],
                                      capture_output=True, text=True, timeout=240, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


# --- the script ----------------------------------------------------------------------------------

class Embedding(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def embed(self, *compiler):
        return subprocess.run(
            [EMBED, "kPtx", "kernel.cu", "out.cc", "out.d", *compiler], cwd=self.folder,
            capture_output=True, text=True, timeout=60, check=False)

    def compiler(self, script):
        path = self.folder / "compiler"
        path.write_text("#!/bin/sh\n" + script, encoding="ascii")
        path.chmod(0o755)
        return str(path)

    def check_output(self, text):
        self.assertEqual(embedded(self.folder / "out.cc"), text)
        self.assertTrue((self.folder / "out.d").exists())
        done = subprocess.run([CXX, "-std=c++20", "-fsyntax-only", "out.cc"], cwd=self.folder,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_without_a_compiler_the_text_is_empty_and_a_line_says_so(self):
        done = self.embed()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertIn("does not run on GPUs", done.stdout)
        self.check_output("")

    def test_a_compiler_that_knows_no_ptx_is_none(self):
        for said in ("error: unknown target CPU 'sm_80'", "error: unable to create target: "
                     "'No available targets are compatible with triple'"):
            with self.subTest(said=said):
                done = self.embed(self.compiler(f'echo "{said}" >&2\nexit 1\n'))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("does not run on GPUs", done.stdout)
                self.check_output("")

    def test_an_error_in_the_code_ends_the_build(self):
        done = self.embed(self.compiler('echo "kernel.cu:1: error: no such type" >&2\nexit 1\n'))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no such type", done.stderr)

    def test_a_long_text_is_embedded_whole(self):
        text = "".join(f"// {i}: \\ \" ) \n" for i in range(5000))
        (self.folder / "text").write_text(text, encoding="ascii")
        done = self.embed(self.compiler(
            'while [ "$1" != -o ]; do shift; done\ncp text "$2"\ntouch out.d\n'))
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.check_output(text)


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main(verbosity=2)
