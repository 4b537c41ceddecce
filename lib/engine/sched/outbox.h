// SPDX-License-Identifier: BSD-3-Clause
//
// Queue of a host's messages to its agent. Used by one thread at a time. However, while one message
// is being sent, other fibres may add messages or drop all of them.
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
    kWaiting,    ///< Contains unsent messages.
    kBeingSent,  ///< A sender is active.
  };
  enum class Pace : uint8_t {
    kAtOnce,
    /// A discovery is in progress: messages are sent only while the channel has room.
    kAsRoomAllows,
  };
  /// A message to send. `asker` is the CPU that requests a decision with the message, or kNobody.
  struct Outgoing {
    Message message;
    CpuId asker;
  };

  /// `most` is the maximum number of messages stored for an agent that does not read them.
  explicit Outbox(size_t most) : most_(most) { items_.reserve(most); }

  /// Moves the kernel's messages to the outbox; the last message requests a decision for `asker`.
  /// If there is no agent, the messages are dropped, because a new agent receives a discovery.
  void Collect(Kernel& kernel, CpuId asker);
  /// Marks the messages that are collected next as a discovery: they are sent with kAsRoomAllows.
  void BeginDiscovery() { pace_ = Pace::kAsRoomAllows; }
  /// Drops all messages.
  void Forget();

  State state() const {
    if (being_sent_) return State::kBeingSent;
    return sent_ == items_.size() ? State::kEmpty : State::kWaiting;
  }
  Pace pace() const { return pace_; }

  /// Changes kWaiting to kBeingSent. Returns true if the limit is exceeded. In this case, messages
  /// are sent immediately. If the channel rejects one, that message and all later ones are dropped,
  /// and the agent must restart.
  bool BeginSending();
  bool HasNext() const { return sent_ < items_.size(); }
  /// Returns a copy, because other fibres may add messages while this one is sent.
  Outgoing PopNext() { return items_[sent_++]; }
  void DropRest() { sent_ = items_.size(); }
  /// Frees the sent messages if they are more than half of the stored ones. Once all messages are
  /// sent, any discovery in progress is over.
  void ForgetSent();
  void EndSending() { being_sent_ = false; }

 private:
  size_t most_;
  std::vector<Outgoing> items_;  ///< Unsent from index `sent_` on.
  size_t sent_ = 0;
  Pace pace_ = Pace::kAtOnce;
  bool being_sent_ = false;
};

}  // namespace sluice::engine::sched
