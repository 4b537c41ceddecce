// SPDX-License-Identifier: BSD-3-Clause
//
// The swap protocol: all transitions of both ends and both variants. The ends (initiator.h,
// responder.h) look up their transitions here. Tests explore the same rows exhaustively, and also
// generate the Promela model that spin checks from them.
//
// Two messages: the responder, which owns the resource, is the only commit point. Four messages:
// the initiator validates the answer and is the commit point; the responder holds its answer
// tentatively in between. In neither variant does a timer decide an outcome: if an end sees no
// progress for a while, it only suspects its peer.
//
// Source: the atomic bilateral swap of Open Atomic Ethernet, as a retained-outcome protocol (an
// outcome stays readable until the peer has shown that it knows it).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::swap {

enum class Role : uint8_t { kInitiator, kResponder };
enum class Variant : uint8_t { kTwoMessage, kFourMessage, kBoth };

enum class State : uint8_t {
  kSync,     ///< Either end: started without memory.
  kFaulted,  ///< Either end: the peer violated the protocol. Only a restart helps.
  // Initiator, transaction n:
  kIdle,      ///< n is resolved.
  kOffer,     ///< n is offered. In doubt: there may be an outcome that is unknown here.
  kCancel,    ///< Like kOffer, but n is cancelled.
  kValidate,  ///< Four messages: the answer has arrived, and the application must validate it.
  kCommit,    ///< Four messages: n is committed here, but the peer has not confirmed.
  kAbort,     ///< Four messages: n is aborted here, but the peer has not confirmed.
  // Responder, last transaction m:
  kReady,      ///< m has an outcome.
  kTentative,  ///< Four messages: m is held; in doubt: there may be an outcome unknown here.
};
inline constexpr size_t kStates = 10;

/// Events of an end. The ends classify lines by epoch, incarnations, transaction id and phase. A
/// line that does not match any input has no effect.
enum class Input : uint8_t {
  // Calls by the application:
  kCallOffer,
  kCallCancel,
  kCallCommit,
  kCallAbort,
  // Events of the link:
  kReset,    ///< The link was restarted with a new epoch. Memory was kept.
  kExpired,  ///< No progress was made within the window.
  // Contents of the peer's line, at either end:
  kPeerNew,    ///< The peer is a new incarnation: it lost its memory, or this is the first contact.
  kHeardTxid,  ///< State kSync: the peer knows this end and names the last transaction.
  kGap,        ///< A transaction id that is not a valid successor.
  // Initiator, transaction n:
  kReflected,
  kCommitted,
  kRejected,
  // Responder, transaction m + 1:
  kOfferTrue,   ///< The offer has arrived, and its condition holds.
  kOfferFalse,  ///< The offer has arrived, and its condition does not hold.
  kCancelNew,   ///< The offer was cancelled before it was seen.
  // Responder, transaction m:
  kCommit,
  kAbort,
  kCancelHeld,  ///< The offer was cancelled after it was seen.
};
inline constexpr size_t kInputs = 18;

enum class Action : uint8_t {
  kIgnore,
  kRepublish,  ///< Post this end's line again, with the current epoch and incarnations.
  kMeet,       ///< Store the peer's incarnation; post.
  kAdopt,      ///< Use the peer's transaction id as the last one; post.
  kSuspect,    ///< Make no new offers until there is progress. No transaction changes.
  kFault,      ///< Stop.
  // Initiator:
  kPublishOffer,   ///< n := n + 1; post.
  kPublishCancel,  ///< Post.
  kTake,           ///< n is committed: the answer replaces the offered payload. Report.
  kTakeLate,       ///< Like kTake, although n was cancelled. Report.
  kRestore,        ///< n is rejected, and nothing changes. Report.
  kAsk,            ///< Pass the answer to the application.
  kDecideCommit,   ///< The commit point with four messages. Report; post.
  kDecideAbort,    ///< Post.
  kClose,          ///< The peer has confirmed the decision, which was already reported.
  kOrphan,         ///< The peer lost its memory of n, so the owner's state decides. Report; post.
  kApply,          ///< The commit point with two messages. m := m + 1, committed; post.
  kRefuse,         ///< m := m + 1, rejected, with the current state; post.
  kHold,           ///< m := m + 1, tentative; post.
  kApplyHeld,      ///< m is committed; post.
  kRelease,        ///< m is rejected, and nothing changes; post.
};

