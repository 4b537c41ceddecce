# SPDX-License-Identifier: BSD-3-Clause
"""Makes one HTML page of all measurements, or compares two runs.

Without files, the page shows all of build/measured, the output folder of scripts/throughput and
scripts/paper_tables. Two files of the same kind are compared: the page shows changes beyond noise.
docs/report.md explains the page.
"""
import argparse
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts/bench"))
import inputs
import page
import rows
from inputs import BadInput

MEASURED = "build/measured"
PAGE = "build/report.html"
COMPARISON = "build/comparison.html"
MAX_PAGE_BYTES = 3_000_000


def measured_files():
    """Returns the files of earlier runs in a stable order."""
    return sorted(map(str, (ROOT / MEASURED).glob("*.json")))


def read_all(paths):
    """Returns the data of each kind, in the order of the files."""
    found = {}
    for path in paths:
        kind, data = inputs.read(path)
        found.setdefault(kind, []).append(data)
        if len(found[kind]) > 2:
            raise BadInput(f"{path}: a third file of {kind}: give one, or an old and a new one")
    return found


def make(paths):
    """Returns the page of some files, its default path, and lines for the terminal."""
    found = read_all(paths)
    try:
        for run in found.get(inputs.THROUGHPUT, []):
            run["rows"] = rows.rebuilt(run["rows"], run["manifest"]["hugepages"])
        if all(len(data) == 1 for data in found.values()):
            return page.page({kind: data[0] for kind, data in found.items()}), PAGE, []
        pairs = {kind: data for kind, data in found.items() if len(data) == 2}
        if len(pairs) != len(found) or not pairs.keys() <= {inputs.THROUGHPUT, inputs.GROWTH}:
            raise BadInput("only runs of scripts/throughput are compared: give an old and a new "
                           "file, and no others")
        made, said = page.comparison_page(pairs)
        return made, COMPARISON, said
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        raise BadInput(f"{', '.join(paths)}: not in the format of scripts/throughput: "
                       f"{type(error).__name__}: {error}") from error


def write_page(paths, place):
    """`paths` are arguments; the page is written atomically."""
    made, usual, said = make(paths)
    size = len(made.encode())
    if size > MAX_PAGE_BYTES:
        raise BadInput(f"the page would have {size} bytes, more than {MAX_PAGE_BYTES}: give fewer "
                       "files")
    place = place or str(ROOT / usual)
    os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
    new = pathlib.Path(f"{place}.{os.getpid()}.new")
    try:
        new.write_text(made, encoding="utf-8")
        new.replace(place)
    finally:
        new.unlink(missing_ok=True)
    return place, said


def page_after(run, place):
    """Writes the page of the file of a run that has just ended, and of earlier files of other
    kinds. Returns its path."""
    kind, _ = inputs.read(run)
    others = [path for path in measured_files()
              if not os.path.samefile(path, run) and inputs.read(path)[0] != kind]
    return write_page([run, *others], place)[0]


def printable(said):
    """Removes control characters, so that a terminal prints one line of text."""
    return "".join(letter if letter.isprintable() else "?" for letter in said)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        """Prints one line instead of argparse's several."""
        self.exit(2, printable(f"{self.prog}: {message}: --help lists the flags") + "\n")


def main():
    parser = Parser(prog="report", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE.json",
                        help=f"default: all of {MEASURED}; two of a kind are compared, old first")
    parser.add_argument("--page", metavar="FILE.html",
                        help=f"default: {PAGE}, of two runs {COMPARISON}")
    args = parser.parse_args()
    files = args.files or measured_files()
    if not files:
        print(f"report: nothing in {MEASURED}: run scripts/throughput first, or give files",
              file=sys.stderr)
        return 1  # The arguments are valid, so do not exit with 2.
    try:
        place, said = write_page(files, args.page)
    except BadInput as error:
        print(printable(f"report: {error}"), file=sys.stderr)
        return 2
    except OSError as error:
        where = f"--page={args.page}" if args.page else error.filename
        print(printable(f"report: {where}: {error.strerror}"), file=sys.stderr)
        return 2 if args.page else 1
    print("\n".join(map(printable, [*said, f"written: {place}"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
