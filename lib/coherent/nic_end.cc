// SPDX-License-Identifier: BSD-3-Clause
#include "coherent/nic_end.h"

#include <utility>

namespace sluice::coherent {

NicEnd::NicEnd(const EndpointMemory& memory, const NicOptions& options, uint64_t now_ns,
               const Machine& machine)
    : memory_(memory),
      options_(options),
      lines_{Line(memory, Pair::kReceive, machine), Line(memory, Pair::kTransmit, machine)} {
  // An earlier NIC end may have been killed at any point. Its lines record whether the last load
  // was answered, and the answer itself; no other state is needed to continue.
  const uint64_t ready = bar::LoadOnce(memory_.header().ready);
  for (Line& line : lines_) {
    line.number_ = bar::LoadOnce(line.word_->load, std::memory_order_acquire);
    line.since_ns = now_ns;
    const Control control = Control::Of(bar::LoadOnce(line.line().control));
    const bool answered = control.number == static_cast<uint32_t>(line.number_);
    const bool asked = ready == kBarred && line.pair_ == Pair::kReceive;
    if (line.number_ != 0 && !answered) {
      line.state_ = State::kLoading;
    } else if (line.number_ != 0 && (IsContent(control.kind) || IsReturn(control.kind))) {
      line.state_ = asked ? State::kAskedLent : State::kLent;
    } else {
      line.state_ = asked ? State::kAskedAway : State::kAway;
    }
    if (ready != kReady && ready != kBarred) line.state_ = State::kClosed;
    // The host was asked to leave and is waiting: answer it as the earlier end would have.
    if (asked && line.state_ == State::kLoading) {
      line.Move(Input::kPreempt);
      Answer(line, Kind::kYieldNow);
    }
  }
  asked_ns_ = now_ns;
}

bool NicEnd::HasLoaded(Pair pair) const {
  const Line& line = At(pair);
  // Acquire order: the host stores the words of both pairs in program order.
  return bar::LoadOnce(line.word_->load, std::memory_order_acquire) != line.number();
}

Seen NicEnd::Look(Pair pair, uint64_t now_ns) {
  Line& line = At(pair);
  // Acquire order: if the load of this line is visible, the host's answer in the other line is also
  // visible.
  const uint64_t load = bar::LoadOnce(line.word_->load, std::memory_order_acquire);
  if (load != line.number_ && line.state() != State::kClosed) return Load(line, load, now_ns);
  return LookAtClock(line, now_ns);
}

Seen NicEnd::Load(Line& line, uint64_t number, uint64_t now_ns) {
  const Action action = line.Move(number == line.number_ + 1 ? Input::kLoad : Input::kGap);
  const bool takes = action == Action::kTake || action == Action::kTakeYield;
  switch (action) {
    case Action::kTake:
    case Action::kTakeYield:
      AcceptReturn(line);
      [[fallthrough]];
    case Action::kNote:
    case Action::kNoteYield:
      line.number_ = number;
      line.since_ns = now_ns;
      if (action == Action::kNoteYield || action == Action::kTakeYield) {
        Answer(line, Kind::kYieldNow);
      }
      return takes ? Seen::kReturned : Seen::kLoad;
    case Action::kFault:
      ++line.counters.faults;
      Close();
      return Seen::kFault;
    default:
      return Seen::kNothing;
  }
}

// Reads the answer in the line that was last lent to the host. This end owns the line again,
// because the host has loaded the other one.
void NicEnd::AcceptReturn(Line& line) {
  const ControlLine& shared = line.line();
  const Control control = Control::Of(bar::LoadOnce(shared.control));
  Returned& returned = line.returned;
  returned = {.payload = {}, .tag = line.lent ? line.tag : std::nullopt};
  if (control.number == static_cast<uint32_t>(line.number_) && IsReturn(control.kind) &&
      control.length <= line.Capacity(control.in_buffer)) {
    returned.kind = control.kind;
    returned.count = control.count;
    returned.status = bar::LoadOnce(shared.code);
    returned.payload = line.Room(memory_, control.in_buffer).first(control.length);
  }
  NicCounters& counters = line.counters;
  ++(!line.lent                        ? counters.orphaned
     : returned.kind == Kind::kNone    ? counters.malformed
     : returned.kind == Kind::kNoReply ? counters.unreplied
                                       : counters.replied);
  line.lent = false;
  line.tag.reset();
}

Seen NicEnd::LookAtClock(Line& line, uint64_t now_ns) {
  switch (line.state()) {
    case State::kLoading: {
      // A host that has been asked to leave does so on its receive pair, so it must not block on
      // the transmit pair.
      const bool asked = line.pair_ == Pair::kTransmit && Asked();
      if (!asked && now_ns - line.since_ns < options_.try_again_ns) return Seen::kNothing;
      if (line.Move(Input::kStalled) != Action::kAnswerTryAgain) return Seen::kNothing;
      Answer(line, Kind::kTryAgain);
      return Seen::kTriedAgain;
    }
    case State::kAskedAway:
    case State::kAskedLent:
      return LookForLeaving(line, now_ns);
    default:
      return Seen::kNothing;
  }
}

Seen NicEnd::LookForLeaving(Line& line, uint64_t now_ns) {
  Input input = Input::kLeft;
  if (bar::LoadOnce(memory_.host(Pair::kReceive).busy, std::memory_order_seq_cst) != 0) {
    if (now_ns - asked_ns_ < options_.leave_ns) return Seen::kNothing;
    input = Input::kBound;
  }
  switch (line.Move(input)) {
    case Action::kReportLeft:
      ++line.counters.left;
      return Seen::kLeft;
    case Action::kClose:
      ++line.counters.overdue;
      Close();
      return Seen::kOverdue;
    case Action::kFault:
      ++line.counters.faults;
      Close();
      return Seen::kFault;
    default:
      return Seen::kNothing;
  }
}

bool NicEnd::Deliver(Pair pair, const Content& content, uint64_t process, uint64_t tag) {
  Line& line = At(pair);
  if (process != options_.process || !IsContent(content.kind) ||
      content.length > line.Capacity(content.in_buffer) ||
      line.Move(Input::kDeliver) != Action::kAnswerContent) {
    return false;
  }
  line.tag = tag;
  line.lent = true;
  ++line.counters.delivered;
  line.Publish(content);
  return true;
}

bool NicEnd::YieldNow() {
  Line& line = At(Pair::kReceive);
  if (line.Move(Input::kYield) != Action::kAnswerYield) return false;
  Answer(line, Kind::kYieldNow);
  return true;
}

bool NicEnd::Retire() {
  Line& line = At(Pair::kReceive);
  if (line.Move(Input::kRetire) != Action::kAnswerRetire) return false;
  Answer(line, Kind::kRetire);
  return true;
}

bool NicEnd::Preempt(uint64_t now_ns) {
  Line& line = At(Pair::kReceive);
  const Action action = line.Move(Input::kPreempt);
  if (action != Action::kBar && action != Action::kBarYield) return false;
  asked_ns_ = now_ns;
  // READY is cleared before the answer is stored, so that a host that leaves because of the answer
  // does not enter again. The store is sequentially consistent; see HostEnd::Enter.
  std::atomic_ref(memory_.header().ready).store(kBarred, std::memory_order_seq_cst);
  if (action == Action::kBarYield) Answer(line, Kind::kYieldNow);
  return true;
}

bool NicEnd::Resume() {
  if (At(Pair::kReceive).Move(Input::kResume) != Action::kAdmit) return false;
  std::atomic_ref(memory_.header().ready).store(kReady, std::memory_order_seq_cst);
  return true;
}

void NicEnd::Kill() {
  if (At(Pair::kReceive).Move(Input::kKill) == Action::kClose) Close();
}

std::optional<uint64_t> NicEnd::ConsumeLost(Pair pair) {
  return closed() ? std::exchange(At(pair).tag, std::nullopt) : std::nullopt;
}

bool NicEnd::Asked() const {
  const State state = At(Pair::kReceive).state();
  return state == State::kAskedAway || state == State::kAskedLent || state == State::kPreempted;
}

void NicEnd::Answer(Line& line, Kind kind) {
  NicCounters& counters = line.counters;
  ++(kind == Kind::kTryAgain   ? counters.try_again
     : kind == Kind::kYieldNow ? counters.yield_now
                               : counters.retire);
  line.Publish({.kind = kind});
}

void NicEnd::Close() {
  for (Line& line : lines_) {
    line.Move(Input::kKill);
    line.counters.lost += line.lent;
    line.lent = false;
  }
  std::atomic_ref(memory_.header().ready).store(kClosed, std::memory_order_release);
}

}  // namespace sluice::coherent
