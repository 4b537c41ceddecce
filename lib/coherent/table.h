// SPDX-License-Identifier: BSD-3-Clause
//
// The coherent protocol: all transitions of both ends of a pair of control lines. The ends
// (nic_end.h, host_end.h) look up their transitions here. Tests explore the same rows exhaustively,
// and generate from them the Promela model that spin checks.
//
// A transmit pair uses only the rows for loads and answers: preemption applies to a process, and a
// process is asked for its core only on its receive pair.
//
// Sources: Lauberhorn (Xu and Roscoe, HOTOS '25) sections 5 and 6. Two rules come from the authors'
// public implementation (enzian-pio-nic): the parity changes with every answer, including an empty
// one; the host publishes whether it is accessing the lines (BUSY), and the NIC publishes whether
// the host may access them (READY).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice::coherent {

enum class Role : uint8_t { kNic, kHost };

enum class State : uint8_t {
  // NIC; n is the pair's last load.
  kAway,       ///< n is answered; no line is lent.
  kLoading,    ///< n is pending.
  kLent,       ///< n is answered with content: the line returns with the next load.
  kAskedAway,  ///< As kAway, and the host was asked to leave.
  kAskedLent,  ///< As kLent, and the host was asked to leave.
  kPreempted,  ///< The host has left, and cannot enter.
  kClosed,     ///< Permanent: killed, or the host violated the protocol.
  // Host; n is the pair's last load.
  kOutside,  ///< Accesses no line, and may lose its core.
  kWaiting,  ///< n is pending.
  kEmpty,    ///< n was answered without content.
  kHolding,  ///< n was answered with content, and the host has not written its answer.
  kWritten,  ///< As kHolding, and the host has written its answer.
  kStopped,  ///< Permanent: the NIC closed the endpoint, or is gone.
};
inline constexpr size_t kStates = 13;

/// Events of an end. An end changes its state only on an event.
enum class Input : uint8_t {
  // NIC, from the host's words:
  kLoad,  ///< Load n + 1.
  kGap,   ///< Any load except n and n + 1.
  kLeft,  ///< BUSY is clear. Polled only after the host was asked to leave.
  // NIC, from its owner:
  kDeliver,  ///< Content for the host.
  kYield,    ///< The core is needed, and the host is waiting.
  kRetire,   ///< The core is not needed.
  kPreempt,  ///< The core is needed, regardless of the host's state.
  kResume,   ///< The host may enter again.
  kKill,     ///< The process has ended, or must end.
  // NIC, from the clock:
  kStalled,  ///< Load n has timed out.
  kBound,    ///< The host has not left within the time limit.
  // Host, from its owner:
  kCallLoad,    ///< Load the next line. Outside: BUSY was set first, then READY was read as set.
  kCallBarred,  ///< Outside: as kCallLoad, but READY was not set.
  kCallWrite,   ///< Write the answer.
  // Host, the answer to load n:
  kContent,  ///< REQUEST, frames, or an empty line to fill.
  kTryAgain,
  kYieldNow,
  kRetireNow,
  // Host:
  kGone,  ///< The preemption word is kClosed, or an answer is invalid (for example, all ones).
};
inline constexpr size_t kInputs = 19;

enum class Action : uint8_t {
  kIgnore,
  // Actions of the NIC:
  kNote,           ///< n := n + 1.
  kTake,           ///< Read the answer in line n mod 2; n := n + 1.
  kAnswerContent,  ///< Answer n.
  kAnswerTryAgain,
  kAnswerYield,
  kAnswerRetire,
  kBar,         ///< Clear READY.
  kBarYield,    ///< Clear READY, then answer n with YIELDNOW.
  kNoteYield,   ///< n := n + 1, and answer it with YIELDNOW.
  kTakeYield,   ///< Read the answer in line n mod 2; n := n + 1, and answer it with YIELDNOW.
  kReportLeft,  ///< Report that the core is free.
  kAdmit,       ///< Set READY.
  kClose,       ///< Close the endpoint; lent content counts as lost.
  kFault,       ///< As kClose, and count a fault of the host.
  // Actions of the host:
  kLoadLine,       ///< n := n + 1, and publish it.
  kRefuse,         ///< Clear BUSY: the host may not enter.
  kLoadUnwritten,  ///< Write kNoReply; n := n + 1, and publish it.
  kWrite,          ///< Write the answer.
  kHand,           ///< Return the content to the caller.
  kReportEmpty,
  kLeave,  ///< Clear BUSY, and report.
  kStop,
};

struct Row {
  Role role;
  State state;
  Input input;
  State next;
  Action action;
};