struct Row {
  Variant variant;
  Role role;
  State state;
  Input input;
  State next;
  Action action;
};

/// The protocol. A state and input for which there is no row are ignored.
inline constexpr auto kRows = [] {
  constexpr auto kTwo = Variant::kTwoMessage;
  constexpr auto kFour = Variant::kFourMessage;
  constexpr auto kBoth = Variant::kBoth;
  constexpr auto kI = Role::kInitiator;
  constexpr auto kR = Role::kResponder;
  return std::to_array<Row>({
      // Initiator: a transaction.
      {kBoth, kI, State::kIdle, Input::kCallOffer, State::kOffer, Action::kPublishOffer},
      {kTwo, kI, State::kOffer, Input::kCommitted, State::kIdle, Action::kTake},
      {kBoth, kI, State::kOffer, Input::kRejected, State::kIdle, Action::kRestore},
      {kBoth, kI, State::kOffer, Input::kCallCancel, State::kCancel, Action::kPublishCancel},
      {kTwo, kI, State::kCancel, Input::kCommitted, State::kIdle, Action::kTakeLate},
      {kBoth, kI, State::kCancel, Input::kRejected, State::kIdle, Action::kRestore},
      {kFour, kI, State::kOffer, Input::kReflected, State::kValidate, Action::kAsk},
      {kFour, kI, State::kValidate, Input::kCallCommit, State::kCommit, Action::kDecideCommit},
      {kFour, kI, State::kValidate, Input::kCallAbort, State::kAbort, Action::kDecideAbort},
      {kFour, kI, State::kValidate, Input::kCallCancel, State::kAbort, Action::kDecideAbort},
      {kFour, kI, State::kCommit, Input::kCommitted, State::kIdle, Action::kClose},
      {kFour, kI, State::kAbort, Input::kRejected, State::kIdle, Action::kRestore},
      // Initiator: the link and the peer.
      {kBoth, kI, State::kOffer, Input::kExpired, State::kOffer, Action::kSuspect},
      {kBoth, kI, State::kCancel, Input::kExpired, State::kCancel, Action::kSuspect},
      {kFour, kI, State::kCommit, Input::kExpired, State::kCommit, Action::kSuspect},
      {kFour, kI, State::kAbort, Input::kExpired, State::kAbort, Action::kSuspect},
      {kBoth, kI, State::kSync, Input::kReset, State::kSync, Action::kRepublish},
      {kBoth, kI, State::kIdle, Input::kReset, State::kIdle, Action::kRepublish},
      {kBoth, kI, State::kOffer, Input::kReset, State::kOffer, Action::kRepublish},
      {kBoth, kI, State::kCancel, Input::kReset, State::kCancel, Action::kRepublish},
      {kFour, kI, State::kValidate, Input::kReset, State::kValidate, Action::kRepublish},
      {kFour, kI, State::kCommit, Input::kReset, State::kCommit, Action::kRepublish},
      {kFour, kI, State::kAbort, Input::kReset, State::kAbort, Action::kRepublish},
      {kBoth, kI, State::kSync, Input::kPeerNew, State::kSync, Action::kMeet},
      {kBoth, kI, State::kIdle, Input::kPeerNew, State::kIdle, Action::kMeet},
      {kBoth, kI, State::kOffer, Input::kPeerNew, State::kIdle, Action::kOrphan},
      {kBoth, kI, State::kCancel, Input::kPeerNew, State::kIdle, Action::kOrphan},
      {kFour, kI, State::kValidate, Input::kPeerNew, State::kIdle, Action::kOrphan},
      {kFour, kI, State::kCommit, Input::kPeerNew, State::kIdle, Action::kOrphan},
      {kFour, kI, State::kAbort, Input::kPeerNew, State::kIdle, Action::kOrphan},
      {kBoth, kI, State::kSync, Input::kHeardTxid, State::kIdle, Action::kAdopt},
      {kBoth, kI, State::kIdle, Input::kGap, State::kFaulted, Action::kFault},
      {kBoth, kI, State::kOffer, Input::kGap, State::kFaulted, Action::kFault},
      {kBoth, kI, State::kCancel, Input::kGap, State::kFaulted, Action::kFault},
      // Responder: a transaction.
      {kTwo, kR, State::kReady, Input::kOfferTrue, State::kReady, Action::kApply},
      {kFour, kR, State::kReady, Input::kOfferTrue, State::kTentative, Action::kHold},
      {kBoth, kR, State::kReady, Input::kOfferFalse, State::kReady, Action::kRefuse},
      {kBoth, kR, State::kReady, Input::kCancelNew, State::kReady, Action::kRefuse},
      {kFour, kR, State::kTentative, Input::kCommit, State::kReady, Action::kApplyHeld},
      {kFour, kR, State::kTentative, Input::kAbort, State::kReady, Action::kRelease},
      {kFour, kR, State::kTentative, Input::kCancelHeld, State::kReady, Action::kRelease},
      // Responder: the link and the peer.
      {kFour, kR, State::kTentative, Input::kExpired, State::kTentative, Action::kSuspect},
      {kBoth, kR, State::kSync, Input::kReset, State::kSync, Action::kRepublish},
      {kBoth, kR, State::kReady, Input::kReset, State::kReady, Action::kRepublish},
      {kFour, kR, State::kTentative, Input::kReset, State::kTentative, Action::kRepublish},
      {kBoth, kR, State::kSync, Input::kPeerNew, State::kSync, Action::kMeet},
      {kBoth, kR, State::kReady, Input::kPeerNew, State::kReady, Action::kMeet},
      {kFour, kR, State::kTentative, Input::kPeerNew, State::kReady, Action::kOrphan},
      {kBoth, kR, State::kSync, Input::kHeardTxid, State::kReady, Action::kAdopt},
      {kBoth, kR, State::kReady, Input::kGap, State::kFaulted, Action::kFault},
      {kFour, kR, State::kTentative, Input::kGap, State::kFaulted, Action::kFault},
  });
}();

