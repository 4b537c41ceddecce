/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program outside the tree, in C: echoes frames in place on a link of regions of
 * net_ipu. install_test.py builds it with only `pkg-config sluice` and runs it.
 */
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_pmd_ipu.h>

#include <stdio.h>

#define PACKETS 10000
#define DEADLINE_S 20

int main(int argc, char **argv)
{
	struct rte_pmd_ipu_link *link;
	struct rte_pmd_ipu_region region;
	struct rte_pmd_ipu_link_stats stats;
	uint64_t packets = 0;
	uint64_t deadline;

	if (rte_eal_init(argc, argv) < 0 || !rte_pmd_ipu_supported(0))
		return 1;
	if (rte_pmd_ipu_link_open(0, 0, NULL, &link) != 0 ||
	    rte_eth_dev_set_link_up(0) != 0) /* Enables the wire. */
		return 1;
	deadline = rte_get_tsc_cycles() + DEADLINE_S * rte_get_tsc_hz();
	if (!rte_pmd_ipu_link_region(link, &region))
		return 1;
	rte_pmd_ipu_link_give(link, 0, true);
	while (packets < PACKETS && rte_get_tsc_cycles() < deadline) {
		if (!rte_pmd_ipu_link_poll(link, rte_get_tsc_cycles(), &region))
			continue;
		packets += region.received;
		rte_pmd_ipu_link_give(link, region.received, false);
	}
	rte_pmd_ipu_link_stats_get(link, &stats);
	printf("%lu packets in %lu swaps\n", (unsigned long)packets, (unsigned long)stats.swaps);
	rte_pmd_ipu_link_close(link);
	rte_eal_cleanup();
	return packets >= PACKETS ? 0 : 1;
}
