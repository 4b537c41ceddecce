// SPDX-License-Identifier: BSD-3-Clause
//
// What sluice-rpc shares with the process of one service: a page of words, and behind it an
// endpoint for each core. One sealed file without a name; either end may die at any instant, and
// neither believes what the other wrote.
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

/// What a service's process has come to.
enum class Phase : uint32_t {
  kStarting,
  kReady,   ///< `base`, `procedures` and `entries` are there.
  kFailed,  ///< `error` says why.
};

/// Who has a core: a futex. The supervisor stores kService and waits until it is kKernel again.
enum class Turn : uint32_t { kKernel, kService };

struct ProcessPage {
  static constexpr uint32_t kMaxProcedures = 256;
  static constexpr uint32_t kBytes = 8192;

  uint32_t phase;       ///< Phase. Written by the service last (release).
  uint32_t procedures;  ///< Entries.
  uint64_t base;        ///< Where the service mapped this page.
  std::array<char, 240> error;
  struct alignas(64) Core {
    uint32_t turn;
    uint32_t thread;  ///< Of the service, which has the core: its id in Linux; 0: not up yet.
  };
  std::array<Core, device::rpc::kMaxCores> cores;
  std::array<device::rpc::Entry, kMaxProcedures> entries;
};
static_assert(sizeof(ProcessPage) <= ProcessPage::kBytes);

/// Every user endpoint is laid out like this: lines for 4200 bytes, buffers for what is longer.
inline constexpr coherent::Geometry kUserGeometry = {.overflow_lines = 32, .buffer_bytes = 65536};
inline constexpr coherent::Geometry kKernelGeometry = {.mode = coherent::Mode::kKernel,
                                                       .overflow_lines = 0};

/// Bytes of the file for `cores` cores, and where the endpoint of one begins.
inline size_t ProcessBytes(uint32_t cores) {
  return ProcessPage::kBytes + cores * kUserGeometry.Bytes();
}
inline size_t EndpointOffset(uint32_t core) {
  return ProcessPage::kBytes + core * kUserGeometry.Bytes();
}

/// Waits while `word`, which another process may store to, is `value`; at most `patience_ns`.
void WaitWhile(uint32_t& word, uint32_t value, uint64_t patience_ns);
/// Stores (release) and wakes all that wait.
void StoreAndWake(uint32_t& word, uint32_t value);
inline uint32_t LoadWord(uint32_t& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

}  // namespace sluice::rpc_app
