/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program outside the tree, in C: echoes frames between two native pipes of net_enso.
 * install_test.py builds it with only `pkg-config sluice` and runs it.
 */
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_pmd_enso.h>

#include <stdio.h>

#define PACKETS 10000
#define DEADLINE_S 20

int main(int argc, char **argv)
{
	struct rte_pmd_enso_nb *nb;
	struct rte_pmd_enso_pipe *pipe;
	struct rte_pmd_enso_span span;
	uint64_t bytes = 0;
	uint64_t deadline;

	if (rte_eal_init(argc, argv) < 0 || !rte_pmd_enso_supported(0))
		return 1;
	if (rte_pmd_enso_nb_open(0, &nb) != 0 ||
	    rte_pmd_enso_pipe_open(nb, RTE_PMD_ENSO_RXTX, RTE_PMD_ENSO_FALLBACK, &pipe) != 0 ||
	    rte_eth_dev_set_link_up(0) != 0) /* Enables the wire. */
		return 1;
	deadline = rte_get_tsc_cycles() + DEADLINE_S * rte_get_tsc_hz();
	while (bytes < (uint64_t)PACKETS * RTE_PMD_ENSO_FLIT_BYTES &&
	       rte_get_tsc_cycles() < deadline) {
		if (rte_pmd_enso_poll(nb, &span, 1, 0) == 0)
			continue;
		while (rte_pmd_enso_send(pipe, span.data, span.bytes, span.bytes) != 0 &&
		       rte_get_tsc_cycles() < deadline)
			rte_pmd_enso_flush(nb);
		rte_pmd_enso_flush(nb);
		bytes += span.bytes;
	}
	rte_pmd_enso_pipe_close(pipe);
	rte_pmd_enso_nb_close(nb);
	printf("%llu bytes\n", (unsigned long long)bytes);
	rte_eal_cleanup();
	return bytes >= (uint64_t)PACKETS * RTE_PMD_ENSO_FLIT_BYTES ? 0 : 1;
}
