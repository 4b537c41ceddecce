// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that sluice-rpc shares with the process of one service: a page of words, followed by an
// endpoint for each core. It is an unnamed, sealed file. Either end may die at any time, and
// neither trusts the other's data.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "coherent/layout.h"
#include "device/rpc/placement.h"
#include "device/rpc/services.h"

namespace sluice::rpc_app {

/// State of a service's process.
enum class Phase : uint32_t {
  kStarting,
  kReady,   ///< `base`, `procedures` and `entries` are valid.
  kFailed,  ///< `error` contains the reason.
};

/// Owner of a core; a futex. The supervisor stores kService, and waits until the owner is kKernel
/// again.
enum class Turn : uint32_t { kKernel, kService };

struct ProcessPage {
  static constexpr uint32_t kMaxProcedures = 256;
  static constexpr uint32_t kBytes = 8192;

  uint32_t phase;       ///< A Phase. The service writes it last (release).
  uint32_t procedures;  ///< Number of entries.
  uint64_t base;        ///< Address at which the service mapped this page.
  std::array<char, 240> error;
  struct alignas(64) Core {
    uint32_t turn;
    uint32_t thread;  ///< Linux thread ID of the service's thread for this core; 0: not started.
  };
  std::array<Core, device::rpc::kMaxCores> cores;
  std::array<device::rpc::Entry, kMaxProcedures> entries;
};
static_assert(sizeof(ProcessPage) <= ProcessPage::kBytes);

/// Layout of every user endpoint: lines for up to 4200 bytes, and buffers for longer data.
inline constexpr coherent::Geometry kUserGeometry = {.overflow_lines = 32, .buffer_bytes = 65536};
inline constexpr coherent::Geometry kKernelGeometry = {.mode = coherent::Mode::kKernel,
                                                       .overflow_lines = 0};

/// Return the size in bytes of the file for `cores` cores, and the offset of one core's endpoint.
inline size_t ProcessBytes(uint32_t cores) {
  return ProcessPage::kBytes + cores * kUserGeometry.Bytes();
}
inline size_t EndpointOffset(uint32_t core) {
  return ProcessPage::kBytes + core * kUserGeometry.Bytes();
}

/// Waits at most `patience_ns` while `word`, which another process may change, equals `value`.
void WaitWhile(uint32_t& word, uint32_t value, uint64_t patience_ns);
/// Stores `value` (release) and wakes all waiters.
void StoreAndWake(uint32_t& word, uint32_t value);
inline uint32_t LoadWord(uint32_t& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

}  // namespace sluice::rpc_app
