/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sluice's engines as nodes of rte_graph: sluice_kv, sluice_logmon, sluice_maglev, sluice_neighbor
 * and sluice_telemetry, one for each kind of sluice/engines.h, and clones of them. A program makes
 * an engine, gives it to a node, and creates graphs with the node in them; docs/library.md says
 * how, examples/graph_forward.c is a whole program.
 *
 * A node takes mbufs with Ethernet frames, and sends each along the edge of its ending. Frames that
 * leave have their length, beginning and packet type of layer 3 in the mbuf.
 */
#ifndef RTE_NODE_SLUICE_H
#define RTE_NODE_SLUICE_H

#include <sluice/engines.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/** Edges of each node. rte_node_edge_update() leads them elsewhere. */
enum rte_node_sluice_next {
  RTE_NODE_SLUICE_NEXT_FORWARD, /**< Frames that the engine forwards or sends: "pkt_cls". */
  RTE_NODE_SLUICE_NEXT_PASS,    /**< Frames that are not for it: "pkt_cls". */
  RTE_NODE_SLUICE_NEXT_DROP,    /**< Frames that it drops: "pkt_drop". Others it frees itself. */
  RTE_NODE_SLUICE_NEXT_MAX      /**< Number of edges. */
};

/**
 * Gives a node its engine. Each graph with the node takes one of the engine's workers, from 0 on,
 * while it exists; rte_graph_create() fails where there is none left. The engine outlives these
 * graphs, works in no other node, and is taken away before it is destroyed. Ticks of its clock are
 * TSC cycles: rte_get_tsc_hz() a second. Control path, one thread.
 *
 * A node does nothing while no frame comes: an epoch of "telemetry" ends with the first frame after
 * it. That is why "kv" may have one worker only: another one could wait for it for ever.
 *
 * @param name    "sluice_maglev", or a clone, "sluice_maglev-v6".
 * @param engine  Of the node's kind; NULL takes the engine away.
 * @return 0; -EINVAL: there is no such node, or the engine is of another kind; -EBUSY: a graph has
 *         the node; -EEXIST: another node has the engine, whose workers are handed out by node;
 *         -ENOTSUP: a key-value store with several workers.
 */
int rte_node_sluice_engine_set(const char* name, struct sluice_engine* engine);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* RTE_NODE_SLUICE_H */
