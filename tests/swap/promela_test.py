#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes spin check the models that are generated from the protocol's rows: no assertion can fail in
the safe variants, and one does in each unsafe one. promela_test.py GENERATOR TEMPLATE
GROUP_TEMPLATE"""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "exhaustive"))
import spin

# Variant, mutation, and whether an assertion must fail.
CASES = [
    ("2", "", False),
    ("4", "", False),
    ("2", "initiator_rolls_back", True),
    ("4", "responder_rolls_back", True),
    ("2", "record_zeroed", True),
]
GROUP_CASES = [
    ("group", "", False),
    ("group", "initiator_rolls_back", True),
    ("group", "cancel_after_commit", True),
    ("group", "late_record", True),
]


def judge(generator, template, cases):
    return spin.judge(generator, template, [
        (f"{variant if variant == 'group' else variant + ' messages'} {mutation or 'as specified'}",
         [variant] + [mutation] * bool(mutation), broken) for variant, mutation, broken in cases])


if __name__ == "__main__":
    results = [judge(*sys.argv[1:3], CASES), judge(sys.argv[1], sys.argv[3], GROUP_CASES)]
    sys.exit(max(results))
