// SPDX-License-Identifier: BSD-3-Clause
//
// promela TEMPLATE VARIANT [MUTATION]: prints the Promela model of a variant of the swap. The
// transitions are generated from the rows of swap/table.h. The hand-written template contains the
// actions of the ends, the adversary and the properties.
#include "../exhaustive/promela.h"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

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

/// Returns false if the mutation is unknown.
bool Mutate(Machine& machine, const std::string& mutation, std::string& defines) {
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
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const bool two = argc > 2 && std::strcmp(argv[2], "2") == 0;
  const bool four = argc > 2 && std::strcmp(argv[2], "4") == 0;
  Machine machine = four ? kFourMessage : kTwoMessage;
  std::string text = "/* Generated from swap/table.h. */\n";
  if (argc < 3 || argc > 4 || !(two || four) || !Mutate(machine, argc > 3 ? argv[3] : "", text)) {
    std::fprintf(stderr, "usage: promela TEMPLATE 2|4 [MUTATION]\n");
    return 2;
  }
  const std::string model = exhaustive::ReadTemplate(argv[1]);
  if (model.empty()) return 1;
  if (four) text += "#define FOUR_MESSAGES\n";
  text += Constants("S_", kStateNames) + Constants("I_", kInputNames) +
          Constants("A_", kActionNames) + Constants("P_", kPhaseNames) + "byte next, action;\n" +
          Transitions("MoveInitiator", machine, Role::kInitiator) +
          Transitions("MoveResponder", machine, Role::kResponder) + model;
  std::fputs(text.c_str(), stdout);
  return 0;
}
