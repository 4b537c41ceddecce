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


SCALAR = re.compile(
    r"ld\.(?:volatile|acquire\.gpu)(\.global)?\.[us](8|16|32|64)\s+(%\w+), \[([^\]+]+)")
FRAMES = "st.volatile.global.v2.u64"
FENCE = re.compile(r"(membar|fence\.\w+)\.sys")
EXCHANGE = re.compile(r"atom\.(\w+\.)*exch")


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


def unfenced(function):
    """Returns exchanges of a pipe's status that a pass may reach from a copy of frames without a
    fence after that copy. A fence that each thread executes in a loop counts, even if the loop
    could be skipped."""
    loops = function.loops()
    # The start of the next pass: loops that are not nested.
    turns = {header for header, body in loops.items()
             if not any(body < other for other in loops.values())}

    def behind(begins):
        return function.reachable(begins, lambda at: at in turns) - turns

    def has(at, what):
        return any(what.match(line) for line in function.blocks[at])

    found = []
    for at, block in enumerate(function.blocks):
        if not any(line.startswith(FRAMES) for line in block):
            continue
        after = behind(function.next[at])
        fenced = behind([fence for fence in after | {at} if has(fence, FENCE)])
        found += [f"block {at} to {other}" for other in after - fenced if has(other, EXCHANGE)]
    return found


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
