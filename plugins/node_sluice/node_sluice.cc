// SPDX-License-Identifier: BSD-3-Clause
//
// One rte_graph node per kind of engine. A node receives mbufs and has one edge per verdict. It
// allocates memory only when a graph is created, and for frames that the engine originates.
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_graph.h>
#include <rte_graph_worker.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "node_sluice/bindings.h"
#include "node_sluice/rte_node_sluice.h"
#include "sluice/engines.h"

RTE_LOG_REGISTER(node_sluice_log_type, node.sluice, NOTICE);

namespace sluice::node {
namespace {

constexpr uint16_t kBurst = RTE_GRAPH_BURST_SIZE;

/// State of a node in a graph, owned by Bindings.
struct State {
  sluice_worker* worker = nullptr;
  std::array<rte_mbuf*, kBurst> mbufs{};
  std::array<sluice_frame, kBurst> frames{};
  uint64_t unsent = 0;  ///< Originated frames that were lost for lack of an mbuf.
};
static_assert(sizeof(State*) <= RTE_NODE_CTX_SZ);

State* StateOf(const rte_node* node) {
  State* state = nullptr;
  std::memcpy(&state, node->ctx, sizeof(state));
  return state;
}

void SetState(rte_node* node, State* state) { std::memcpy(node->ctx, &state, sizeof(state)); }

/// Sets the layer 3 type of the frame, which subsequent nodes use.
void SetPacketType(rte_mbuf* mbuf) {
  const auto* const ethernet = rte_pktmbuf_mtod(mbuf, const rte_ether_hdr*);
  mbuf->packet_type = RTE_PTYPE_L2_ETHER;
  if (ethernet->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
    mbuf->packet_type |= RTE_PTYPE_L3_IPV4_EXT_UNKNOWN;
  } else if (ethernet->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6)) {
    mbuf->packet_type |= RTE_PTYPE_L3_IPV6_EXT_UNKNOWN;
  }
}

/// Copies a frame from the engine's memory. Returns false if the mbuf is too small.
bool Fill(rte_mbuf* mbuf, const sluice_frame& frame) {
  if (frame.length > mbuf->buf_len) return false;
  const uint32_t rest = mbuf->buf_len - frame.length;
  mbuf->data_off = static_cast<uint16_t>(std::min<uint32_t>(RTE_PKTMBUF_HEADROOM, rest));
  std::memcpy(rte_pktmbuf_mtod(mbuf, void*), frame.data, frame.length);
  return true;
}

/// Copies the engine's changes of the frame to the mbuf. Returns false if the mbuf is too small.
bool Update(rte_mbuf* mbuf, const sluice_frame& frame) {
  const uint8_t* const was = rte_pktmbuf_mtod(mbuf, const uint8_t*);
  if (frame.data == was && frame.length == mbuf->pkt_len) return true;
  if (frame.moved != 0) {
    if (!Fill(mbuf, frame)) return false;
  } else {
    mbuf->data_off = static_cast<uint16_t>(frame.data - static_cast<uint8_t*>(mbuf->buf_addr));
  }
  mbuf->pkt_len = frame.length;
  mbuf->data_len = static_cast<uint16_t>(frame.length);
  // The NIC's checksum and hash results apply to the old headers.
  mbuf->ol_flags &=
      ~(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_RX_RSS_HASH);
  SetPacketType(mbuf);
  return true;
}

void SendOwn(rte_graph* graph, rte_node* node, State& state, rte_mempool* pool) {
  uint32_t count = 0;
  const sluice_frame* const sent = sluice_worker_sent(state.worker, &count);
  for (uint32_t i = 0; i < count; ++i) {
    rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool);
    if (mbuf == nullptr) {
      state.unsent += count - i;
      return;
    }
    uint16_t edge = RTE_NODE_SLUICE_NEXT_DROP;
    if (Fill(mbuf, sent[i])) {
      mbuf->pkt_len = sent[i].length;
      mbuf->data_len = static_cast<uint16_t>(sent[i].length);
      SetPacketType(mbuf);
      edge = RTE_NODE_SLUICE_NEXT_FORWARD;
    }
    rte_node_enqueue_x1(graph, node, edge, mbuf);
  }
}

/// Returns the edge for the verdict. Frees the mbuf of a consumed frame, which has no edge.
uint16_t EdgeOf(rte_mbuf* mbuf, const sluice_frame& frame) {
  switch (frame.verdict) {
    case SLUICE_CONSUME:
      rte_pktmbuf_free(mbuf);
      return RTE_NODE_SLUICE_NEXT_MAX;
    case SLUICE_DROP:
      return RTE_NODE_SLUICE_NEXT_DROP;
    default:
      break;
  }
  if (!Update(mbuf, frame)) return RTE_NODE_SLUICE_NEXT_DROP;
  return frame.verdict == SLUICE_PASS ? RTE_NODE_SLUICE_NEXT_PASS : RTE_NODE_SLUICE_NEXT_FORWARD;
}

