// SPDX-License-Identifier: BSD-3-Clause
//
// Ethernet frames in a payload (Kind::kFrames): `count` consecutive records, each with spare space,
// so that a receiver can shorten, lengthen or drop a frame in place and return the line with the
// same records.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "bar/load_once.h"

namespace sluice::coherent {

inline constexpr uint32_t kRecordBytes = 8;
inline constexpr uint32_t kMinFrameBytes = 14;
inline constexpr uint32_t kMaxFrameBytes = 9728;

/// The head of a record, at a multiple of 8 bytes of the payload.
struct Record {
  uint16_t stride = 0;  ///< Bytes from this head to the next: a multiple of 8.
  uint16_t offset = 0;  ///< Bytes from this head to the frame, at least kRecordBytes.
  uint16_t length = 0;  ///< Bytes of the frame, without FCS. 0: no frame in this record.
  /// If `length` is 0: position of the answer that did not fit into the record (GrownFrame).
  uint16_t flags = 0;

  constexpr uint64_t Word() const {
    return stride | uint64_t{offset} << 16 | uint64_t{length} << 32 | uint64_t{flags} << 48;
  }
  static constexpr Record Of(uint64_t word) {
    return {static_cast<uint16_t>(word), static_cast<uint16_t>(word >> 16),
            static_cast<uint16_t>(word >> 32), static_cast<uint16_t>(word >> 48)};
  }
  /// Returns whether the stride is a multiple of 8, and the record contains a frame of a valid
  /// length or none. The caller must check that the stride fits into the remaining memory.
  constexpr bool Sound() const {
    return stride % 8 == 0 && offset >= kRecordBytes && offset + length <= stride &&
           (length == 0 || length - kMinFrameBytes <= kMaxFrameBytes - kMinFrameBytes);
  }
};

/// Returns the size in bytes of a record that contains `length` bytes of frame after `headroom`
/// bytes. `headroom` must be a multiple of 8.
constexpr uint32_t RecordBytes(uint32_t length, uint32_t headroom) {
  return kRecordBytes + headroom + (length + 7) / 8 * 8;
}

/// Returns the frame of an answer that outgrew its record, or an empty span if `place` is invalid.
/// The frame is in an additional record after the received ones, which the line's `count` does not
/// include. The original record has length 0, and its flags contain `place`: the additional
/// record's position in the payload, in units of 8 bytes. The peer wrote `place`, so it is checked.
inline std::span<uint8_t> GrownFrame(std::span<uint8_t> payload, uint16_t place) {
  const size_t at = size_t{place} * 8;
  if (at + kRecordBytes > payload.size()) return {};
  const std::span<uint8_t> rest = payload.subspan(at);
  const Record record = Record::Of(bar::LoadOnce(*reinterpret_cast<uint64_t*>(rest.data())));
  return record.Sound() && record.stride <= rest.size() ? rest.subspan(record.offset, record.length)
                                                        : std::span<uint8_t>();
}

/// Writes record heads to a payload. The caller copies each frame to the address that Add returns.
class FrameWriter {
 public:
  explicit FrameWriter(std::span<uint8_t> room, uint32_t headroom = 0)
      : room_(room), headroom_(headroom) {}

  /// Returns the destination for a frame of `length` bytes, or null if the frame does not fit or
  /// `max_count` records have been written. `length` must be kMinFrameBytes … kMaxFrameBytes.
  uint8_t* Add(uint32_t length, uint32_t max_count, uint16_t flags = 0) {
    const uint32_t stride = RecordBytes(length, headroom_);
    if (count_ == max_count || stride > room_.size() - used_) return nullptr;
    uint8_t* const head = room_.data() + used_;
    const uint64_t word =
        Record{static_cast<uint16_t>(stride), static_cast<uint16_t>(kRecordBytes + headroom_),
               static_cast<uint16_t>(length), flags}
            .Word();
    std::memcpy(head, &word, sizeof(word));
    used_ += stride;
    ++count_;
    return head + kRecordBytes + headroom_;
  }
  uint32_t length() const { return used_; }  ///< Bytes of the payload so far.
  uint8_t count() const { return static_cast<uint8_t>(count_); }

 private:
  std::span<uint8_t> room_;
  uint32_t headroom_;
  uint32_t used_ = 0;
  uint32_t count_ = 0;
};

/// Iterates over the records of a payload that the peer wrote. Each head is read once; an invalid
/// record ends the iteration.
class FrameWalker {
 public:
  FrameWalker(std::span<uint8_t> payload, uint8_t count) : rest_(payload), left_(count) {}

  /// Advances to the next record. Returns false at the end, or if the record is invalid; in the
  /// latter case, bad() is true.
  bool Next() {
    rest_ = rest_.subspan(stride_);
    if (left_ == 0) return End();
    --left_;
    if (rest_.size() < kRecordBytes) return Bad();
    const uint64_t head = bar::LoadOnce(*reinterpret_cast<uint64_t*>(rest_.data()));
    // Consecutive frames of the same length have equal heads. An equal head has already been
    // checked, but its record may still not fit.
    if (head != head_) {
      if (!Record::Of(head).Sound()) return Bad();
      head_ = head;
      stride_ = Record::Of(head).stride;
    }
    // A head of all zeros equals the initial head_, so stride_ may be 0 here; the subtraction then
    // wraps around and the record is rejected.
    return stride_ - 1 < rest_.size() || Bad();
  }
  uint8_t* at() const { return rest_.data(); }  ///< Address of the record.
  uint64_t head() const { return head_; }       ///< Record::Word of the record.
  Record record() const { return Record::Of(head_); }
  uint32_t left() const { return left_; }  ///< Records after the current one.
  /// Returns the frame; empty if the record has none.
  std::span<uint8_t> frame() const { return rest_.subspan(record().offset, record().length); }
  /// Writes the frame's new offset and length to its record. The frame must be inside the record
  /// unless `length` is 0.
  void Set(uint16_t offset, uint16_t length) {
    const uint64_t word = Record{record().stride, offset, length, record().flags}.Word();
    std::memcpy(rest_.data(), &word, sizeof(word));
  }
  bool bad() const { return bad_; }

 private:
  bool End() {
    head_ = stride_ = 0;
    return false;
  }
  bool Bad() {
    bad_ = true;
    left_ = 0;
    return End();
  }

  std::span<uint8_t> rest_;
  uint64_t head_ = 0;
  size_t stride_ = 0;  ///< Stride of `head_` in bytes.
  uint32_t left_;
  bool bad_ = false;
};

}  // namespace sluice::coherent
