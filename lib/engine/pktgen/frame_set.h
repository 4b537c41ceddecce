// SPDX-License-Identifier: BSD-3-Clause
//
// The frames that one worker sends for one stream, repeatedly and in this order. They are complete
// except for the tag. Frame number n of a worker is the one at index n modulo size().
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/pktgen/tag.h"

namespace sluice::engine::pktgen {

/// Frames in one memory block; built by the main thread, then read by all workers.
class FrameSet {
 public:
  struct Entry {
    uint64_t at = 0;       ///< Offset of the frame's first byte in bytes_.
    uint32_t flow = 0;     ///< Number of the flow. Frames of one flow must stay in order.
    uint16_t length = 0;   ///< Bytes, without FCS.
    uint16_t payload = 0;  ///< Offset of the bytes that a device returns unchanged, up to the tag.
    bool tagged = false;   ///< The last kTagBytes are the tag.
  };

  /// Appends a copy of a frame. A tagged frame has room for the tag after `payload`.
  void Add(const uint8_t* frame, Entry entry) {
    entry.at = bytes_.size();
    bytes_.resize((bytes_.size() + entry.length + kLine - 1) & ~(kLine - 1));
    std::memcpy(&bytes_[entry.at], frame, entry.length);
    if (entry.flow >= flows_) flows_ = entry.flow + 1;
    layer_two_bytes_ += entry.length;
    untagged_ += !entry.tagged;
    entries_.push_back(entry);
  }

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  const Entry& entry(uint64_t index) const { return entries_[index]; }
  const uint8_t* bytes(const Entry& entry) const { return bytes_.data() + entry.at; }
  /// Returns 1 + the largest flow number; 0 without frames.
  uint32_t flows() const { return flows_; }
  /// Returns the total number of bytes in all frames, without FCS.
  uint64_t layer_two_bytes() const { return layer_two_bytes_; }
  uint64_t memory_bytes() const { return bytes_.size(); }
  size_t untagged() const { return untagged_; }

 private:
  static constexpr size_t kLine = 64;

  std::vector<uint8_t> bytes_;
  std::vector<Entry> entries_;
  uint32_t flows_ = 0;
  uint64_t layer_two_bytes_ = 0;
  size_t untagged_ = 0;
};

}  // namespace sluice::engine::pktgen
