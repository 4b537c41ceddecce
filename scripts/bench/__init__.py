# SPDX-License-Identifier: BSD-3-Clause
"""Parts of scripts/throughput: run (processes), rows (judgement), output (table, files), plot."""
