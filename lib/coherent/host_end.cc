// SPDX-License-Identifier: BSD-3-Clause
#include "coherent/host_end.h"

namespace sluice::coherent {

Got HostEnd::Hear(Line& line, Input input) {
  switch (line.Move(input)) {
    case Action::kReportEmpty:
      return Got::kTryAgain;
    case Action::kRefuse:
      Leave();
      return Got::kBarred;
    case Action::kLeave:
      Leave();
      return input == Input::kRetireNow ? Got::kRetire : Got::kYieldNow;
    case Action::kStop:
      Stop();
      return Got::kClosed;
    default:
      return line.state() == State::kStopped ? Got::kClosed : Got::kNothing;
  }
}

Got HostEnd::LookForClosing(Line& line) {
  const uint64_t ready = bar::LoadOnce(memory_.header().ready);
  return ready == kClosed ? Hear(line, Input::kGone) : Got::kNothing;
}

/// Enters, for a pair that need not load: kContent if it may.
Got HostEnd::Admit(Line& line) {
  const Input input = Enter();
  return input == Input::kCallLoad ? Got::kContent : Hear(line, input);
}

// BUSY first, then READY; the NIC clears READY first and then looks at BUSY. In the one order of
// all four (sequentially consistent), one of the two sees the other.
Input HostEnd::Enter() {
  EndpointHeader& header = memory_.header();
  std::atomic_ref(memory_.host(Pair::kReceive).busy).store(1, std::memory_order_seq_cst);
  const uint64_t ready = bar::LoadOnce(header.ready, std::memory_order_seq_cst);
  if (ready == kClosed) return Input::kGone;
  inside_ = ready == kReady;
  return inside_ ? Input::kCallLoad : Input::kCallBarred;
}

void HostEnd::Leave() {
  inside_ = false;
  std::atomic_ref(memory_.host(Pair::kReceive).busy).store(0, std::memory_order_release);
}

void HostEnd::Stop() {
  inside_ = false;
  for (Line& line : lines_) line.Move(Input::kGone);
}

}  // namespace sluice::coherent
