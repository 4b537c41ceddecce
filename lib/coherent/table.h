// SPDX-License-Identifier: BSD-3-Clause
//
// The coherent protocol, once: every transition of both ends of a pair of control lines. The ends
// (nic_end.h, host_end.h) look their moves up here; tests explore the same rows exhaustively, and
// generate from them the Promela model that spin checks.
//
// A transmit pair uses the rows of loading and answering alone: preemption is of a process, and a
// process is asked for its core where it waits for requests.
//
// Sources: Lauberhorn (Xu and Roscoe, HOTOS '25) sections 5 and 6. That the parity changes with
// every answer, an empty one included, and that the host says when it is among the lines (BUSY) and
// the NIC when it may be (READY), as in its authors' public implementation (enzian-pio-nic).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice::coherent {

enum class Role : uint8_t { kNic, kHost };

enum class State : uint8_t {
  // The NIC, of a pair whose last load is the n-th
  kAway,       ///< n is answered, nothing has to come back.
  kLoading,    ///< n waits for its answer.
  kLent,       ///< n is answered with something: the line comes back with the next load.
  kAskedAway,  ///< As kAway, and the host is asked to leave.
  kAskedLent,  ///< As kLent, and the host is asked to leave.
  kPreempted,  ///< The host has left, and cannot enter.
  kClosed,     ///< For ever: killed, or the host broke the protocol.
  // The host, of a pair whose last load is the n-th
  kOutside,  ///< May have to leave its core: touches no line.
  kWaiting,  ///< n waits for its answer.
  kEmpty,    ///< n was answered, with nothing to return.
  kHolding,  ///< n was answered with something, nothing is returned yet.
  kWritten,  ///< The same, and what is returned stands in the line.
  kStopped,  ///< For ever: the NIC closed the endpoint, or is gone.
};
inline constexpr size_t kStates = 13;

/// What an end can meet. An end that meets nothing moves nothing.
enum class Input : uint8_t {
  // At the NIC, from the host's words
  kLoad,  ///< Load n + 1.
  kGap,   ///< Any other load than n or n + 1.
  kLeft,  ///< BUSY is clear. Looked at while the host is asked to leave.
  // At the NIC, from its owner
  kDeliver,  ///< Something for the host.
  kYield,    ///< The core is wanted, and the host waits.
  kRetire,   ///< The core is not needed.
  kPreempt,  ///< The core is wanted whatever the host does.
  kResume,   ///< The host may enter again.
  kKill,     ///< The process ended, or has to.
  // At the NIC, from the clock
  kStalled,  ///< Load n has waited as long as a load may.
  kBound,    ///< The host was asked to leave, and has had its time.
  // At the host, from its owner
  kCallLoad,    ///< Load the next line; outside, READY was seen after BUSY was set.
  kCallBarred,  ///< Outside: the same, and READY was not set.
  kCallWrite,   ///< Write what is returned.
  // At the host, the answer to load n
  kContent,  ///< REQUEST, frames, or an empty line to fill.
  kTryAgain,
  kYieldNow,
  kRetireNow,
  // At the host
  kGone,  ///< The preemption word says closed, or a load read all ones.
};
inline constexpr size_t kInputs = 19;

enum class Action : uint8_t {
  kIgnore,
  // The NIC
  kNote,           ///< n := n + 1.
  kTake,           ///< Take what line n mod 2 returns; n := n + 1.
  kAnswerContent,  ///< Answer n.
  kAnswerTryAgain,
  kAnswerYield,
  kAnswerRetire,
  kBar,         ///< Clear READY.
  kBarYield,    ///< Clear READY, then answer n with YIELDNOW.
  kNoteYield,   ///< n := n + 1, and answer it with YIELDNOW.
  kTakeYield,   ///< Take what line n mod 2 returns; n := n + 1, and answer it with YIELDNOW.
  kReportLeft,  ///< The core is free.
  kAdmit,       ///< Set READY.
  kClose,       ///< Close the endpoint: what is lent ends as lost.
  kFault,       ///< The same; the host is to blame.
  // The host
  kLoadLine,       ///< n := n + 1, and say so.
  kRefuse,         ///< Clear BUSY: it may not enter.
  kLoadUnwritten,  ///< Write that nothing is returned; n := n + 1, and say so.
  kWrite,          ///< Write what is returned.
  kHand,           ///< Hand the content out.
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

/// The protocol. Pairs of state and input that are not listed are ignored.
inline constexpr auto kRows = [] {
  constexpr auto kN = Role::kNic;
  constexpr auto kH = Role::kHost;
  return std::to_array<Row>({
      // The NIC: loads and answers.
      {kN, State::kAway, Input::kLoad, State::kLoading, Action::kNote},
      {kN, State::kLent, Input::kLoad, State::kLoading, Action::kTake},
      {kN, State::kLoading, Input::kDeliver, State::kLent, Action::kAnswerContent},
      {kN, State::kLoading, Input::kStalled, State::kAway, Action::kAnswerTryAgain},
      {kN, State::kLoading, Input::kYield, State::kAway, Action::kAnswerYield},
      {kN, State::kLoading, Input::kRetire, State::kAway, Action::kAnswerRetire},
      // The NIC: preemption.
      {kN, State::kAway, Input::kPreempt, State::kAskedAway, Action::kBar},
      {kN, State::kLoading, Input::kPreempt, State::kAskedAway, Action::kBarYield},
      {kN, State::kLent, Input::kPreempt, State::kAskedLent, Action::kBar},
      {kN, State::kAskedAway, Input::kLoad, State::kAskedAway, Action::kNoteYield},
      {kN, State::kAskedLent, Input::kLoad, State::kAskedAway, Action::kTakeYield},
      {kN, State::kAskedAway, Input::kLeft, State::kPreempted, Action::kReportLeft},
      {kN, State::kAskedAway, Input::kBound, State::kClosed, Action::kClose},
      {kN, State::kAskedLent, Input::kBound, State::kClosed, Action::kClose},
      {kN, State::kPreempted, Input::kResume, State::kAway, Action::kAdmit},
      // The NIC: the end of an endpoint. A line that was lent does not come back by leaving.
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
      // The host.
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

/// The rows, for lookup. Tests derive broken ones from it.
class Machine {
 public:
  template <size_t N>
  explicit constexpr Machine(const std::array<Row, N>& rows) {
    for (size_t state = 0; state < kStates; ++state) {
      for (Transition& cell : cells_[state]) cell = {static_cast<State>(state), Action::kIgnore};
    }
    for (const Row& row : rows) Set(row);
  }

  /// A state belongs to one role, so that it alone tells the row.
  constexpr void Set(const Row& row) {
    cells_[static_cast<size_t>(row.state)][static_cast<size_t>(row.input)] = {row.next, row.action};
  }
  constexpr Transition Find(State state, Input input) const {
    return cells_[static_cast<size_t>(state)][static_cast<size_t>(input)];
  }

 private:
  /// A power of two in each row: a shift, not a product, on every move.
  std::array<std::array<Transition, std::bit_ceil(kInputs)>, kStates> cells_{};
};

inline constexpr Machine kMachine(kRows);

/// The host's way from one request to the next. Its end goes it without a look at the table, if the
/// table has it.
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
