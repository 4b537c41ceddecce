// SPDX-License-Identifier: BSD-3-Clause
//
// Lines in memory that both sides map: how they are published and read. Word 0 is
// stored last with release order and read first with acquire order; the writer keeps
// the other words unchanged while the reader may look (window.h), so nothing is retried.
#pragma once

#include <atomic>
#include <cstdint>

#include "bar/window.h"

namespace sluice::bar {

/// Stores `line` to shared memory. One writer at a time.
inline void PublishLine(Line& shared, const Line& line) {
  for (uint32_t i = 1; i < line.word.size(); ++i) {
    std::atomic_ref(shared.word[i]).store(line.word[i], std::memory_order_relaxed);
  }
  std::atomic_ref(shared.word[0]).store(line.word[0], std::memory_order_release);
}

inline uint64_t PeekLine(const Line& shared) {
  return std::atomic_ref(const_cast<uint64_t&>(shared.word[0])).load(std::memory_order_acquire);
}

inline void ReadLine(const Line& shared, Line& out) {
  out.word[0] = PeekLine(shared);
  for (uint32_t i = 1; i < out.word.size(); ++i) {
    out.word[i] =
        std::atomic_ref(const_cast<uint64_t&>(shared.word[i])).load(std::memory_order_relaxed);
  }
}

}  // namespace sluice::bar
