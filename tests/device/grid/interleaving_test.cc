// SPDX-License-Identifier: BSD-3-Clause
//
// Runs one block between every two consecutive instructions of another block, using x86's trap
// flag.
#include <gtest/gtest.h>
#include <signal.h>
#include <x86intrin.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "pipe_bench.h"

namespace sluice::device::grid {
namespace {

/// Runs `first`, and runs `other` after instruction number `at` of `first`. Returns the number of
/// instructions of `first`.
uint64_t Interleave(const std::function<void()>& first, const std::function<void()>& other,
                    uint64_t at) {
  static struct {
    uint64_t at, seen;
    const std::function<void()>* other;
  } state;
  state = {at, 0, &other};
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {
    if (state.seen++ == state.at) (*state.other)();
  };
  sigaction(SIGTRAP, &action, &before);
  constexpr uint64_t kTrap = 0x100;
  __writeeflags(__readeflags() | kTrap);
  first();
  __writeeflags(__readeflags() & ~kTrap);
  sigaction(SIGTRAP, &before, nullptr);
  return state.seen;
}

class Interleaving : public PipeBench {
 protected:
  void Explore(const std::function<void()>& prepare, const std::function<void()>& one,
               const std::function<void()>& other, const std::function<void()>& judge) {
    for (const auto& [first, second] : {std::pair{&one, &other}, {&other, &one}}) {
      uint64_t at = 0;
      for (uint64_t all = 1; at < all && !HasFailure(); ++at) {
        SCOPED_TRACE("instruction " + std::to_string(at));
        prepare();
        all = Interleave(*first, *second, at);
        judge();
      }
      EXPECT_GT(at, 5u);
    }
  }
};

TEST_F(Interleaving, FramesThatArriveAsTheHeadIsStoredAreNotified) {
  Explore([&] { HoldOneFrame(); }, [&] { StoreHead(tail_); }, [&] { Accept(); },
          [&] { ExpectOneNotification(); });
}

TEST_F(Interleaving, ADropDoesNotMuteAPipeThatIsEmptiedMeanwhile) {
  Explore([&] { Fill(); }, [&] { StoreHead(tail_); }, [&] { Drop(); }, [&] { ExpectArmed(); });
}

}  // namespace
}  // namespace sluice::device::grid
