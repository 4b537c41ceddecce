// SPDX-License-Identifier: BSD-3-Clause
//
// Runs one block between every two consecutive instructions of another block, using x86's trap
// flag.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace sluice::device::grid {

/// Runs `first`, and runs `other` after instruction number `at` of `first`. If `other` returns
/// false, it has done nothing and runs again after the next instruction. Returns the number of the
/// instruction after which `other` returned true, or nothing if `first` ended before.
inline std::optional<uint64_t> Interleave(const std::function<void()>& first,
                                          const std::function<bool()>& other, uint64_t at) {
  constexpr uint64_t kTrap = 0x100;
  static struct {
    uint64_t at, seen;
    const std::function<bool()>* other;
    bool done;
  } state;
  state = {at, 0, &other, false};
  struct sigaction action = {}, before = {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t*, void* context) {
    if (state.done || state.seen++ < state.at) return;
    state.done = (*state.other)();
    // The rest of `first` need not be single-stepped.
    auto& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
    if (state.done) flags &= ~static_cast<greg_t>(kTrap);
  };
  sigaction(SIGTRAP, &action, &before);
  __writeeflags(__readeflags() | kTrap);
  first();
  __writeeflags(__readeflags() & ~kTrap);
  sigaction(SIGTRAP, &before, nullptr);
  if (!state.done) return std::nullopt;
  return state.seen - 1;
}

/// Interleaves two actions at every instruction of the first one. `prepare` runs before each
/// attempt, `judge` after it.
inline void ExploreFirst(const std::function<void()>& prepare, const std::function<void()>& first,
                         const std::function<bool()>& other, const std::function<void()>& judge) {
  uint32_t attempts = 0;
  for (std::optional<uint64_t> at = 0; at && !testing::Test::HasFailure(); ++attempts) {
    SCOPED_TRACE("instruction " + std::to_string(*at));
    prepare();
    // All instructions after which `other` has to wait are one attempt.
    at = Interleave(first, other, *at);
    if (!at) {
      EXPECT_TRUE(other());
    } else {
      ++*at;
    }
    judge();
  }
  EXPECT_GT(attempts, 5u);
}

/// Interleaves two actions at every instruction of either one.
inline void Explore(const std::function<void()>& prepare, const std::function<bool()>& one,
                    const std::function<bool()>& other, const std::function<void()>& judge) {
  for (const auto& [first, second] : {std::pair{&one, &other}, {&other, &one}}) {
    ExploreFirst(
        prepare, [first = first] { (*first)(); }, *second, judge);
  }
}

}  // namespace sluice::device::grid
