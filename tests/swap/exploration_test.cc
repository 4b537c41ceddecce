// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the production code of both ends against every behavior of the adversary within the bounds.
// The same search must find the fault in each variant that is known to be wrong. The expectations
// follow from the analysis of the atomic bilateral swap; the properties that may be violated are
// fixed before the search begins.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "world.h"

namespace sluice::swap::test {
namespace {

Exploration Explore(const std::string& name, const Config& config) {
  const Exploration found = Explorer(SwapWorld(config)).Run();
  std::string broken;
  for (uint8_t property = 0; property <= kSound; ++property) {
    if (found.violating[property] != 0) {
      broken += "  " + std::string(PropertyName(property)) + " " +
                std::to_string(found.violating[property]);
    }
  }
  std::printf("%-58s %8llu states  violations %llu, stuck %llu%s\n", name.c_str(),
              static_cast<unsigned long long>(found.states),
              static_cast<unsigned long long>(found.violations()),
              static_cast<unsigned long long>(found.unresolvable), broken.c_str());
  EXPECT_TRUE(found.complete) << name;
  return found;
}

void ExpectSafe(const std::string& name, const Config& config) {
  const Exploration found = Explore(name, config);
  EXPECT_EQ(found.violations(), 0u) << name << "\n" << found.trace;
  EXPECT_EQ(found.unresolvable, 0u) << name << "\n" << found.trace;
}

void ExpectBroken(const std::string& name, const Config& config, Property property) {
  const Exploration found = Explore(name, config);
  EXPECT_GT(found.violating[property], 0u) << name << " was not caught\n" << found.trace;
}

void ExpectStuck(const std::string& name, const Config& config) {
  const Exploration found = Explore(name, config);
  EXPECT_GT(found.unresolvable, 0u) << name << " was not caught";
}

constexpr auto kI = Role::kInitiator;
constexpr auto kR = Role::kResponder;

Machine With(Machine machine, std::initializer_list<Row> rows) {
  for (const Row& row : rows) machine.Set(row);
  return machine;
}

// ---------------------------------------------------------------- two messages

TEST(TwoMessages, OnARegisterThatLosesAndRepeats) {
  ExpectSafe("2 messages: register, 3 swaps, standing", {.swaps = 3, .standing = true});
}

TEST(TwoMessages, WhenTheLinkIsReset) {
  ExpectSafe("2 messages: register, 3 swaps, 1 reset", {.swaps = 3, .resets = 1});
  ExpectSafe("2 messages: register, 2 swaps, 2 resets, standing",
             {.swaps = 2, .resets = 2, .standing = true});
}

TEST(TwoMessages, WhenEndsRestartWithMemory) {
  ExpectSafe("2 messages: register, 2 swaps, 1 reset, resume",
             {.swaps = 2, .resets = 1, .resume = true, .standing = true});
}

TEST(TwoMessages, WhenEndsLoseTheirMemory) {
  ExpectSafe("2 messages: register, 2 swaps, both forget",
             {.swaps = 2, .initiator_restarts = 1, .responder_restarts = 1});
  ExpectSafe("2 messages: register, 1 swap, both forget, 1 reset, resume", {.swaps = 1,
                                                                            .resets = 1,
                                                                            .initiator_restarts = 1,
                                                                            .responder_restarts = 1,
                                                                            .resume = true,
                                                                            .expire = false,
                                                                            .cancel = false,
                                                                            .conditional = false});
  ExpectSafe("2 messages: register, 2 swaps, owner forgets twice",
             {.swaps = 2, .responder_restarts = 2, .conditional = false});
}

TEST(TwoMessages, WhenLinesOvertake) {
  ExpectSafe("2 messages: 3 lines in flight, reordered, 3 swaps",
             {.swaps = 3, .depth = 3, .standing = true});
  ExpectSafe("2 messages: 2 lines in flight, reordered, 1 reset, owner forgets",
             {.swaps = 2,
              .depth = 2,
              .resets = 1,
              .responder_restarts = 1,
              .expire = false,
              .conditional = false});
}

TEST(TwoMessages, InOrder) {
  ExpectSafe("2 messages: queue of 3, lost and repeated, 3 swaps",
             {.swaps = 3, .in_order = true, .depth = 3});
}

TEST(TwoMessages, NoPostIsForgotten) {
  ExpectSafe("2 messages: ports' posts alone, resets, restarts", {.swaps = 2,
                                                                  .resets = 1,
                                                                  .initiator_restarts = 1,
                                                                  .responder_restarts = 1,
                                                                  .resume = true,
                                                                  .on_demand = true});
}

TEST(TwoMessages, WhenALineIsReadOrLeftHalfStored) {
  ExpectSafe("2 messages: torn, killed while posting, owner forgets", {.swaps = 2,
                                                                       .depth = 2,
                                                                       .responder_restarts = 1,
                                                                       .resume = true,
                                                                       .expire = false,
                                                                       .cancel = false,
                                                                       .conditional = false,
                                                                       .on_demand = true,
                                                                       .torn = true});
  ExpectSafe("2 messages: torn, killed while posting, both forget", {.swaps = 1,
                                                                     .depth = 2,
                                                                     .initiator_restarts = 1,
                                                                     .responder_restarts = 1,
                                                                     .resume = true,
                                                                     .expire = false,
                                                                     .cancel = false,
                                                                     .conditional = false,
                                                                     .on_demand = true,
                                                                     .torn = true});
}

// ---------------------------------------------------------------- four messages

TEST(FourMessages, OnARegisterThatLosesAndRepeats) {
  ExpectSafe("4 messages: register, 2 swaps, standing",
             {.machine = &kFourMessage, .swaps = 2, .standing = true});
}

TEST(FourMessages, WhenTheLinkIsReset) {
  ExpectSafe("4 messages: register, 2 swaps, 1 reset, resume",
             {.machine = &kFourMessage, .swaps = 2, .resets = 1, .resume = true});
}

TEST(FourMessages, WhenEndsLoseTheirMemory) {
  ExpectSafe("4 messages: register, 2 swaps, both forget", {.machine = &kFourMessage,
                                                            .swaps = 2,
                                                            .initiator_restarts = 1,
                                                            .responder_restarts = 1,
                                                            .expire = false,
                                                            .conditional = false});
}

TEST(FourMessages, WhenLinesOvertake) {
  ExpectSafe("4 messages: 3 lines in flight, reordered, 2 swaps",
             {.machine = &kFourMessage, .swaps = 2, .depth = 3, .conditional = false});
}

TEST(FourMessages, InOrder) {
  ExpectSafe(
      "4 messages: queue of 3, lost and repeated, 2 swaps",
      {.machine = &kFourMessage, .swaps = 2, .in_order = true, .depth = 3, .conditional = false});
}

TEST(FourMessages, NoPostIsForgotten) {
  ExpectSafe("4 messages: ports' posts alone, resets, restarts", {.machine = &kFourMessage,
                                                                  .swaps = 1,
                                                                  .resets = 1,
                                                                  .initiator_restarts = 1,
                                                                  .responder_restarts = 1,
                                                                  .resume = true,
                                                                  .on_demand = true});
}

TEST(FourMessages, WhenALineIsReadOrLeftHalfStored) {
  ExpectSafe("4 messages: torn, killed while posting, initiator forgets", {.machine = &kFourMessage,
                                                                           .swaps = 1,
                                                                           .depth = 2,
                                                                           .initiator_restarts = 1,
                                                                           .resume = true,
                                                                           .expire = false,
                                                                           .conditional = false,
                                                                           .on_demand = true,
                                                                           .torn = true});
  ExpectSafe("4 messages: torn, killed while posting, owner forgets", {.machine = &kFourMessage,
                                                                       .swaps = 1,
                                                                       .depth = 2,
                                                                       .responder_restarts = 1,
                                                                       .resume = true,
                                                                       .expire = false,
                                                                       .conditional = false,
                                                                       .on_demand = true,
                                                                       .torn = true});
}

TEST(FourMessages, InitiatorMayRollBackBeforeItCommits) {
  const Machine machine =
      With(kFourMessage, {{Variant::kFourMessage, kI, State::kOffer, Input::kExpired,
                           State::kCancel, Action::kPublishCancel},
                          {Variant::kFourMessage, kI, State::kValidate, Input::kExpired,
                           State::kAbort, Action::kDecideAbort}});
  ExpectSafe("4 messages: initiator rolls back at the horizon", {.machine = &machine, .swaps = 2});
}

// ---------------------------------------------------------------- minimum number of id bits

TEST(TransactionIds, OneBitIsEnoughInOrder) {
  const Machine parity(Variant::kTwoMessage, kRows, 1);
  ExpectSafe("2 messages, 1-bit ids: queue of 2, 5 swaps",
             {.machine = &parity, .swaps = 5, .in_order = true, .depth = 2});
  ExpectSafe("2 messages, 1-bit ids: register, 5 swaps", {.machine = &parity, .swaps = 5});
}

TEST(TransactionIds, OneBitFailsWhenLinesOvertake) {
  const Machine parity(Variant::kTwoMessage, kRows, 1);
  ExpectBroken("2 messages, 1-bit ids: 2 lines in flight, reordered",
               {.machine = &parity, .swaps = 3, .depth = 2}, kAgreement);
}

// Ids of two bits repeat after four swaps, so the fifth swap shares an id with the first.
TEST(TransactionIds, TwoBitsAreEnoughForTwoLinesInFlight) {
  const Machine two_bits(Variant::kTwoMessage, kRows, 3);
  ExpectSafe("2 messages, 2-bit ids: 2 lines in flight, reordered, 5 swaps",
             {.machine = &two_bits, .swaps = 5, .depth = 2, .conditional = false});
}

TEST(TransactionIds, TwoBitsFailForALineThatIsLateEnough) {
  const Machine two_bits(Variant::kTwoMessage, kRows, 3);
  ExpectBroken("2 messages, 2-bit ids: 4 lines in flight, reordered, 5 swaps",
               {.machine = &two_bits, .swaps = 5, .depth = 4, .cancel = false}, kAgreement);
}

// ---------------------------------------------------------------- unsafe variants

TEST(Unsafe, InitiatorRollsBackAtTheHorizon) {
  const Machine machine = With(kTwoMessage, {{Variant::kTwoMessage, kI, State::kOffer,
                                              Input::kExpired, State::kIdle, Action::kRestore}});
  ExpectBroken("unsafe, 2 messages: initiator rolls back at the horizon", {.machine = &machine},
               kAgreement);
}

TEST(Unsafe, ResponderRollsBackAtTheHorizon) {
  const Machine machine = With(kFourMessage, {{Variant::kFourMessage, kR, State::kTentative,
                                               Input::kExpired, State::kReady, Action::kRelease}});
  ExpectBroken("unsafe, 4 messages: responder rolls back at the horizon", {.machine = &machine},
               kAgreement);
}

TEST(Unsafe, RecordZeroedByAReset) {
  const Config config = {.swaps = 2, .resets = 1, .forget_at_reset = true};
  ExpectBroken("unsafe, 2 messages: record zeroed by a reset", config, kAtMostOnce);
  ExpectBroken("  the same: applied, and answered with X", config, kAgreement);
}

TEST(Unsafe, AbortNotAcknowledged) {
  const Machine machine =
      With(kFourMessage, {{Variant::kFourMessage, kI, State::kAbort, Input::kCallOffer,
                           State::kOffer, Action::kPublishOffer}});
  ExpectStuck("unsafe, 4 messages: next offer before the abort is confirmed",
              {.machine = &machine});
}

TEST(Unsafe, Word0NotBoundToTheMeeting) {
  ExpectBroken("unsafe: lines not bound, read while they are stored",
               {.swaps = 2,
                .depth = 2,
                .responder_restarts = 1,
                .expire = false,
                .conditional = false,
                .on_demand = true,
                .torn = true,
                .unbound = true},
               kSound);
  ExpectBroken("unsafe: lines not bound, end killed while it posts",
               {.swaps = 1,
                .responder_restarts = 1,
                .resume = true,
                .expire = false,
                .conditional = false,
                .on_demand = true,
                .torn = true,
                .unbound = true},
               kAtMostOnce);
}

}  // namespace
}  // namespace sluice::swap::test
