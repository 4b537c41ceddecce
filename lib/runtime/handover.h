// SPDX-License-Identifier: BSD-3-Clause
//
// What a worker fills and another thread takes over, again and again, without a lock and without
// losing anything: two halves, one the worker's, one the reader's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace sluice::runtime {

/// `T` is what a half holds; whoever takes it empties it.
template <typename T>
class Handover {
 public:
  template <typename... Arguments>
  explicit Handover(const Arguments&... arguments) : halves_{T(arguments...), T(arguments...)} {}
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  // The worker, until it leaves:

  /// Its half. Another one after AtRest.
  T& filling() { return halves_[filling_]; }
  /// Between bursts: gives the half away if the reader has emptied the other one.
  void AtRest() {
    if (state_.load(std::memory_order_acquire) != State::kAsked) return;
    filling_ ^= 1;
    state_.store(State::kGiven, std::memory_order_release);
  }
  /// After the last use of filling().
  void Leave() { state_.store(State::kLeft, std::memory_order_release); }

  // The reader, one thread at a time:

  /// Calls `use(T&)`, which empties it, with what was given, if something was, and asks for more.
  /// After the worker left: with all there is.
  template <typename Use>
  void Take(Use use) {
    State state = state_.load(std::memory_order_acquire);
    if (state == State::kGiven || state == State::kWorking) {
      if (state == State::kGiven) use(halves_[filling_ ^ 1]);
      // Only the worker's leaving can come between.
      state_.compare_exchange_strong(state, State::kAsked, std::memory_order_acq_rel);
    }
    if (state_.load(std::memory_order_acquire) != State::kLeft) return;
    for (T& half : halves_) use(half);
  }

 private:
  enum class State : uint8_t {
    kWorking,  ///< Nobody has asked yet.
    kAsked,    ///< The other half is empty; the worker may give its own.
    kGiven,    ///< The other half is the reader's.
    kLeft,     ///< Both are.
  };

  std::array<T, 2> halves_;
  uint32_t filling_ = 0;  ///< Written by the worker; the reader reads it in kGiven and kLeft only.
  std::atomic<State> state_{State::kWorking};
};

}  // namespace sluice::runtime
