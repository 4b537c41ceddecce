#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes spin check the model that is generated from the rows of the coherent protocol: no assertion
can fail in the protocol, and one does in each mutation. promela_test.py GENERATOR TEMPLATE"""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "exhaustive"))
import spin

MUTATIONS = ["reply_not_taken", "ready_not_cleared", "ready_seen_before_busy_is_set"]

if __name__ == "__main__":
    sys.exit(spin.judge(*sys.argv[1:3], [("as specified", [], False)] +
                        [(mutation, [mutation], True) for mutation in MUTATIONS]))
