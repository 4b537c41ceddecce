// SPDX-License-Identifier: BSD-3-Clause
//
// promela TEMPLATE [MUTATION]: prints the Promela model of a pair of control lines. The transitions
// are generated from the rows of coherent/table.h. The hand-written template contains the actions
// of the ends, the adversary and the properties.
#include "../exhaustive/promela.h"

#include <cstdio>
#include <iterator>
#include <string>

#include "coherent/layout.h"
#include "coherent/table.h"

namespace {

using namespace sluice::coherent;
using sluice::exhaustive::Constants;

// The names are in the order of the enumerations.
constexpr const char* kStateNames[] = {
    "kAway",    "kLoading", "kLent",  "kAskedAway", "kAskedLent", "kPreempted", "kClosed",
    "kOutside", "kWaiting", "kEmpty", "kHolding",   "kWritten",   "kStopped"};
constexpr const char* kInputNames[] = {
    "kLoad",    "kGap",      "kLeft",     "kDeliver",   "kYield",    "kRetire",     "kPreempt",
    "kResume",  "kKill",     "kStalled",  "kBound",     "kCallLoad", "kCallBarred", "kCallWrite",
    "kContent", "kTryAgain", "kYieldNow", "kRetireNow", "kGone"};
constexpr const char* kActionNames[] = {
    "kIgnore",      "kNote",         "kTake",          "kAnswerContent", "kAnswerTryAgain",
    "kAnswerYield", "kAnswerRetire", "kBar",           "kBarYield",      "kNoteYield",
    "kTakeYield",   "kReportLeft",   "kAdmit",         "kClose",         "kFault",
    "kLoadLine",    "kRefuse",       "kLoadUnwritten", "kWrite",         "kHand",
    "kReportEmpty", "kLeave",        "kStop"};
constexpr const char* kKindNames[] = {"kNone",   "kRequest", "kFrames", "kTryAgain", "kYieldNow",
                                      "kRetire", "kGrant",   "kReply",  "kNoReply",  "kCall"};
static_assert(std::size(kStateNames) == kStates && std::size(kInputNames) == kInputs);
static_assert(std::size(kActionNames) == static_cast<size_t>(Action::kStop) + 1);
static_assert(std::size(kKindNames) == kKinds);
static_assert(static_cast<size_t>(State::kStopped) + 1 == kStates);
static_assert(static_cast<size_t>(Input::kGone) + 1 == kInputs);

/// Returns false if the mutation is unknown.
bool Mutate(Machine& machine, const std::string& mutation, std::string& defines) {
  constexpr auto kN = Role::kNic;
  if (mutation.empty()) return true;
  if (mutation == "reply_not_taken") {
    machine.Set({kN, State::kLent, Input::kLoad, State::kLoading, Action::kNote});
  } else if (mutation == "ready_not_cleared") {
    machine.Set({kN, State::kLoading, Input::kPreempt, State::kAskedAway, Action::kAnswerYield});
  } else if (mutation == "ready_seen_before_busy_is_set") {
    defines += "#define READY_FIRST\n";
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Machine machine = kMachine;
  std::string text = "/* Generated from coherent/table.h. */\n";
  if (argc < 2 || argc > 3 || !Mutate(machine, argc > 2 ? argv[2] : "", text)) {
    std::fprintf(stderr, "usage: promela TEMPLATE [MUTATION]\n");
    return 2;
  }
  const std::string model = sluice::exhaustive::ReadTemplate(argv[1]);
  if (model.empty()) return 1;
  text += Constants("S_", kStateNames) + Constants("I_", kInputNames) +
          Constants("A_", kActionNames) + Constants("K_", kKindNames) + "byte next, action;\n" +
          // Each state belongs to one role, so one Promela inline serves both roles.
          sluice::exhaustive::Transitions("Find", kStateNames, kInputNames, kActionNames,
                                          [&](size_t state, size_t input) {
                                            return machine.Find(static_cast<State>(state),
                                                                static_cast<Input>(input));
                                          }) +
          model;
  std::fputs(text.c_str(), stdout);
  return 0;
}
