// SPDX-License-Identifier: BSD-3-Clause
//
// Handoffs between workers: one inbox per worker, and one ring of free handoffs, all rte_rings.
#pragma once

#include <rte_ring.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/kv/handoff.h"

namespace sluice::kv {

/// All handoffs and rings of the workers; create it after EAL has started. Throws std::bad_alloc.
class HandoffRings {
 public:
  /// Handoffs per worker: two bursts.
  static constexpr uint32_t kHandoffsPerWorker = 128;

  explicit HandoffRings(uint32_t workers);

 private:
  friend class RingHandoffQueue;
  struct FreeRing {
    void operator()(rte_ring* ring) const { rte_ring_free(ring); }
  };
  using Ring = std::unique_ptr<rte_ring, FreeRing>;

  std::vector<engine::kv::Handoff> entries_;
  Ring free_;
  std::vector<Ring> inboxes_;  ///< Indexed by worker. Every ring has room for all handoffs.
};

/// The queue of one worker; satisfies engine::kv::HandoffQueue.
class RingHandoffQueue {
 public:
  /// `handoffs` must outlive the queue.
  RingHandoffQueue(HandoffRings& handoffs, uint32_t worker)
      : handoffs_(&handoffs), worker_(worker) {}

  engine::kv::Handoff* Allocate() { return Dequeue(handoffs_->free_.get()); }
  engine::kv::Handoff* Receive() { return Dequeue(handoffs_->inboxes_[worker_].get()); }
  void Send(uint32_t worker, engine::kv::Handoff* handoff) {
    rte_ring_enqueue(handoffs_->inboxes_[worker].get(), handoff);
  }
  void Free(engine::kv::Handoff* handoff) { rte_ring_enqueue(handoffs_->free_.get(), handoff); }

 private:
  static engine::kv::Handoff* Dequeue(rte_ring* ring) {
    void* handoff = nullptr;
    return rte_ring_dequeue(ring, &handoff) == 0 ? static_cast<engine::kv::Handoff*>(handoff)
                                                 : nullptr;
  }

  HandoffRings* handoffs_;
  uint32_t worker_;
};

}  // namespace sluice::kv
