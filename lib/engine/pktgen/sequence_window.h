// SPDX-License-Identifier: BSD-3-Clause
//
// Which frames of one sequence have come back: a bit for each of the last ones. The sender takes
// numbers, receivers mark them. What leaves the window unmarked is missing, and where is kept.
//
// Numbers are 64 bits wide; a tag carries the low 32, and the sender's next number tells the rest.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::engine::pktgen {

/// Numbers in a row that are missing.
struct Gone {
  uint64_t first = 0;
  uint64_t count = 0;

  friend bool operator==(const Gone&, const Gone&) = default;
};

/// Ranges of what is missing, in order. The first kMost of them are kept.
class GoneList {
 public:
  static constexpr size_t kMost = 256;

  /// Numbers from 64 × `word` on, those missing whose bit is not set in `marked`.
  void Note(uint64_t word, uint64_t marked) {
    for (uint64_t missing = ~marked; missing != 0;) {
      const auto first = static_cast<uint32_t>(std::countr_zero(missing));
      const auto count = static_cast<uint32_t>(std::countr_one(missing >> first));
      Add(word * 64 + first, count);
      if (first + count == 64) return;
      missing = missing >> (first + count) << (first + count);
    }
  }
  const std::vector<Gone>& ranges() const { return ranges_; }

 private:
  void Add(uint64_t first, uint64_t count) {
    if (!ranges_.empty() && ranges_.back().first + ranges_.back().count == first) {
      ranges_.back().count += count;
    } else if (ranges_.size() < kMost) {
      ranges_.push_back({first, count});
    }
  }

  std::vector<Gone> ranges_;
};

/// One thread sends, any receive, and anybody counts once these are at rest.
class SequenceWindow {
 public:
  enum class Marked : uint8_t {
    kNew,
    kTwice,
    kLate,    ///< Older than the window: counted as missing before, or a duplicate.
    kUnsent,  ///< Nobody sent such a number.
  };

  /// Numbers between the window and what the sender clears for the next ones: a receiver may be
  /// that slow between looking at next() and marking.
  static constexpr uint64_t kMargin = 4096;

  /// `numbers`: a power of two, at least 4 kMargin. `shared`: several threads receive.
  SequenceWindow(uint64_t numbers, bool shared)
      : mask_(numbers / 64 - 1),
        shared_(shared),
        words_(std::make_unique<std::atomic<uint64_t>[]>(numbers / 64)) {}

  /// The sender: from now on numbers below `next` may come. Never goes back, and never by more
  /// than kMargin at a time.
  void Reach(uint64_t next) {
    const uint64_t now = next_.load(std::memory_order_relaxed);
    if (next <= now) return;
    // Words that `next` - 1 has not touched yet are of an earlier round.
    for (uint64_t word = (now + 63) / 64; word < (next + 63) / 64; ++word) Retire(word);
    next_.store(next, std::memory_order_release);
  }
  uint64_t next() const { return next_.load(std::memory_order_acquire); }

  /// A receiver: the number whose low bits are `low` came; `number` is all of it, unless kUnsent.
  Marked Mark(uint32_t low, uint64_t* number) {
    const uint64_t next = this->next();
    const auto behind = static_cast<uint32_t>(static_cast<uint32_t>(next) - 1 - low);
    if (behind >= next || behind > kMostBehind) return Marked::kUnsent;
    *number = next - 1 - behind;
    if (behind + kMargin >= 64 * (mask_ + 1)) return Marked::kLate;
    std::atomic<uint64_t>& word = words_[*number / 64 & mask_];
    const uint64_t bit = uint64_t{1} << (*number % 64);
    uint64_t before;
    if (shared_) {
      before = word.fetch_or(bit, std::memory_order_relaxed);
    } else {
      before = word.load(std::memory_order_relaxed);
      word.store(before | bit, std::memory_order_relaxed);
    }
    return (before & bit) == 0 ? Marked::kNew : Marked::kTwice;
  }

  /// What is missing of the numbers below `end`, once nobody sends or receives any more.
  std::vector<Gone> Missing(uint64_t end) const {
    GoneList gone = gone_;
    for (uint64_t word = retired_; word * 64 < end; ++word) {
      const uint64_t marked = words_[word & mask_].load(std::memory_order_relaxed);
      const uint64_t left = end - word * 64;
      gone.Note(word, left < 64 ? marked | ~uint64_t{0} << left : marked);
    }
    return gone.ranges();
  }

 private:
  /// Further behind than any tag can tell from a number to come.
  static constexpr uint32_t kMostBehind = 0x7fffffff;

  /// Clears the word for the numbers from 64 × `word` on, and notes what was missing before.
  void Retire(uint64_t word) {
    const uint64_t marked = words_[word & mask_].exchange(0, std::memory_order_relaxed);
    if (word <= mask_) return;
    retired_ = word - mask_;
    gone_.Note(word - mask_ - 1, marked);
  }

  const uint64_t mask_;  ///< Words, less one.
  const bool shared_;
  std::unique_ptr<std::atomic<uint64_t>[]> words_;
  GoneList gone_;         ///< The sender's.
  uint64_t retired_ = 0;  ///< The sender's: words whose missing numbers are in gone_.
  alignas(64) std::atomic<uint64_t> next_{0};
};

}  // namespace sluice::engine::pktgen
