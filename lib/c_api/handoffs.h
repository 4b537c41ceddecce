// SPDX-License-Identifier: BSD-3-Clause
//
// Handoffs of requests between the workers of a key-value store, which may be any threads: an inbox
// per worker and one free list, each with a lock. If requests are steered to the right worker, no
// handoffs are needed.
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

  /// Appends a handoff. The capacity suffices for all handoffs of the engine.
  void Put(Handoff* handoff);
  /// Removes and returns the oldest handoff, or returns null if the list is empty, which costs only
  /// a load.
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

/// The access of one worker to the handoffs; implements engine::kv::HandoffQueue. `handoffs` must
/// outlive it.
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
