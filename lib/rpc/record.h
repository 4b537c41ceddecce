// SPDX-License-Identifier: BSD-3-Clause
//
// Messages in a byte stream, such as TCP (RFC 5531 section 11). Each message is a record, sent in
// one or more fragments. Each fragment is preceded by four bytes that contain its length and a flag
// for the last fragment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packet/bytes.h"

namespace sluice::rpc {

inline constexpr uint32_t kMarkBytes = 4;
inline constexpr uint32_t kLastFragment = 1u << 31;
inline constexpr uint32_t kMaxFragmentBytes = kLastFragment - 1;

/// Reassembles consecutive records. Buffers at most one record of the maximum length.
class RecordReader {
 public:
  enum class State : uint8_t {
    kMore,     ///< All bytes have been consumed, but the record is incomplete.
    kRecord,   ///< record() is complete. The next Consume begins another one.
    kTooLong,  ///< The record exceeds `max_bytes`, so the stream cannot be parsed any further.
  };

  /// Allocates a buffer for records of at most `max_bytes`.
  explicit RecordReader(uint32_t max_bytes) : max_bytes_(max_bytes) { record_.reserve(max_bytes); }

  /// Consumes bytes from the front of `*bytes` until it reaches one of these states.
  State Consume(std::span<const uint8_t>* bytes);
  /// Returns the complete record; valid until the next Consume.
  std::span<const uint8_t> record() const { return record_; }

 private:
  uint32_t max_bytes_;
  std::vector<uint8_t> record_;
  uint8_t mark_[kMarkBytes] = {};
  /// Number of mark bytes received; kMarkBytes once the fragment has begun.
  uint32_t mark_bytes_ = 0;
  uint32_t left_ = 0;   ///< Number of bytes left in the fragment.
  bool last_ = false;   ///< The fragment is the last one of the record.
  bool whole_ = false;  ///< record_ is complete and was reported.
};

/// Writes the record mark for a single fragment of `bytes` bytes, at most kMaxFragmentBytes.
inline void WriteMark(uint8_t* to, uint32_t bytes) { packet::StoreBe32(to, kLastFragment | bytes); }

}  // namespace sluice::rpc
