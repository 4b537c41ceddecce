#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""embed_program.py SOURCE OUTPUT DEPFILE [COMPILER ARGUMENT...]

Compiles SOURCE for BPF and writes OUTPUT, a C++ file that defines the object file as
sluice::sched_ext::kThreadsProgram. Without a compiler it is empty, and a message is printed."""

import pathlib
import subprocess
import sys
import tempfile

ROW = 24  # Bytes of one line.


def compile_program(source, output, depfile, compiler):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program.o"
        command = [*compiler, "-c", source, "-o", str(program), "-MD", "-MF", depfile,
                   "-MT", output]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode == 0:
            return program.read_bytes()
        if "unknown target" in done.stderr or "No available targets" in done.stderr:
            return b""
        sys.exit(done.stderr)


def main():
    source, output, depfile, *compiler = sys.argv[1:]
    program = compile_program(source, output, depfile, compiler) if compiler else b""
    if not program:
        print(f"{source}: no clang that compiles for BPF: --host=sched_ext is unavailable")
        pathlib.Path(depfile).write_text("", encoding="ascii")
    rows = [",".join(map(str, program[i:i + ROW])) for i in range(0, len(program), ROW)] or ["0"]
    content = ",\n".join(rows)
    pathlib.Path(output).write_text(
        "#include <span>\n"
        "namespace sluice::sched_ext {\n"
        f"alignas(8) static const unsigned char kBytes[] = {{\n{content}}};\n"
        "extern const std::span<const unsigned char> kThreadsProgram;\n"
        f"const std::span<const unsigned char> kThreadsProgram(kBytes, {len(program)});\n"
        "}  // namespace sluice::sched_ext\n", encoding="ascii")


if __name__ == "__main__":
    main()
