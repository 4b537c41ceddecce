// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace sluice::device::grid {

/// Runs two threads that repeatedly perform one action each at the same time.
class Duel {
 public:
  /// `prepare` and `judge` run while neither thread is active.
  template <typename Prepare, typename One, typename Other, typename Judge>
  static void Fight(Prepare prepare, One one, Other other, Judge judge) {
    constexpr uint32_t kRounds = 200'000;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    std::atomic<uint32_t> begun{0}, done{0};
    std::atomic<bool> over{false};
    std::thread second([&] {
      for (uint32_t round = 1;; ++round) {
        while (!Await(begun, round)) {
          if (over.load()) return;
        }
        for (uint32_t i = round % 61; i != 0; --i) Pause();
        other();
        done.store(round);
      }
    });
    uint32_t round = 1;
    for (; round <= kRounds && std::chrono::steady_clock::now() < end; ++round) {
      prepare();
      begun.store(round);
      for (uint32_t i = round % 997; i != 0; --i) Pause();
      one();
      while (!Await(done, round)) {
      }
      judge();
      if (testing::Test::HasFailure()) break;
    }
    over.store(true);
    second.join();
  }

 private:
  /// Spins for a moment. Returns true once `counter` equals `round`. Otherwise yields the CPU and
  /// returns false, and the caller should try again.
  static bool Await(const std::atomic<uint32_t>& counter, uint32_t round) {
    for (uint32_t i = 0; i < 1000; ++i) {
      if (counter.load() == round) return true;
    }
    std::this_thread::yield();
    return false;
  }
  static void Pause() { std::atomic_signal_fence(std::memory_order_seq_cst); }
};

}  // namespace sluice::device::grid
