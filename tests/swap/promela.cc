// SPDX-License-Identifier: BSD-3-Clause
//
// promela TEMPLATE VARIANT [MUTATION]: prints the Promela model of a variant of the swap: 2 or 4
// messages, or a group of three parties. The transitions are generated from the rows of
// swap/table.h and swap/group_table.h. The hand-written template contains the actions of the ends,
// the adversary and the properties.
#include "../exhaustive/promela.h"

#include <cstdio>
#include <iterator>
#include <string>

#include "swap/group_table.h"
#include "swap/message.h"
#include "swap/table.h"

namespace {

using namespace sluice::swap;
namespace exhaustive = sluice::exhaustive;
using exhaustive::Constants;

// The names are in the order of the enumerations.
constexpr const char* kStateNames[] = {"kSync",     "kFaulted", "kIdle",  "kOffer", "kCancel",
                                       "kValidate", "kCommit",  "kAbort", "kReady", "kTentative"};
constexpr const char* kInputNames[] = {
    "kCallOffer", "kCallCancel", "kCallCommit", "kCallAbort", "kReset",     "kExpired",
    "kPeerNew",   "kHeardTxid",  "kGap",        "kReflected", "kCommitted", "kRejected",
    "kOfferTrue", "kOfferFalse", "kCancelNew",  "kCommit",    "kAbort",     "kCancelHeld"};
constexpr const char* kActionNames[] = {
    "kIgnore",       "kRepublish",     "kMeet",   "kAdopt",    "kSuspect", "kFault",
    "kPublishOffer", "kPublishCancel", "kTake",   "kTakeLate", "kRestore", "kAsk",
    "kDecideCommit", "kDecideAbort",   "kClose",  "kOrphan",   "kApply",   "kRefuse",
    "kHold",         "kApplyHeld",     "kRelease"};
constexpr const char* kPhaseNames[] = {"kNone",      "kSync",      "kIdle",    "kOffer",
                                       "kCancel",    "kCommit",    "kAbort",   "kReady",
                                       "kReflected", "kCommitted", "kRejected"};
constexpr const char* kKeeperStateNames[] = {"kApart", "kGather", "kCommitted", "kRejected"};
constexpr const char* kKeeperInputNames[] = {"kJoin",      "kLeave",    "kComplete",
                                             "kWithdrawn", "kAnswered", "kExpired"};
constexpr const char* kKeeperActionNames[] = {"kIgnore",  "kWait",  "kCommit", "kReject",
                                              "kTooLate", "kClose", "kSuspect"};
static_assert(std::size(kKeeperStateNames) == kKeeperStates &&
              std::size(kKeeperInputNames) == kKeeperInputs &&
              std::size(kKeeperActionNames) == kKeeperActions);
static_assert(std::size(kStateNames) == kStates && std::size(kInputNames) == kInputs);
static_assert(std::size(kActionNames) == static_cast<size_t>(Action::kRelease) + 1);
static_assert(std::size(kPhaseNames) == kLastPhase + 1u);
static_assert(static_cast<size_t>(State::kTentative) + 1 == kStates);
static_assert(static_cast<size_t>(Input::kCancelHeld) + 1 == kInputs);

/// Returns "inline <name>(state, input)", which sets `next` and `action`.
std::string Transitions(const char* name, const Machine& machine, Role role) {
  return exhaustive::Transitions(
      name, kStateNames, kInputNames, kActionNames, [&](size_t state, size_t input) {
        return machine.Find(role, static_cast<State>(state), static_cast<Input>(input));
      });
}
std::string KeeperTransitions(const KeeperMachine& machine) {
  return exhaustive::Transitions(
      "MoveKeeper", kKeeperStateNames, kKeeperInputNames, kKeeperActionNames,
      [&](size_t state, size_t input) {
        return machine.Find(static_cast<KeeperState>(state), static_cast<KeeperInput>(input));
      },
      "K");
}

/// Returns false if the mutation is unknown.
bool Mutate(Machine& machine, KeeperMachine& keeper, const std::string& mutation,
            std::string& defines) {
  const Variant variant = machine.variant();
  if (mutation.empty()) return true;
  if (mutation == "initiator_rolls_back") {
    machine.Set({variant, Role::kInitiator, State::kOffer, Input::kExpired, State::kIdle,
                 Action::kRestore});
  } else if (mutation == "responder_rolls_back") {
    machine.Set({variant, Role::kResponder, State::kTentative, Input::kExpired, State::kReady,
                 Action::kRelease});
  } else if (mutation == "next_before_abort_is_confirmed") {
    machine.Set({variant, Role::kInitiator, State::kAbort, Input::kCallOffer, State::kOffer,
                 Action::kPublishOffer});
  } else if (mutation == "record_zeroed") {
    defines += "#define RECORD_ZEROED\n";
  } else if (mutation == "late_record") {
    defines += "#define LATE_RECORD\n";
  } else if (mutation == "cancel_after_commit") {
    keeper.Set({KeeperState::kCommitted, KeeperInput::kWithdrawn, KeeperState::kCommitted,
                KeeperAction::kIgnore});
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string variant = argc > 2 ? argv[2] : "";
  Machine machine = variant == "4" ? kFourMessage : kTwoMessage;
  KeeperMachine keeper = kKeeper;
  std::string text = "/* Generated from swap/table.h and swap/group_table.h. */\n";
  if (argc < 3 || argc > 4 || (variant != "2" && variant != "4" && variant != "group") ||
      !Mutate(machine, keeper, argc > 3 ? argv[3] : "", text)) {
    std::fprintf(stderr, "usage: promela TEMPLATE 2|4|group [MUTATION]\n");
    return 2;
  }
  const std::string model = exhaustive::ReadTemplate(argv[1]);
  if (model.empty()) return 1;
  if (variant == "4") text += "#define FOUR_MESSAGES\n";
  text += Constants("S_", kStateNames) + Constants("I_", kInputNames) +
          Constants("A_", kActionNames) + Constants("P_", kPhaseNames) + "byte next, action;\n";
  if (variant == "group") {
    text += Constants("KS_", kKeeperStateNames) + Constants("KI_", kKeeperInputNames) +
            Constants("KA_", kKeeperActionNames) +
            Transitions("MoveMember", machine, Role::kInitiator) + KeeperTransitions(keeper);
  } else {
    text += Transitions("MoveInitiator", machine, Role::kInitiator) +
            Transitions("MoveResponder", machine, Role::kResponder);
  }
  std::fputs((text + model).c_str(), stdout);
  return 0;
}
