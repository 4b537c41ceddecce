// SPDX-License-Identifier: BSD-3-Clause
//
// What a host has to tell its agent, in order. One thread at a time; but while one item is sent,
// others may be added, or all of it forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/sched/abi.h"
#include "engine/sched/kernel.h"

namespace sluice::engine::sched {

class Outbox {
 public:
  static constexpr CpuId kNobody = kMaxCpus;

  enum class State : uint8_t {
    kEmpty,
    kWaiting,    ///< Somebody is to send it.
    kBeingSent,  ///< Somebody does.
  };
  enum class Pace : uint8_t {
    kAtOnce,
    kAsRoomAllows,  ///< A discovery is under way: no faster than the channel has room.
  };
  /// `asker` is the CPU that wants a decision with the message, or kNobody.
  struct Outgoing {
    Message message;
    CpuId asker;
  };

  /// More than `most` are never kept for an agent that does not listen.
  explicit Outbox(size_t most) : most_(most) { items_.reserve(most); }

  /// Takes the kernel's messages over; the last one asks for a decision for `asker`. If there is
  /// no agent they are void: a new one is told everything anyway.
  void Collect(Kernel& kernel, CpuId asker);
  /// The messages that are collected next are a discovery: told kAsRoomAllows, up to the last.
  void BeginDiscovery() { pace_ = Pace::kAsRoomAllows; }
  /// Forgets everything.
  void Forget();

  State state() const {
    if (being_sent_) return State::kBeingSent;
    return sent_ == items_.size() ? State::kEmpty : State::kWaiting;
  }
  Pace pace() const { return pace_; }

  /// From kWaiting to kBeingSent. True: there is too much. Then it goes as fast as it can, and
  /// what the channel does not take is void, with all that follows: the agent starts again.
  bool BeginSending();
  bool HasNext() const { return sent_ < items_.size(); }
  /// By value: while it is sent, others may add.
  Outgoing TakeNext() { return items_[sent_++]; }
  void DropRest() { sent_ = items_.size(); }
  /// What was sent is forgotten; with the last of it the discovery is over.
  void ForgetSent();
  void EndSending() { being_sent_ = false; }

 private:
  size_t most_;
  std::vector<Outgoing> items_;  ///< From `sent_` on not sent yet.
  size_t sent_ = 0;
  Pace pace_ = Pace::kAtOnce;
  bool being_sent_ = false;
};

}  // namespace sluice::engine::sched
