// SPDX-License-Identifier: BSD-3-Clause
//
// Repeatedly passes data from a worker to a reader thread, without locks or loss. The worker fills
// one half while the reader empties the other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace sluice::runtime {

/// Two halves of type `T`. The reader must empty a half before returning it.
template <typename T>
class Handover {
 public:
  template <typename... Arguments>
  explicit Handover(const Arguments&... arguments) : halves_{T(arguments...), T(arguments...)} {}
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  // Only the worker may call the following functions, and only until it calls Leave.

  /// Returns the half that the worker fills. AtRest may switch to the other half.
  T& filling() { return halves_[filling_]; }
  /// Passes the half to the reader if the reader has emptied the other half. Call it between
  /// bursts.
  void AtRest() {
    if (state_.load(std::memory_order_acquire) != State::kAsked) return;
    filling_ ^= 1;
    state_.store(State::kGiven, std::memory_order_release);
  }
  /// Call it after the last use of filling().
  void Leave() { state_.store(State::kLeft, std::memory_order_release); }

  // One reader at a time may call the following functions.

  /// If the worker has passed a half, calls `use(T&)`, which must empty the half. Then requests the
  /// next half. After Leave, calls `use` with both halves.
  template <typename Use>
  void Consume(Use use) {
    State state = state_.load(std::memory_order_acquire);
    if (state == State::kGiven || state == State::kWorking) {
      if (state == State::kGiven) use(halves_[filling_ ^ 1]);
      // Only Leave can change the state concurrently.
      state_.compare_exchange_strong(state, State::kAsked, std::memory_order_acq_rel);
    }
    if (state_.load(std::memory_order_acquire) != State::kLeft) return;
    for (T& half : halves_) use(half);
  }

 private:
  enum class State : uint8_t {
    kWorking,  ///< The reader has not yet requested a half.
    kAsked,    ///< The other half is empty, and the worker may pass on the half that it is filling.
    kGiven,    ///< The reader owns the other half.
    kLeft,     ///< The reader owns both halves.
  };

  std::array<T, 2> halves_;
  uint32_t filling_ = 0;  ///< Written by the worker. The reader reads it only in kGiven and kLeft.
  std::atomic<State> state_{State::kWorking};
};

}  // namespace sluice::runtime
