// SPDX-License-Identifier: BSD-3-Clause
//
// The NIC's end of an endpoint on a card: coherent::NicEnd, with the same table, for one thread of
// a block. The caller polls the host's words and passes them in; this end only stores to host
// memory.
#pragma once

#include <cstdint>

#include "device/grid/endpoint_state.h"
#include "device/grid/ipu_card.h"

namespace sluice::device::grid {

/// A line that the host has returned and that must be read.
struct EndpointTake {
  uint64_t number;  ///< Load of the line.
  uint32_t taken;   ///< 0: no line was returned.
  uint32_t orphan;  ///< 1: the line was delivered before the endpoint was opened.
  uint32_t bytes;   ///< Payload bytes and frames that the card had written.
  uint32_t frames;
};

class EndpointEnd {
 public:
  EndpointEnd(IpuCard& card, EndpointState& state) : card_(card), state_(state) {}

  /// Handles the polled words {load, busy} of a pair. Returns false if the host has violated the
  /// protocol; the endpoint is then closed.
  bool Look(coherent::Pair pair, uint64_t load, bool inside, uint64_t now_ns, EndpointTake* take) {
    EndpointPair& line = state_.pair(pair);
    if (load != line.number && line.state != coherent::State::kClosed) {
      if (!SeeLoad(pair, load, now_ns, take)) return false;
    }
    return LookAtClock(pair, inside, now_ns);
  }

  /// Delivers the written frames if a load is pending. All threads must have executed a fence after
  /// writing the frames.
  void Answer() {
    using namespace coherent;
    if (state_.count == 0 || Move(Pair::kReceive, Input::kDeliver) != Action::kAnswerContent) {
      return;
    }
    state_.pair(Pair::kReceive).lent = true;
    state_.lent_frames = state_.count;
    state_.lent_bytes = state_.written;
    Publish(Pair::kReceive, {.length = state_.written,
                             .count = static_cast<uint8_t>(state_.count),
                             .kind = Kind::kFrames});
    state_.count = state_.written = state_.full = 0;
    card_.Count(regs::ipu::kStatLineAnswers);
  }

  /// Grants a line to a pending load of the transmit pair.
  void Grant() {
    using namespace coherent;
    if (!state_.Waits(Pair::kTransmit)) return;
    if (Move(Pair::kTransmit, Input::kDeliver) != Action::kAnswerContent) return;
    state_.pair(Pair::kTransmit).lent = true;
    Publish(Pair::kTransmit, {.kind = Kind::kGrant});
  }

  /// Closes the endpoint unless it is already closed.
  void Kill() {
    using namespace coherent;
    if (Move(Pair::kReceive, Input::kKill) == Action::kClose) Close();
  }

  /// Continues from the lines in memory, like the constructor of coherent::NicEnd. Reads host
  /// memory.
  void Recover(uint64_t now_ns) {
    using namespace coherent;
    const uint64_t ready = LoadQuad(state_.Ready()).low;
    for (const Pair pair : {Pair::kReceive, Pair::kTransmit}) {
      EndpointPair& line = state_.pair(pair);
      line.number = LoadQuad(state_.Words(pair)).low;
      line.since_ns = now_ns;
      line.lent = false;
      const coherent::Control control =
          coherent::Control::Of(LoadQuad(state_.Line(pair, line.number)).low);
      const bool asked = ready == kBarred && pair == Pair::kReceive;
      if (line.number != 0 && control.number != static_cast<uint32_t>(line.number)) {
        line.state = State::kLoading;
      } else if (line.number != 0 && (IsContent(control.kind) || IsReturn(control.kind))) {
        line.state = asked ? State::kAskedLent : State::kLent;
      } else {
        line.state = asked ? State::kAskedAway : State::kAway;
      }
      if (ready != kReady && ready != kBarred) line.state = State::kClosed;
      if (asked && line.state == State::kLoading) {
        Move(pair, Input::kPreempt);
        Publish(pair, {.kind = Kind::kYieldNow});
      }
    }
    state_.asked_ns = now_ns;
  }

 private:
  /// Time that a host has to leave (coherent::NicOptions).
  static constexpr uint64_t kLeaveNs = 10'000'000;

  coherent::Action Move(coherent::Pair pair, coherent::Input input) {
    EndpointPair& line = state_.pair(pair);
    const coherent::Transition transition = coherent::kMachine.Find(line.state, input);
    line.state = transition.next;
    return transition.action;
  }

  /// Handles a load that differs from the last one.
  bool SeeLoad(coherent::Pair pair, uint64_t load, uint64_t now_ns, EndpointTake* take) {
    using namespace coherent;
    EndpointPair& line = state_.pair(pair);
    const Action action = Move(pair, load == line.number + 1 ? Input::kLoad : Input::kGap);
    if (action == Action::kFault) return Fault();
    if (action == Action::kIgnore) return true;
    if (action == Action::kTake || action == Action::kTakeYield) {
      *take = {line.number, 1, line.lent ? 0u : 1u, 0, 0};
      line.lent = false;
      if (pair == Pair::kReceive) {
        take->bytes = state_.lent_bytes;
        take->frames = state_.lent_frames;
        state_.lent_bytes = state_.lent_frames = 0;
      }
    }
    line.number = load;
    line.since_ns = now_ns;
    if (action == Action::kNoteYield || action == Action::kTakeYield) {
      Publish(pair, {.kind = Kind::kYieldNow});
    }
    return true;
  }

  bool LookAtClock(coherent::Pair pair, bool inside, uint64_t now_ns) {
    using namespace coherent;
    EndpointPair& line = state_.pair(pair);
    if (line.state == State::kLoading) {
      // A host that was asked to leave does so on its receive pair, so it must not block on the
      // transmit pair.
      const bool asked = pair == Pair::kTransmit && state_.Asked();
      if (!asked && now_ns - line.since_ns < kTryAgainNs) return true;
      if (Move(pair, Input::kStalled) != Action::kAnswerTryAgain) return true;
      Publish(pair, {.kind = Kind::kTryAgain});
      card_.Count(regs::ipu::kStatLineTryAgains);
      return true;
    }
    if (line.state != State::kAskedAway && line.state != State::kAskedLent) return true;
    if (inside && now_ns - state_.asked_ns < kLeaveNs) return true;
    const Action action = Move(pair, inside ? Input::kBound : Input::kLeft);
    if (action == Action::kFault) return Fault();
    if (action == Action::kClose) Close();
    return true;
  }

  bool Fault() {
    card_.Count(regs::ipu::kStatLineFaults);
    Close();
    return false;
  }

  void Close() {
    for (const coherent::Pair pair : {coherent::Pair::kReceive, coherent::Pair::kTransmit}) {
      Move(pair, coherent::Input::kKill);
      state_.pair(pair).lent = false;
    }
    Store(state_.Ready(), coherent::kClosed);
  }

  /// Writes the head of the pair's current line. The payload must already be there.
  void Publish(coherent::Pair pair, coherent::Control control) {
    const uint64_t number = state_.pair(pair).number;
    control.number = static_cast<uint32_t>(number);
    PublishQuad(state_.Line(pair, number), {control.Word(), 0});
    Add(&card_.counters[Crossing::kNotifications], uint64_t{sizeof(Quad)});
  }

  IpuCard& card_;
  EndpointState& state_;
};

}  // namespace sluice::device::grid
