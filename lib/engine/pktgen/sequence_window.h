// SPDX-License-Identifier: BSD-3-Clause
//
// Tracks which frames of one sequence have arrived, with one bit for each recent number. The sender
// advances the sequence; receivers mark numbers. A number that leaves the window unmarked is
// missing and recorded in a list.
//
// Numbers are 64 bits wide. A tag contains the low 32 bits, which are extended with the sender's
// next number.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::engine::pktgen {

/// A range of missing numbers.
struct Gone {
  uint64_t first = 0;
  uint64_t count = 0;

  friend bool operator==(const Gone&, const Gone&) = default;
};

/// Sorted ranges of missing numbers. Stores only the first kMost.
class GoneList {
 public:
  static constexpr size_t kMost = 256;

  /// Adds those of the 64 numbers from 64 × `word` on whose bit in `marked` is not set.
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

/// The window of one sequence. One thread sends, and any number of threads receive. Missing() may
/// be called once all of them have stopped.
class SequenceWindow {
 public:
  enum class Marked : uint8_t {
    kNew,
    kTwice,
    kLate,    ///< Older than the window: already counted as missing, or a duplicate.
    kUnsent,  ///< The number was not sent.
  };

  /// Distance between the window and the words that the sender clears for the next numbers. The
  /// sequence may advance by this much between a receiver's read of next() and its marking.
  static constexpr uint64_t kMargin = 4096;

  /// `numbers` is a power of two, at least 4 * kMargin. `shared` means that several threads
  /// receive.
  SequenceWindow(uint64_t numbers, bool shared)
      : mask_(numbers / 64 - 1),
        shared_(shared),
        words_(std::make_unique<std::atomic<uint64_t>[]>(numbers / 64)) {}

  /// Called by the sender: from now on, numbers below `next` may arrive. `next` never decreases,
  /// and increases by at most kMargin at a time.
  void Reach(uint64_t next) {
    const uint64_t now = next_.load(std::memory_order_relaxed);
    if (next <= now) return;
    // Each word that this call brings into use still contains the numbers of the previous round.
    for (uint64_t word = (now + 63) / 64; word < (next + 63) / 64; ++word) Retire(word);
    next_.store(next, std::memory_order_release);
  }
  uint64_t next() const { return next_.load(std::memory_order_acquire); }

  /// Called by a receiver: marks the number with the low bits `low` as arrived. Stores the whole
  /// number in `number`, except for kUnsent.
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

  /// Returns the missing numbers below `end`: the first GoneList::kMost ranges. All threads must
  /// have stopped sending and receiving.
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
  /// Maximum distance of a received number from the newest sent one; numbers that are further
  /// behind cannot be distinguished from future numbers.
  static constexpr uint32_t kMostBehind = 0x7fffffff;

  /// Clears the word for the 64 numbers from 64 × `word` on, and records the numbers of the
  /// previous round that are missing.
  void Retire(uint64_t word) {
    const uint64_t marked = words_[word & mask_].exchange(0, std::memory_order_relaxed);
    if (word <= mask_) return;
    retired_ = word - mask_;
    gone_.Note(word - mask_ - 1, marked);
  }

  const uint64_t mask_;  ///< Number of words minus 1.
  const bool shared_;
  std::unique_ptr<std::atomic<uint64_t>[]> words_;
  GoneList gone_;  ///< Used only by the sender.
  /// Used only by the sender: number of words whose missing numbers are in gone_.
  uint64_t retired_ = 0;
  alignas(64) std::atomic<uint64_t> next_{0};
};

}  // namespace sluice::engine::pktgen
