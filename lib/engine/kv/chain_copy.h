// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of the items in one chain of a partition's index, made by a thread that does not own the
// partition or, on request, by the owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "engine/kv/partition.h"

namespace sluice::engine::kv {

/// Header of each key and value in a copy. Items are not padded.
struct CopiedItem {
  uint32_t lengths;  ///< In the format of Item::lengths.
  uint32_t flags;
  uint32_t expires_s;
  uint32_t zero;
  uint64_t unique;

  static constexpr uint64_t SizeOf(uint32_t lengths) {
    return sizeof(CopiedItem) + Item::KeyBytes(lengths) + Item::ValueBytes(lengths);
  }
};

/// Calls `see(key, view)` for each item of a complete copy.
template <typename See>
void ForEachCopied(Bytes copied, See&& see) {
  while (!copied.empty()) {
    CopiedItem item;
    std::memcpy(&item, copied.data(), sizeof item);
    const uint32_t key_bytes = Item::KeyBytes(item.lengths);
    see(copied.subspan(sizeof item, key_bytes),
        ItemView{copied.subspan(sizeof item + key_bytes, Item::ValueBytes(item.lengths)),
                 {item.flags, item.expires_s},
                 item.unique});
    copied = copied.subspan(CopiedItem::SizeOf(item.lengths));
  }
}

/// A request to the owner of a partition to copy a chain that changes too often to be copied by
/// another thread. One thread asks, and one owner answers between its bursts; no function blocks.
/// The owner copies one chain per request, up to the size of the asker's buffer.
class ChainRequest {
 public:
  // Only for the asking thread:

  /// Starts a request. The previous one must have been answered or withdrawn. `to` belongs to the
  /// owner until Answer returns a result or Withdraw succeeds.
  void Ask(const Partition& partition, uint32_t chain, std::span<uint8_t> to) {
    partition_ = &partition;
    chain_ = chain;
    to_ = to;
    state_.store(State::kAsked, std::memory_order_release);
  }
  /// Returns the result of Partition::CopyChain, or nullopt if the owner has not answered yet. Each
  /// result is returned only once.
  std::optional<Copied> Answer(size_t* bytes) {
    if (state_.load(std::memory_order_acquire) != State::kAnswered) return std::nullopt;
    state_.store(State::kNone, std::memory_order_relaxed);
    *bytes = bytes_;
    return copied_;
  }
  /// Cancels the request. Returns false if the owner has already started to copy; its answer will
  /// be available soon.
  bool Withdraw() {
    State asked = State::kAsked;
    return state_.compare_exchange_strong(asked, State::kNone, std::memory_order_acquire);
  }

  // Only for the owner:

  void Serve() {
    if (state_.load(std::memory_order_relaxed) == State::kAsked) [[unlikely]]
      ServeAsked();
  }

 private:
  enum class State : uint8_t { kNone, kAsked, kTaken, kAnswered };

  [[gnu::noinline]] void ServeAsked() {
    State asked = State::kAsked;
    if (!state_.compare_exchange_strong(asked, State::kTaken, std::memory_order_acquire)) return;
    copied_ = partition_->CopyChain(chain_, to_, &bytes_);
    state_.store(State::kAnswered, std::memory_order_release);
  }

  alignas(64) std::atomic<State> state_{State::kNone};
  const Partition* partition_ = nullptr;
  uint32_t chain_ = 0;
  std::span<uint8_t> to_;
  size_t bytes_ = 0;
  Copied copied_ = Copied::kWhole;
};

}  // namespace sluice::engine::kv
