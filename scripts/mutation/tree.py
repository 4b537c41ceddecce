# SPDX-License-Identifier: BSD-3-Clause
"""A copy of the tree that is mutated and built, so that an interrupted run or a concurrent edit
does not harm the tree."""
import hashlib
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutation"
TREE = WORK / "tree"
MUTATED = ("lib", "drivers")


def names():
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=False,
                             capture_output=True, text=True)
    if listing.returncode == 0:
        return [name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]
    return [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")  # The tree is an unpacked archive.
            if p.is_file() and p.relative_to(ROOT).parts[0] not in ("build", ".git")]


def sync():
    """Makes the copy; returns a digest of the files that affect verdicts. Identical files are not
    touched, so that little is rebuilt."""
    digest = hashlib.sha256()
    wanted = sorted(names())
    for name in wanted:
        content = (ROOT / name).read_bytes()
        if not name.endswith(".md") and not name.startswith("scripts/"):
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        copy = TREE / name
        if not copy.is_file() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy)
            shutil.copymode(ROOT / name, copy)
    keep = {TREE / name for name in wanted}
    for path in TREE.rglob("*"):
        if path.relative_to(TREE).parts[0] != "build" and path.is_file() and path not in keep:
            path.unlink()
    (TREE / "build").mkdir(exist_ok=True)
    if not (TREE / "build" / "deps").exists():
        (TREE / "build" / "deps").symlink_to(ROOT / "build" / "deps")  # scripts/setup's downloads.
    return digest.hexdigest()


def sources():
    """Returns {path: text} of the files that can be mutated."""
    paths = [p for top in MUTATED for p in sorted((TREE / top).rglob("*"))
             if p.suffix in (".h", ".cc")]
    return {str(p.relative_to(TREE)): p.read_text(encoding="utf-8") for p in paths}


def folder(preset):
    return TREE / "build" / preset


def build(preset, targets, keep=True):
    """Returns whether the targets (paths in the preset's folder) compile, and the compiler's
    output. With `keep`, the compiler's cache stores the objects."""
    environment = os.environ | ({} if keep else {"CCACHE_READONLY": "1"})
    done = subprocess.run([TREE / "scripts" / "build", preset, *targets], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return done.returncode == 0, done.stdout
