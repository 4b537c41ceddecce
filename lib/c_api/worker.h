// SPDX-License-Identifier: BSD-3-Clause
//
// Base of the workers of all engine kinds: the state that one thread needs to process frames.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/counter_rows.h"
#include "c_api/arena.h"
#include "c_api/frame_burst.h"
#include "packet/outbox.h"
#include "sluice/engines.h"

namespace sluice::c_api {

/// Frame counters by verdict. One thread writes; others read with Load.
struct WorkerTotals {
  enum Total : uint8_t {
    kFrames,
    kBytes,  ///< Bytes of received frames.
    kForwarded,
    kForwardedBytes,  ///< Bytes of transmitted frames, including generated ones.
    kConsumed,
    kPassed,
    kSent,    ///< Frames that the engine generated.
    kUnsent,  ///< Generated frames that were lost because no memory was available.
    kTotals
  };
  static constexpr auto kNames = base::Names<Total, kTotals>({{kFrames, "frames"},
                                                              {kBytes, "bytes"},
                                                              {kForwarded, "forwarded"},
                                                              {kForwardedBytes, "forwarded_bytes"},
                                                              {kConsumed, "consumed"},
                                                              {kPassed, "passed"},
                                                              {kSent, "sent"},
                                                              {kUnsent, "unsent"}});

  std::array<uint64_t, kTotals> totals{};
  std::array<uint64_t, 256> drops{};  ///< Dropped frames, by reason.

  static void Add(uint64_t& total, uint64_t amount) {
    std::atomic_ref(total).store(total + amount, std::memory_order_relaxed);
  }
  static uint64_t Load(const uint64_t& total) {
    return std::atomic_ref(const_cast<uint64_t&>(total)).load(std::memory_order_relaxed);
  }
};

}  // namespace sluice::c_api

/// The C interface's opaque worker type.
struct sluice_worker {
 public:
  /// `no_memory` is the drop reason for lack of memory.
  explicit sluice_worker(uint8_t no_memory) : no_memory_(no_memory) {}
  virtual ~sluice_worker() = default;
  sluice_worker(const sluice_worker&) = delete;

  /// Implements sluice_worker_process. Called by the worker's thread. If an engine runs out of
  /// memory inside this call, its state is not recoverable and the program ends.
  void Process(std::span<sluice_frame> frames, uint64_t now) noexcept;
  std::span<const sluice_frame> sent() const { return sent_; }
  std::span<const sluice_line> lines() const { return lines_; }

  // Any thread may call the following functions.

  const sluice::c_api::WorkerTotals& totals() const { return totals_; }
  /// Returns when the call in progress, if any, has ended. Later calls never load an object that
  /// has already been replaced, because each call starts with a fence.
  void AwaitEndOfCall() const;

  /// Called by the outbox, on the worker's thread.
  bool Send(const uint8_t* frame, uint32_t length);

 protected:
  /// Updates the time, loads replaced objects, then processes the frames.
  virtual void Work(sluice::c_api::FrameBurst& burst, uint64_t now) = 0;

  sluice::packet::Outbox outbox() { return sluice::packet::Outbox::To(*this); }
  /// Adds a copy of a line to lines(), unless no memory is available.
  void AddLine(sluice_line line, const std::string& source);

 private:
  void Count(std::span<const sluice_frame> frames);

  const uint8_t no_memory_;
  /// Counts the starts and ends of calls, so it is odd during a call.
  std::atomic<uint64_t> calls_{0};
  sluice::c_api::Arena arena_;
  std::vector<sluice_frame> sent_;
  std::vector<sluice_line> lines_;
  sluice::c_api::WorkerTotals totals_;
};
