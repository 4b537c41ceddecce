/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A router like DPDK's l3fwd-graph, with two of Sluice's engines before its lookup:
 *
 *     ethdev_rx-0-0 -> sluice_telemetry -> sluice_maglev -> pkt_cls -> ip4_lookup -> ip4_rewrite
 *                                                                                -> ethdev_tx-0
 *
 * Telemetry counts every frame by flow. Maglev encapsulates frames for VIPs in packets for backends.
 * All IPv4 packets are forwarded to a single next hop.
 *
 *     cc graph_forward.c -o graph_forward $(pkg-config --cflags --libs sluice-graph)
 *     ./graph_forward --no-huge -m 512 --no-pci --vdev=net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap \
 *         -- CONFIG.json FRAMES
 *
 * It ends after FRAMES frames or on a signal, and prints the counts of telemetry.
 */
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_graph.h>
#include <rte_graph_worker.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_node_eth_api.h>
#include <rte_node_ip4_api.h>
#include <rte_node_sluice.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT 0
#define NEXT_HOP 0
#define WALKS 256 /* Between two reads of counters, which need a lock. */

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static void check(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "graph_forward: %s\n", what);
	exit(1);
}

static struct rte_mempool *open_port(void)
{
	struct rte_mempool *const pool = rte_pktmbuf_pool_create(
		"frames", 8191, 256, RTE_CACHE_LINE_SIZE, /* DPDK's nodes store a line per mbuf. */
		RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_eth_conf configuration;

	memset(&configuration, 0, sizeof(configuration));
	check(pool != NULL, "no memory for mbufs");
	check(rte_eth_dev_configure(PORT, 1, 1, &configuration) == 0 &&
		      rte_eth_rx_queue_setup(PORT, 0, 512, SOCKET_ID_ANY, NULL, pool) == 0 &&
		      rte_eth_tx_queue_setup(PORT, 0, 512, SOCKET_ID_ANY, NULL) == 0,
	      "port 0 cannot be set up: give a device, as --vdev");
	return pool;
}

static struct sluice_engine *give_engine(const char *node, const char *kind, const char *path)
{
	struct sluice_options options = {.size = sizeof(options),
					 .ticks_per_second = rte_get_tsc_hz(),
					 .now = rte_rdtsc()};
	struct sluice_engine *engine;
	char error[256];

	engine = path != NULL ? sluice_engine_open(kind, path, &options, error, sizeof(error))
			      : sluice_engine_create(kind, "{}", 2, &options, error, sizeof(error));
	check(engine != NULL, error);
	check(rte_node_sluice_engine_set(node, engine) == 0, "the node does not accept its engine");
	return engine;
}

/* Redirects the edge of `node` to `from` to the node `to`. */
static void lead(const char *node, const char *from, const char *to)
{
	const rte_node_t id = rte_node_from_name(node);
	const rte_edge_t edges = rte_node_edge_count(id);
	char **const names = calloc(edges, sizeof(*names));

	check(names != NULL && rte_node_edge_get(id, names) == edges,
	      "a node's edges cannot be read");
	for (rte_edge_t i = 0; i < edges; i++)
		if (strcmp(names[i], from) == 0)
			rte_node_edge_update(id, i, &to, 1);
	free(names);
}

/* Adds a default route with the next hop 02:00:00:00:00:99. */
static void add_routes(void)
{
	static const struct rte_ether_addr router = {{2, 0, 0, 0, 0, 0x99}};
	struct rte_ether_hdr header;

	header.dst_addr = router;
	check(rte_eth_macaddr_get(PORT, &header.src_addr) == 0, "port 0 has no address");
	header.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	check(rte_node_ip4_rewrite_add(NEXT_HOP, (uint8_t *)&header, sizeof(header), PORT) == 0,
	      "the next hop cannot be added");
	for (uint32_t half = 0; half < 2; half++)
		check(rte_node_ip4_route_add(half << 31, 1, NEXT_HOP,
					     RTE_NODE_IP4_LOOKUP_NEXT_REWRITE) == 0,
		      "the route cannot be added");
}

static struct rte_graph *make_graph(struct rte_mempool *pool)
{
	static const char *nodes[] = {"ethdev_rx-0-0", "sluice_telemetry", "sluice_maglev",
				      "pkt_cls",       "ip4_lookup",       "ip4_rewrite",
				      "ethdev_tx-0",   "pkt_drop"};
	static const char *balancer = "sluice_maglev";
	/* ip4_lookup has a routing table per socket, and none for SOCKET_ID_ANY. */
	struct rte_graph_param parameters = {.socket_id = (int)rte_socket_id(),
					     .nb_node_patterns = RTE_DIM(nodes),
					     .node_patterns = nodes};
	struct rte_node_ethdev_config ports = {
		.port_id = PORT, .num_rx_queues = 1, .num_tx_queues = 1, .mp = &pool, .mp_count = 1};

	check(rte_node_eth_config(&ports, 1, 1) == 0, "DPDK's nodes do not accept the port");
	lead("ethdev_rx-0-0", "pkt_cls", "sluice_telemetry");
	rte_node_edge_update(rte_node_from_name("sluice_telemetry"), RTE_NODE_SLUICE_NEXT_FORWARD,
			     &balancer, 1);
	check(rte_graph_create("router", &parameters) != RTE_GRAPH_ID_INVALID,
	      "the graph cannot be created");
	add_routes();
	return rte_graph_lookup("router");
}

/* Returns the counter "frames", which is the first one. */
static uint64_t frames_of(const struct sluice_engine *engine)
{
	struct sluice_counter frames;

	return sluice_engine_counters(engine, &frames, 1) > 0 ? frames.value : 0;
}

int main(int argc, char **argv)
{
	struct sluice_engine *telemetry, *maglev;
	struct rte_graph *graph;
	struct rte_mempool *pool;
	uint64_t frames;
	char *report;
	int eal = rte_eal_init(argc, argv);

	check(eal >= 0, "EAL failed to start");
	check(argc - eal == 3, "specify CONFIG.json FRAMES after --");
	frames = strtoull(argv[eal + 2], NULL, 10);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	pool = open_port();
	telemetry = give_engine("sluice_telemetry", "telemetry", NULL);
	maglev = give_engine("sluice_maglev", "maglev", argv[eal + 1]);
	graph = make_graph(pool);
	check(rte_eth_dev_start(PORT) == 0, "port 0 failed to start");

	while (!stopped && frames_of(telemetry) < frames)
		for (int i = 0; i < WALKS; i++)
			rte_graph_walk(graph);

	rte_eth_dev_stop(PORT);
	sluice_engine_finish(telemetry, rte_rdtsc());
	while ((report = sluice_engine_report(telemetry)) != NULL) {
		printf("%s\n", report);
		sluice_text_free(report);
	}
	report = sluice_engine_report(maglev);
	printf("%s\n", report != NULL ? report : "{}");
	sluice_text_free(report);
	rte_graph_destroy(graph->id);
	rte_eth_dev_close(PORT);
	rte_node_sluice_engine_set("sluice_maglev", NULL);
	rte_node_sluice_engine_set("sluice_telemetry", NULL);
	sluice_engine_destroy(maglev);
	sluice_engine_destroy(telemetry);
	rte_eal_cleanup();
	return 0;
}
