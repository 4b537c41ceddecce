// SPDX-License-Identifier: BSD-3-Clause
//
// Counts how the messages that arrived on the NIC ended. Every message has exactly one ending.
// Additional answers are counted separately.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/workload/histogram.h"
#include "flow.h"
#include "traffic.h"

namespace sluice::chain_app {

/// sent = right + wrong + silent + lost + messages in flight.
struct Endings {
  uint64_t sent = 0;
  uint64_t right = 0;
  uint64_t wrong = 0;   ///< Wrong answers, and answers to messages that a stage must refuse.
  uint64_t silent = 0;  ///< Messages that a stage must refuse and that have no answer so far.
  uint64_t lost = 0;    ///< Not answered in time.
  // Additional answers:
  uint64_t doubled = 0;  ///< Repeated answers from the same node.
  uint64_t late = 0;     ///< Answers to lost messages.
  uint64_t copies = 0;   ///< Further right answers, from other nodes of the chain.
  uint64_t unknown = 0;  ///< Answers that match none of the last kMemory messages.
  uint64_t sent_bytes = 0;
  uint64_t answer_bytes = 0;

  uint64_t ended() const { return right + wrong + silent + lost; }
  Endings& operator+=(const Endings& other);
};

/// Used by one thread; other threads may also call Now() and latency().
class Ledger final : public Flow {
 public:
  static constexpr uint32_t kMemory = 1u << 16;  ///< Number of messages remembered.

  /// `longest`: maximum size of a message, in bytes. `outstanding`: maximum number of messages in
  /// flight, less than kMemory. `most`: total number of messages.
  Ledger(std::unique_ptr<Traffic> traffic, uint32_t longest, uint32_t outstanding,
         uint64_t timeout_ns, uint64_t most);

  uint32_t longest() const override { return longest_; }
  bool MayBegin() override {
    return waiting_ < outstanding_ && next_ != most_ && next_ - oldest_ < kMemory;
  }
  /// Begins the next message; MayBegin() must have returned true. Message numbers wrap after
  /// kNumberMask.
  uint32_t Begin(std::span<uint8_t> room, uint64_t now_ns, uint32_t* number) override;
  void Answer(uint32_t number, uint32_t where, std::span<const uint8_t> data,
              const std::array<uint32_t, 2>& key, uint64_t now_ns) override;
  void Expire(uint64_t now_ns) override;

  Endings Now() const;
  const engine::workload::Histogram& latency() const { return latency_; }

 private:
  enum class State : uint8_t { kNone, kWaiting, kSilent, kRight, kWrong, kLost };
  struct Entry {
    uint32_t number = 0;
    State state = State::kNone;
    uint32_t answered_by = 0;  ///< One bit per value of `where`.
    uint64_t begun_ns = 0;
  };
  enum Count : uint8_t {
    kSent,
    kRight,
    kWrong,
    kSilent,
    kLost,
    kDoubled,
    kLate,
    kCopies,
    kUnknown,
    kSentBytes,
    kAnswerBytes,
    kCounts
  };

  Entry& At(uint64_t number) { return entries_[number % kMemory]; }
  void Add(Count count, uint64_t by = 1) {
    counts_[count].store(counts_[count].load(std::memory_order_relaxed) + by,
                         std::memory_order_relaxed);
  }
  /// Changes the ending of a message from `before` to wrong, so that it still has exactly one
  /// ending.
  void EndWrong(Entry& entry, Count before) {
    counts_[before].fetch_sub(1, std::memory_order_relaxed);
    Add(kWrong);
    entry.state = State::kWrong;
  }

  std::unique_ptr<Traffic> traffic_;
  uint32_t longest_;
  uint32_t outstanding_;
  uint64_t timeout_ns_;
  uint64_t most_;
  std::vector<Entry> entries_;
  uint64_t next_ = 0;
  uint64_t oldest_ = 0;  ///< All messages before this one have ended.
  uint32_t waiting_ = 0;
  std::array<std::atomic<uint64_t>, kCounts> counts_{};
  engine::workload::Histogram latency_;  ///< Latency of right answers in ns.
};

}  // namespace sluice::chain_app
