/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sluice's engines as rte_graph nodes: sluice_kv, sluice_logmon, sluice_maglev, sluice_neighbor
 * and sluice_telemetry, one for each kind of sluice/engines.h, and clones of them. A program
 * creates an engine, assigns it to a node, and creates graphs that contain the node.
 * docs/library.md describes this; examples/graph_forward.c is a complete program.
 *
 * A node receives mbufs with Ethernet frames, and enqueues each to the edge for its verdict. The
 * node sets length, data offset and layer 3 packet type in the mbufs of frames that the engine
 * changed or originated.
 */
#ifndef RTE_NODE_SLUICE_H
#define RTE_NODE_SLUICE_H

#include <sluice/engines.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/** Edges of each node. rte_node_edge_update() can redirect them. */
enum rte_node_sluice_next {
  RTE_NODE_SLUICE_NEXT_FORWARD, /**< Frames that the engine forwards or sends: "pkt_cls". */
  RTE_NODE_SLUICE_NEXT_PASS,    /**< Frames that are not for the engine: "pkt_cls". */
  /** Frames that the engine drops: "pkt_drop". The node frees consumed frames. */
  RTE_NODE_SLUICE_NEXT_DROP,
  RTE_NODE_SLUICE_NEXT_MAX /**< Number of edges. */
};

/**
 * Assigns an engine to a node. Each graph that contains the node uses one of the engine's workers
 * while the graph exists, starting with worker 0; rte_graph_create() fails if no worker is free.
 * The engine must outlive these graphs, must not be assigned to another node, and must be removed
 * with NULL before it is destroyed. Its clock ticks are TSC cycles: rte_get_tsc_hz() per second.
 * Control path, one thread.
 *
 * A node does nothing while no frames arrive: an epoch of "telemetry" ends with the first frame
 * after its end. For the same reason "kv" may have only one worker: a worker could wait forever for
 * another one.
 *
 * @param name    "sluice_maglev", or a clone, "sluice_maglev-v6".
 * @param engine  An engine of the node's kind; NULL removes the engine.
 * @return 0 on success. -EINVAL: there is no such node, or its kind is not the engine's. -EBUSY: a
 *         graph contains the node. -EEXIST: another node has the engine; workers are assigned per
 *         node. -ENOTSUP: a key-value store with several workers.
 */
int rte_node_sluice_engine_set(const char* name, struct sluice_engine* engine);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* RTE_NODE_SLUICE_H */