struct Transition {
  State next;
  Action action;
};

/// The rows of one variant as a lookup table for both roles. Tests derive faulty tables from it.
class Machine {
 public:
  /// Transaction ids are modulo 2^k, where `txid_mask` = 2^k − 1. All bits are set, except in tests
  /// that determine how few bits are sufficient.
  template <size_t N>
  constexpr Machine(Variant variant, const std::array<Row, N>& rows,
                    uint32_t txid_mask = ~uint32_t{0})
      : variant_(variant), txid_mask_(txid_mask) {
    for (size_t role = 0; role < 2; ++role) {
      for (size_t state = 0; state < kStates; ++state) {
        for (size_t input = 0; input < kInputs; ++input) {
          cells_[role][state][input] = {static_cast<State>(state), Action::kIgnore};
        }
      }
    }
    for (const Row& row : rows) {
      if (row.variant == variant || row.variant == Variant::kBoth) Set(row);
    }
  }

  constexpr void Set(const Row& row) {
    cells_[static_cast<size_t>(row.role)][static_cast<size_t>(row.state)]
          [static_cast<size_t>(row.input)] = {row.next, row.action};
  }

  constexpr Transition Find(Role role, State state, Input input) const {
    return cells_[static_cast<size_t>(role)][static_cast<size_t>(state)]
                 [static_cast<size_t>(input)];
  }
  constexpr Variant variant() const { return variant_; }
  constexpr uint32_t txid_mask() const { return txid_mask_; }

 private:
  std::array<std::array<std::array<Transition, kInputs>, kStates>, 2> cells_{};
  Variant variant_;
  uint32_t txid_mask_;
};

inline constexpr Machine kTwoMessage(Variant::kTwoMessage, kRows);
inline constexpr Machine kFourMessage(Variant::kFourMessage, kRows);

}  // namespace sluice::swap
