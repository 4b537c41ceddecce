// SPDX-License-Identifier: BSD-3-Clause
#include "coherent/host_end.h"

#include "cpu/clock.h"

namespace sluice::coherent {

/// Performs any action except kLoadLine. Returns whether a load must follow.
bool HostEnd::LoadOtherwise(Line& line, Action action) {
  switch (action) {
    case Action::kLoadUnwritten:
      line.Publish({.kind = Kind::kNoReply});
      return true;
    case Action::kRefuse:
      Leave();
      return false;
    case Action::kStop:
      Stop();
      return false;
    default:
      return false;
  }
}

/// Waits for an answer for up to `patience_cycles`. `word` is the line's current control word,
/// which is not an answer.
Got HostEnd::Await(Line& line, uint64_t word, uint64_t patience_cycles) {
  /// Number of times the line is polled between two checks of the clock and the preemption word.
  constexpr uint32_t kLooks = 64;
  const uint64_t& control = line.line().control;
  const bool sleeps = wait_ != WaitMethod::kPause;
  uint64_t deadline = 0;
  for (uint32_t looks = 0;; ++looks) {
    if (word == kPoison) return Hear(line, Input::kGone);
    if (patience_cycles == 0) return LookForClosing(line);
    if (sleeps || looks % kLooks == kLooks - 1) {
      const uint64_t now = cpu::Cycles();
      if (deadline == 0) deadline = now + patience_cycles;
      if (LookForClosing(line) == Got::kClosed) return Got::kClosed;
      if (now >= deadline) return Got::kNothing;
    }
    WaitOn(wait_, control, word, deadline);
    word = bar::LoadOnce(control, std::memory_order_acquire);
    if (static_cast<uint32_t>(word) == static_cast<uint32_t>(line.number_)) {
      return Answered(line, word);
    }
  }
}

Got HostEnd::AnsweredOtherwise(Line& line, uint64_t word) {
  const Control control = Control::Of(word);
  const Input input = kInputOf[word >> Control::kKindShift];
  if (input != Input::kContent) return Hear(line, input);
  line.answer = word;
  return Hear(line, control.length <= line.Capacity(control.in_buffer) ? input : Input::kGone);
}

Got HostEnd::Hear(Line& line, Input input) {
  switch (line.Move(input)) {
    case Action::kHand:
      return Got::kContent;
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

/// Enters the endpoint without a load, for an operation on the transmit pair. Returns kContent if
/// the host may enter.
Got HostEnd::Admit(Line& line) {
  const Input input = Enter();
  return input == Input::kCallLoad ? Got::kContent : Hear(line, input);
}

// The host sets BUSY first and then loads READY; the NIC clears READY first and then loads BUSY.
// All four accesses are sequentially consistent, so at least one side sees its peer's store.
Input HostEnd::Enter() {
  EndpointHeader& header = memory_.header();
  std::atomic_ref(memory_.host(Pair::kReceive).busy).store(1, std::memory_order_seq_cst);
  const uint64_t ready = bar::LoadOnce(header.ready, std::memory_order_seq_cst);
  if (ready == kClosed) return Input::kGone;
  inside_ = ready == kReady;
  on_way_ = inside_ && has_way_;
  return inside_ ? Input::kCallLoad : Input::kCallBarred;
}

void HostEnd::Leave() {
  inside_ = on_way_ = false;
  std::atomic_ref(memory_.host(Pair::kReceive).busy).store(0, std::memory_order_release);
}

void HostEnd::Stop() {
  inside_ = on_way_ = false;
  for (Line& line : lines_) line.Move(Input::kGone);
}

}  // namespace sluice::coherent
