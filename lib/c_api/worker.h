// SPDX-License-Identifier: BSD-3-Clause
//
// What one thread works with: the part that all kinds of engines have.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "c_api/arena.h"
#include "c_api/frame_burst.h"
#include "packet/outbox.h"
#include "sluice/engines.h"

namespace sluice::c_api {

/// Frames by their endings. One thread writes, others read through Load.
struct WorkerTotals {
  enum Total : uint8_t {
    kFrames,
    kBytes,  ///< Of frames as they came.
    kForwarded,
    kForwardedBytes,  ///< Of frames as they leave, those sent of the engine's own accord included.
    kConsumed,
    kPassed,
    kSent,    ///< Of the engine's own accord.
    kUnsent,  ///< The same, for want of memory.
    kTotals
  };
  static constexpr std::array<const char*, kTotals> kNames{
      "frames", "bytes", "forwarded", "forwarded_bytes", "consumed", "passed", "sent", "unsent"};

  std::array<uint64_t, kTotals> totals{};
  std::array<uint64_t, 256> drops{};  ///< By reason.

  static void Add(uint64_t& total, uint64_t amount) {
    std::atomic_ref(total).store(total + amount, std::memory_order_relaxed);
  }
  static uint64_t Load(const uint64_t& total) {
    return std::atomic_ref(const_cast<uint64_t&>(total)).load(std::memory_order_relaxed);
  }
};

}  // namespace sluice::c_api

/// C's incomplete type.
struct sluice_worker {
 public:
  /// `no_memory`: the reason of frames that it has no memory for.
  explicit sluice_worker(uint8_t no_memory) : no_memory_(no_memory) {}
  virtual ~sluice_worker() = default;
  sluice_worker(const sluice_worker&) = delete;

  /// The worker's thread: the call of the interface. An engine that runs out of memory in the
  /// middle of it has no state to go on from: the program ends.
  void Process(std::span<sluice_frame> frames, uint64_t now) noexcept;
  std::span<const sluice_frame> sent() const { return sent_; }
  std::span<const sluice_line> lines() const { return lines_; }

  // Any thread:

  const sluice::c_api::WorkerTotals& totals() const { return totals_; }
  /// Returns when a call that is under way has ended. What was replaced before is read by none that
  /// begins later: each fences before it reads.
  void AwaitEndOfCall() const;

  /// What an outbox calls. The worker's thread.
  bool Send(const uint8_t* frame, uint32_t length);

 protected:
  /// Takes up the time and what was replaced, then handles frames.
  virtual void Work(sluice::c_api::FrameBurst& burst, uint64_t now) = 0;

  sluice::packet::Outbox outbox() { return sluice::packet::Outbox::To(*this); }
  /// Hands out a copy of a line; not, if there is no memory.
  void AddLine(sluice_line line, const std::string& source);

 private:
  void Count(std::span<const sluice_frame> frames);

  const uint8_t no_memory_;
  /// Odd during a call.
  std::atomic<uint64_t> calls_{0};
  sluice::c_api::Arena arena_;
  std::vector<sluice_frame> sent_;
  std::vector<sluice_line> lines_;
  sluice::c_api::WorkerTotals totals_;
};