void Work(rte_graph* graph, rte_node* node, State& state, rte_mbuf** mbufs, uint16_t count) {
  uint32_t frames = 0;
  for (uint16_t i = 0; i < count; ++i) {
    rte_mbuf* const mbuf = mbufs[i];
    if (mbuf->nb_segs != 1 && rte_pktmbuf_linearize(mbuf) != 0) {
      rte_node_enqueue_x1(graph, node, RTE_NODE_SLUICE_NEXT_DROP, mbuf);
      continue;
    }
    state.mbufs[frames] = mbuf;
    state.frames[frames++] = {rte_pktmbuf_mtod(mbuf, uint8_t*),
                              mbuf->pkt_len,
                              rte_pktmbuf_headroom(mbuf),
                              rte_pktmbuf_tailroom(mbuf),
                              0,
                              0,
                              0,
                              0};
  }
  if (frames == 0) return;
  rte_mempool* const pool = state.mbufs[0]->pool;
  sluice_worker_process(state.worker, state.frames.data(), frames, rte_rdtsc());
  for (uint32_t i = 0; i < frames; ++i) {
    const uint16_t edge = EdgeOf(state.mbufs[i], state.frames[i]);
    if (edge == RTE_NODE_SLUICE_NEXT_MAX) continue;
    rte_node_enqueue_x1(graph, node, edge, state.mbufs[i]);
  }
  SendOwn(graph, node, state, pool);
}

uint16_t Process(rte_graph* graph, rte_node* node, void** objects, uint16_t count) {
  State& state = *StateOf(node);
  auto** const mbufs = reinterpret_cast<rte_mbuf**>(objects);
  for (uint16_t done = 0; done < count; done = static_cast<uint16_t>(done + kBurst)) {
    const auto part = std::min<uint16_t>(kBurst, static_cast<uint16_t>(count - done));
    Work(graph, node, state, mbufs + done, part);
    if (count - done <= kBurst) break;
  }
  return count;
}

/// Returns a state with a worker, or without one if no worker is free; null if memory is
/// insufficient.
std::shared_ptr<State> MakeState(const rte_graph* graph, const rte_node* node) try {
  auto state = std::make_shared<State>();
  state->worker = Bindings::Get().AssignWorker(node->name, graph->name, state);
  return state;
} catch (const std::bad_alloc&) {
  return nullptr;
}

int Init(const rte_graph* graph, rte_node* node) {
  const std::shared_ptr<State> state = MakeState(graph, node);
  if (state == nullptr) return -ENOMEM;
  if (state->worker == nullptr) {
    rte_log(RTE_LOG_ERR, static_cast<uint32_t>(node_sluice_log_type),
            "node_sluice: graph %s, node %s: the node has no engine, or the engine has no free "
            "worker: call rte_node_sluice_engine_set first\n",
            graph->name, node->name);
    return -ENOENT;
  }
  SetState(node, state.get());
  return 0;
}

void Fini(const rte_graph* graph, rte_node* node) {
  State* const state = StateOf(node);
  if (state == nullptr) return;
  if (state->unsent != 0) {
    rte_log(RTE_LOG_NOTICE, static_cast<uint32_t>(node_sluice_log_type),
            "node_sluice: graph %s, node %s: %" PRIu64
            " frames of the engine were dropped for lack of mbufs\n",
            graph->name, node->name, state->unsent);
  }
  SetState(node, nullptr);
  Bindings::Get().Return(node->name, state->worker);
}

/// A registration, followed by the names of its edges.
struct Registration {
  static constexpr size_t kBytes =
      sizeof(rte_node_register) + RTE_NODE_SLUICE_NEXT_MAX * sizeof(const char*);
  alignas(rte_node_register) std::array<uint8_t, kBytes> bytes{};
};

void Register(const std::string& name) {
  Registration memory;
  auto* const node = new (memory.bytes.data()) rte_node_register;
  std::memset(memory.bytes.data(), 0, memory.bytes.size());
  name.copy(node->name, sizeof(node->name) - 1);
  node->process = Process;
  node->init = Init;
  node->fini = Fini;
  node->parent_id = RTE_NODE_ID_INVALID;
  node->nb_edges = RTE_NODE_SLUICE_NEXT_MAX;
  node->next_nodes[RTE_NODE_SLUICE_NEXT_FORWARD] = "pkt_cls";
  node->next_nodes[RTE_NODE_SLUICE_NEXT_PASS] = "pkt_cls";
  node->next_nodes[RTE_NODE_SLUICE_NEXT_DROP] = "pkt_drop";
  __rte_node_register(node);  // __rte_node_register copies the registration.
}

RTE_INIT(node_sluice_register) {
  for (const char* const* kind = sluice_engine_kinds(); *kind != nullptr; ++kind) {
    Register(std::string(kPrefix) + *kind);
  }
}

}  // namespace
}  // namespace sluice::node
