// SPDX-License-Identifier: BSD-3-Clause
//
// A window in shared memory with faults: reads that return all ones, and flipped bits. Each access
// first calls `before_access`, so that one thread can explore every interleaving of accesses.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <utility>

#include "bar/shm_window.h"
#include "bar/window.h"

namespace sluice::engine::sched {

/// Settings that both sides share.
struct WindowFaults {
  std::mt19937_64 random;
  bool dead = false;           ///< Reads return all ones.
  uint32_t flip_permille = 0;  ///< Number of reads with a flipped bit, per thousand.
  std::function<void(bar::WindowSide, bool read)> before_access;
};

class FaultyWindow {
 public:
  FaultyWindow(bar::ShmWindow window, bar::WindowSide side, WindowFaults& faults)
      : window_(std::move(window)), side_(side), faults_(&faults) {}

  uint32_t lines() const { return window_.lines(); }
  uint32_t capabilities() const { return window_.capabilities(); }
  void Post(uint32_t index, const bar::Line& line) {
    faults_->before_access(side_, false);
    window_.Post(index, line);
  }
  uint64_t Peek(uint32_t index) {
    faults_->before_access(side_, true);
    return faults_->dead ? ~uint64_t{0} : Flip(window_.Peek(index));
  }
  bool Poll(uint32_t index, bar::Line& out) {
    faults_->before_access(side_, true);
    if (faults_->dead) {
      out.word.fill(~uint64_t{0});
      return false;
    }
    if (!window_.Poll(index, out)) return false;
    uint64_t& word = out.word[faults_->random() % out.word.size()];
    word = Flip(word);
    return true;
  }
  uint64_t ReadUncached(uint32_t index, uint32_t word) {
    faults_->before_access(side_, true);
    return faults_->dead ? ~uint64_t{0} : Flip(window_.ReadUncached(index, word));
  }
  void Flush() { window_.Flush(); }
  void Interrupt(uint32_t) {}

 private:
  uint64_t Flip(uint64_t word) {
    if (faults_->flip_permille == 0 || faults_->random() % 1000 >= faults_->flip_permille) {
      return word;
    }
    return word ^ uint64_t { 1 } << faults_->random() % 64;
  }

  bar::ShmWindow window_;
  bar::WindowSide side_;
  WindowFaults* faults_;
};
static_assert(bar::WindowEnd<FaultyWindow>);

}  // namespace sluice::engine::sched
