// SPDX-License-Identifier: BSD-3-Clause
//
// Publishes and reads lines in memory that both sides map.
//
// A writer stores word 1, then words 2 … 7, then word 0. A reader loads word 0, then words 2 … 7,
// then word 1, and finally word 0 again. A writer that follows window.h does not change the other
// words while word 0 publishes them, so readers need no retry. The exception is a line in which
// word 1 changes (swap/message.h: an end that lost its state or has a new peer). A reader that saw
// any word of the new line also sees the new word 1, next to the old word 0, and detects from word
// 1 that the two do not belong together.
#pragma once

#include <atomic>
#include <cstdint>

#include "bar/window.h"

namespace sluice::bar {

/// Stores `line` to shared memory. Only one thread at a time may write a line.
inline void PublishLine(Line& shared, const Line& line) {
#pragma GCC unroll 8
  for (uint32_t i = 1; i < line.word.size(); ++i) {
    std::atomic_ref(shared.word[i]).store(line.word[i], std::memory_order_release);
  }
  std::atomic_ref(shared.word[0]).store(line.word[0], std::memory_order_release);
}

/// Returns one word (acquire); `word` must be below 8.
inline uint64_t ReadWord(const Line& shared, uint32_t word) {
  return std::atomic_ref(const_cast<uint64_t&>(shared.word[word])).load(std::memory_order_acquire);
}
inline uint64_t PeekLine(const Line& shared) { return ReadWord(shared, 0); }

/// Reads a line. Returns false if word 0 changed during the read; the caller must then read again.
inline bool ReadLine(const Line& shared, Line& out) {
  out.word[0] = ReadWord(shared, 0);
#pragma GCC unroll 8
  for (uint32_t i = 2; i < out.word.size(); ++i) out.word[i] = ReadWord(shared, i);
  out.word[1] = ReadWord(shared, 1);
  return ReadWord(shared, 0) == out.word[0];
}

}  // namespace sluice::bar
