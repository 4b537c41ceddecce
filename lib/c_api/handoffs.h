// SPDX-License-Identifier: BSD-3-Clause
//
// Handoffs between the workers of a key-value store, wherever their threads come from: an inbox for
// each, and one list of free ones, behind locks. Threads that are steered to hand nothing over.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/kv/handoff.h"

namespace sluice::c_api {

/// Any thread.
class HandoffList {
 public:
  using Handoff = engine::kv::Handoff;

  explicit HandoffList(size_t room) { handoffs_.reserve(room); }

  /// There is room: all handoffs fit.
  void Put(Handoff* handoff);
  /// The oldest; null: it is empty. Costs a load then.
  Handoff* Take();

 private:
  std::atomic<size_t> size_{0};
  std::mutex mutex_;
  size_t first_ = 0;
  std::vector<Handoff*> handoffs_;
};

/// All of an engine.
class Handoffs {
 public:
  explicit Handoffs(uint32_t workers);

 private:
  friend class HandoffsOfWorker;
  /// Handoffs for each worker: two bursts.
  static constexpr uint32_t kPerWorker = 128;

  std::vector<engine::kv::Handoff> entries_;
  std::deque<HandoffList> inboxes_;  ///< By worker.
  HandoffList free_;
};

/// One worker's: an engine::kv::HandoffQueue. `handoffs` outlives it.
class HandoffsOfWorker {
 public:
  HandoffsOfWorker(Handoffs& handoffs, uint32_t worker) : handoffs_(&handoffs), worker_(worker) {}

  engine::kv::Handoff* Allocate() { return handoffs_->free_.Take(); }
  engine::kv::Handoff* Receive() { return handoffs_->inboxes_[worker_].Take(); }
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