/// The protocol. An input for which a state has no row is ignored.
inline constexpr auto kRows = [] {
  constexpr auto kN = Role::kNic;
  constexpr auto kH = Role::kHost;
  return std::to_array<Row>({
      // NIC: loads and answers.
      {kN, State::kAway, Input::kLoad, State::kLoading, Action::kNote},
      {kN, State::kLent, Input::kLoad, State::kLoading, Action::kTake},
      {kN, State::kLoading, Input::kDeliver, State::kLent, Action::kAnswerContent},
      {kN, State::kLoading, Input::kStalled, State::kAway, Action::kAnswerTryAgain},
      {kN, State::kLoading, Input::kYield, State::kAway, Action::kAnswerYield},
      {kN, State::kLoading, Input::kRetire, State::kAway, Action::kAnswerRetire},
      // NIC: preemption.
      {kN, State::kAway, Input::kPreempt, State::kAskedAway, Action::kBar},
      {kN, State::kLoading, Input::kPreempt, State::kAskedAway, Action::kBarYield},
      {kN, State::kLent, Input::kPreempt, State::kAskedLent, Action::kBar},
      {kN, State::kAskedAway, Input::kLoad, State::kAskedAway, Action::kNoteYield},
      {kN, State::kAskedLent, Input::kLoad, State::kAskedAway, Action::kTakeYield},
      {kN, State::kAskedAway, Input::kLeft, State::kPreempted, Action::kReportLeft},
      {kN, State::kAskedAway, Input::kBound, State::kClosed, Action::kClose},
      {kN, State::kAskedLent, Input::kBound, State::kClosed, Action::kClose},
      {kN, State::kPreempted, Input::kResume, State::kAway, Action::kAdmit},
      // NIC: the endpoint's end. A host that leaves must have returned the lent line first.
      {kN, State::kAskedLent, Input::kLeft, State::kClosed, Action::kFault},
      {kN, State::kPreempted, Input::kLoad, State::kClosed, Action::kFault},
      {kN, State::kAway, Input::kGap, State::kClosed, Action::kFault},
      {kN, State::kLoading, Input::kLoad, State::kClosed, Action::kFault},
      {kN, State::kLoading, Input::kGap, State::kClosed, Action::kFault},
      {kN, State::kLent, Input::kGap, State::kClosed, Action::kFault},
      {kN, State::kAskedAway, Input::kGap, State::kClosed, Action::kFault},
      {kN, State::kAskedLent, Input::kGap, State::kClosed, Action::kFault},
      {kN, State::kPreempted, Input::kGap, State::kClosed, Action::kFault},
      {kN, State::kAway, Input::kKill, State::kClosed, Action::kClose},
      {kN, State::kLoading, Input::kKill, State::kClosed, Action::kClose},
      {kN, State::kLent, Input::kKill, State::kClosed, Action::kClose},
      {kN, State::kAskedAway, Input::kKill, State::kClosed, Action::kClose},
      {kN, State::kAskedLent, Input::kKill, State::kClosed, Action::kClose},
      {kN, State::kPreempted, Input::kKill, State::kClosed, Action::kClose},
      // Host.
      {kH, State::kOutside, Input::kCallLoad, State::kWaiting, Action::kLoadLine},
      {kH, State::kOutside, Input::kCallBarred, State::kOutside, Action::kRefuse},
      // A transmit pair keeps its line while the host is outside.
      {kH, State::kEmpty, Input::kCallBarred, State::kEmpty, Action::kRefuse},
      {kH, State::kHolding, Input::kCallBarred, State::kHolding, Action::kRefuse},
      {kH, State::kWaiting, Input::kCallBarred, State::kWaiting, Action::kRefuse},
      {kH, State::kEmpty, Input::kCallLoad, State::kWaiting, Action::kLoadLine},
      {kH, State::kHolding, Input::kCallLoad, State::kWaiting, Action::kLoadUnwritten},
      {kH, State::kWritten, Input::kCallLoad, State::kWaiting, Action::kLoadLine},
      {kH, State::kHolding, Input::kCallWrite, State::kWritten, Action::kWrite},
      {kH, State::kWritten, Input::kCallWrite, State::kWritten, Action::kWrite},
      {kH, State::kWaiting, Input::kContent, State::kHolding, Action::kHand},
      {kH, State::kWaiting, Input::kTryAgain, State::kEmpty, Action::kReportEmpty},
      {kH, State::kWaiting, Input::kYieldNow, State::kOutside, Action::kLeave},
      {kH, State::kWaiting, Input::kRetireNow, State::kOutside, Action::kLeave},
      {kH, State::kOutside, Input::kGone, State::kStopped, Action::kStop},
      {kH, State::kWaiting, Input::kGone, State::kStopped, Action::kStop},
      {kH, State::kEmpty, Input::kGone, State::kStopped, Action::kStop},
      {kH, State::kHolding, Input::kGone, State::kStopped, Action::kStop},
      {kH, State::kWritten, Input::kGone, State::kStopped, Action::kStop},
  });
}();

struct Transition {
  State next;
  Action action;

  friend bool operator==(const Transition&, const Transition&) = default;
};

/// The rows as a lookup table. Tests derive faulty tables from it.
class Machine {
 public:
  template <size_t N>
  explicit constexpr Machine(const std::array<Row, N>& rows) {
    for (size_t state = 0; state < kStates; ++state) {
      for (Transition& cell : cells_[state]) cell = {static_cast<State>(state), Action::kIgnore};
    }
    for (const Row& row : rows) Set(row);
  }

  /// The table is not indexed by role, because each state belongs to only one role.
  constexpr void Set(const Row& row) {
    cells_[static_cast<size_t>(row.state)][static_cast<size_t>(row.input)] = {row.next, row.action};
  }
  constexpr Transition Find(State state, Input input) const {
    return cells_[static_cast<size_t>(state)][static_cast<size_t>(input)];
  }

 private:
  /// Rows are padded to a power of two, so that a lookup needs a shift and no multiplication.
  std::array<std::array<Transition, std::bit_ceil(kInputs)>, kStates> cells_{};
};

inline constexpr Machine kMachine(kRows);

/// The host's transitions from one request to the next. HostEnd performs them without a lookup if
/// the table contains them.
inline constexpr auto kHostWay = std::to_array<Row>({
    {Role::kHost, State::kWritten, Input::kCallLoad, State::kWaiting, Action::kLoadLine},
    {Role::kHost, State::kWaiting, Input::kContent, State::kHolding, Action::kHand},
    {Role::kHost, State::kHolding, Input::kCallWrite, State::kWritten, Action::kWrite},
});
constexpr bool HasHostWay(const Machine& machine) {
  for (const Row& row : kHostWay) {
    if (machine.Find(row.state, row.input) != Transition{row.next, row.action}) return false;
  }
  return true;
}
static_assert(HasHostWay(kMachine));

}  // namespace sluice::coherent
