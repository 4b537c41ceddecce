#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""record_trace.py <output>: records the page accesses of a real program, for sluice-tiering-run.

An SQLite database is queried under valgrind (lackey, which reports every load and store): keys
follow Zipf's law, a tenth of them is updated, and the page cache holds the whole database. Every
access is reduced to its page; consecutive accesses to one page are one record. Pages are numbered
by their addresses, without the holes between them.

The file consists of little-endian words: a magic number and the number of pages, then page and
times."""
import argparse
import array
import random
import shutil
import subprocess
import sys
import tempfile

MAGIC = 0x65636172
ROW_BYTES = 400


def database(path, rows, lookups, seed):
    """Creates a database of rows, and of the keys in the order of the queries, so that the run
    itself is deterministic."""
    # Samples Zipf's law with exponent 0.99 by inverting the cumulative weights; IDs have random
    # ranks.
    rng = random.Random(seed)
    weights = [1 / rank**0.99 for rank in range(1, rows + 1)]
    ids = list(range(1, rows + 1))
    rng.shuffle(ids)
    keys = rng.choices(ids, weights=weights, k=lookups)
    script = ["PRAGMA journal_mode=OFF; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);",
              "CREATE TABLE k(i INTEGER PRIMARY KEY, key INTEGER); BEGIN;"]
    script += [f"INSERT INTO t VALUES({i}, '{rng.randbytes(ROW_BYTES // 2).hex()}');"
               for i in range(1, rows + 1)]
    script += [f"INSERT INTO k VALUES({i}, {key});" for i, key in enumerate(keys)]
    script += ["COMMIT;"]
    subprocess.run(["sqlite3", path], input="\n".join(script), text=True, check=True)


def trace(path):
    """Yields the page of every load and store."""
    queries = ["PRAGMA cache_size=-65536; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;",
               "SELECT sum(length(v)) FROM k CROSS JOIN t ON t.id = k.key;",
               "UPDATE t SET v = upper(v) WHERE id IN (SELECT key FROM k WHERE i % 10 = 0);"]
    with subprocess.Popen(
            ["valgrind", "--tool=lackey", "--trace-mem=yes", "--log-fd=1", "sqlite3", path,
             "\n".join(queries)], stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            # Accesses are " L 1ffeffe7e0,8", " S ..." or " M ..."; instructions are "I  ...".
            if line[0] == 0x20 and line[1] in b"LSM":
                yield line[3:line.index(b",") - 3]
    if process.returncode != 0:
        sys.exit(f"valgrind ended with {process.returncode}")


def reduce(pages):
    """Returns (names of pages in the order of their first access, accesses as pairs of words)."""
    number, out, last, times = {}, array.array("I"), None, 0
    for page in pages:
        if page == last:
            times += 1
            continue
        if last is not None:
            out.extend((number.setdefault(last, len(number)), times))
        last, times = page, 1
    if last is not None:
        out.extend((number.setdefault(last, len(number)), times))
    return list(number), out


def write(path, names, accesses):
    order = sorted(range(len(names)), key=lambda i: int(names[i] or b"0", 16))
    place = array.array("I", bytes(4 * len(names)))
    for new, old in enumerate(order):
        place[old] = new
    for i in range(0, len(accesses), 2):
        accesses[i] = place[accesses[i]]
    words = array.array("I", (MAGIC, len(names))) + accesses
    if sys.byteorder == "big":
        words.byteswap()
    with open(path, "wb") as file:
        words.tofile(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--lookups", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for program in ("sqlite3", "valgrind"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is not installed: run scripts/setup")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/database"
        database(path, options.rows, options.lookups, options.seed)
        names, accesses = reduce(trace(path))
    write(options.output, names, accesses)
    total = sum(accesses[1::2])
    print(f"{total} accesses, {len(accesses) // 2} records, {len(names)} pages")


if __name__ == "__main__":
    main()
