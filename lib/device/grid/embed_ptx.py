#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""embed_ptx.py NAME SOURCE OUTPUT DEPFILE [COMPILER ARGUMENT...]

Compiles SOURCE to PTX and writes OUTPUT, a C++ file that defines the text as
sluice::emulator::NAME, an array of characters. If there is no compiler or it cannot compile PTX,
the text is empty and a message is printed."""

import pathlib
import subprocess
import sys
import tempfile

PIECE = 8000  # Characters of one string literal.


def compile_ptx(source, depfile, output, compiler):
    if not compiler:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        ptx = pathlib.Path(folder) / "kernel.ptx"
        command = compiler + [source, "-o", str(ptx), "-MD", "-MF", depfile, "-MT", output]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode == 0:
            return ptx.read_text(encoding="ascii")
        if "unknown target" in done.stderr or "No available targets" in done.stderr:
            return ""
        sys.exit(done.stderr)


def main():
    name, source, output, depfile, *compiler = sys.argv[1:]
    text = compile_ptx(source, depfile, output, compiler)
    if not text:
        print(f"{source}: no clang that compiles PTX: the model does not run on GPUs")
        pathlib.Path(depfile).write_text("", encoding="ascii")
    pieces = [text[i:i + PIECE] for i in range(0, len(text), PIECE)] or [""]
    literals = "\n".join(f'R"ptx({piece})ptx"' for piece in pieces)
    pathlib.Path(output).write_text(
        "namespace sluice::emulator {\n"
        f"extern const char {name}[];\n"
        f"const char {name}[] =\n{literals};\n"
        "}  // namespace sluice::emulator\n", encoding="ascii")


if __name__ == "__main__":
    main()
