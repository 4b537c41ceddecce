// SPDX-License-Identifier: BSD-3-Clause
//
// Hands requests over between the workers of a key-value store, which may be any threads. Each
// worker has an inbox; all share one free list. Each list has a lock. If requests are steered to
// the right worker, no handoffs are needed.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/kv/handoff.h"

namespace sluice::c_api {

/// A list of handoffs. May be used by any thread.
class HandoffList {
 public:
  using Handoff = engine::kv::Handoff;

  explicit HandoffList(size_t room) { handoffs_.reserve(room); }

  /// Appends a handoff. The list has room for all handoffs of the engine.
  void Put(Handoff* handoff);
  /// Removes and returns the oldest handoff. Returns null if the list is empty; that check is a
  /// single load.
  Handoff* Dequeue();

 private:
  std::atomic<size_t> size_{0};
  std::mutex mutex_;
  size_t first_ = 0;
  std::vector<Handoff*> handoffs_;
};

/// All handoffs of an engine.
class Handoffs {
 public:
  explicit Handoffs(uint32_t workers);

 private:
  friend class HandoffsOfWorker;
  /// Handoffs per worker: two bursts.
  static constexpr uint32_t kPerWorker = 128;

  std::vector<engine::kv::Handoff> entries_;
  std::deque<HandoffList> inboxes_;  ///< One per worker.
  HandoffList free_;
};

/// One worker's access to the handoffs; implements engine::kv::HandoffQueue. `handoffs` must
/// outlive this object.
class HandoffsOfWorker {
 public:
  HandoffsOfWorker(Handoffs& handoffs, uint32_t worker) : handoffs_(&handoffs), worker_(worker) {}

  engine::kv::Handoff* Allocate() { return handoffs_->free_.Dequeue(); }
  engine::kv::Handoff* Receive() { return handoffs_->inboxes_[worker_].Dequeue(); }
  void Send(uint32_t worker, engine::kv::Handoff* handoff) {
    handoffs_->inboxes_[worker].Put(handoff);
  }
  void Free(engine::kv::Handoff* handoff) { handoffs_->free_.Put(handoff); }

 private:
  Handoffs* handoffs_;
  uint32_t worker_;
};
static_assert(engine::kv::HandoffQueue<HandoffsOfWorker>);

}  // namespace sluice::c_api
