// SPDX-License-Identifier: BSD-3-Clause
//
// Messages in a stream of bytes, such as TCP's (RFC 5531 section 11). Each is a record, and comes
// in fragments; four bytes before a fragment say how long it is, and whether it is the last.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packet/bytes.h"

namespace sluice::rpc {

inline constexpr uint32_t kMarkBytes = 4;
inline constexpr uint32_t kLastFragment = 1u << 31;
inline constexpr uint32_t kMaxFragmentBytes = kLastFragment - 1;

/// Puts records together, one after another. Holds no more than the longest that it is to take.
class RecordReader {
 public:
  enum class State : uint8_t {
    kMore,     ///< All bytes were taken, and the record is not whole.
    kRecord,   ///< record() is whole. The next Take begins another one.
    kTooLong,  ///< It has more than `max_bytes`: the stream cannot be followed any more.
  };

  /// Of records of at most `max_bytes`, which are allocated here.
  explicit RecordReader(uint32_t max_bytes) : max_bytes_(max_bytes) { record_.reserve(max_bytes); }

  /// Takes bytes from the front of `*bytes`, as far as the State says.
  State Take(std::span<const uint8_t>* bytes);
  /// Until the next Take.
  std::span<const uint8_t> record() const { return record_; }

 private:
  uint32_t max_bytes_;
  std::vector<uint8_t> record_;
  uint8_t mark_[kMarkBytes] = {};
  uint32_t mark_bytes_ = 0;  ///< Of the mark that there are; all: a fragment has begun.
  uint32_t left_ = 0;        ///< Bytes of the fragment that are still to come.
  bool last_ = false;        ///< It is the record's last.
  bool whole_ = false;       ///< record_ was returned.
};

/// Writes the mark of a record in one fragment of `bytes` bytes, kMaxFragmentBytes at most.
inline void WriteMark(uint8_t* to, uint32_t bytes) { packet::StoreBe32(to, kLastFragment | bytes); }

}  // namespace sluice::rpc
