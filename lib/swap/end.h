// SPDX-License-Identifier: BSD-3-Clause
//
// Common part of both ends of a link: the end's state, its line, and the identities of both ends.
// It is copyable and has no virtual functions, because tests explore the ends by copying them.
#pragma once

#include <cstdint>

#include "swap/identity.h"
#include "swap/message.h"
#include "swap/table.h"

namespace sluice::swap {

class End {
 public:
  /// line() returns this end's line. ConsumeUpdate() returns whether the line has changed since the
  /// last call.
  const Message& line() const { return own_; }
  bool ConsumeUpdate() {
    const bool publish = publish_;
    publish_ = false;
    return publish;
  }

  State state() const { return state_; }
  uint32_t txid() const { return own_.txid; }
  bool suspect() const { return suspect_; }
  bool faulted() const { return state_ == State::kFaulted; }
  const Identity& identity() const { return self_; }

 protected:
  End(const Machine& machine, uint16_t epoch, uint32_t incarnation)
      : machine_(&machine), self_{epoch, incarnation, 0} {
    Publish(Phase::kSync);
  }

  /// Sets the line to `phase` with the current epoch, incarnations and binding, and marks it for
  /// posting.
  void Publish(Phase phase) {
    own_.epoch = self_.epoch;
    own_.incarnation = self_.incarnation;
    own_.peer_incarnation = self_.peer;
    own_.binding = self_.binding;
    own_.phase = phase;
    // A line without a known peer is posted only in kSync. In other states, the peer is unknown
    // only if the end was resumed from a line that an earlier process had stored only in part
    // (message.h). In that case, the line is posted once the peer's incarnation is known.
    publish_ = self_.peer != 0 || phase == Phase::kSync;
  }
  /// Restores this end from its line in memory that has survived.
  void Recall(const Message& own, State state) {
    own_ = own;
    self_.peer = own.peer_incarnation;
    self_.binding = own.binding;
    state_ = state;
  }

  const Machine* machine_;
  Identity self_;
  Message own_;
  State state_ = State::kSync;
  bool suspect_ = false;
  bool publish_ = false;
};

}  // namespace sluice::swap
