// SPDX-License-Identifier: BSD-3-Clause
//
// One IPFIX message in memory that the caller provides: a header, then sets of records (RFC 7011,
// section 3). All numbers are big-endian.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "packet/bytes.h"

namespace sluice::engine::telemetry {

inline constexpr uint16_t kIpfixVersion = 10;
inline constexpr size_t kIpfixHeaderBytes = 16;
inline constexpr size_t kIpfixSetHeaderBytes = 4;
inline constexpr size_t kIpfixMaxMessageBytes = 65535;

/// A record under construction. Data that does not fit is omitted; whole() then returns false.
class IpfixRecord {
 public:
  void U8(uint8_t value) { Put(&value, 1); }
  void U16(uint16_t value) { PutNumber(__builtin_bswap16(value)); }
  void U32(uint32_t value) { PutNumber(__builtin_bswap32(value)); }
  void U64(uint64_t value) { PutNumber(__builtin_bswap64(value)); }
  /// Appends a 64-bit IEEE 754 number (RFC 7011, section 6.1.4).
  void F64(double value) { U64(std::bit_cast<uint64_t>(value)); }
  void Put(const uint8_t* bytes, size_t count) {
    if (count > bytes_.size() - size_) {
      whole_ = false;
      return;
    }
    std::copy_n(bytes, count, bytes_.data() + size_);
    size_ += count;
  }
  bool whole() const { return whole_; }
  std::span<const uint8_t> bytes() const { return std::span(bytes_).first(size_); }

 private:
  template <typename T>
  void PutNumber(T be) {
    const auto bytes = std::bit_cast<std::array<uint8_t, sizeof(T)>>(be);
    Put(bytes.data(), bytes.size());
  }

  std::array<uint8_t, 128> bytes_;
  size_t size_ = 0;
  bool whole_ = true;
};

class IpfixMessage {
 public:
  /// Creates a message in `room`. The message is at most kIpfixMaxMessageBytes long, even if `room`
  /// is larger.
  explicit IpfixMessage(std::span<uint8_t> room)
      : room_(room.first(std::min(room.size(), kIpfixMaxMessageBytes))) {}

  /// Appends a record to the set `id`. Begins a new set if the previous record belongs to another
  /// set. Does nothing and returns false if the record does not fit.
  bool Add(uint16_t id, std::span<const uint8_t> record) {
    const bool begins = size_ == kIpfixHeaderBytes || id != set_id_;
    const size_t bytes = (begins ? kIpfixSetHeaderBytes : 0) + record.size();
    if (size_ > room_.size() || bytes > room_.size() - size_) return false;
    if (begins) {
      set_ = size_;
      set_id_ = id;
      packet::StoreBe16(room_.data() + size_, id);
      size_ += kIpfixSetHeaderBytes;
    }
    std::copy(record.begin(), record.end(), room_.begin() + static_cast<ptrdiff_t>(size_));
    size_ += record.size();
    packet::StoreBe16(room_.data() + set_ + 2, static_cast<uint16_t>(size_ - set_));
    return true;
  }

  /// Returns the message; empty if it has no records.
  std::span<const uint8_t> Finish(uint32_t export_time_s, uint32_t sequence, uint32_t domain) {
    if (size_ == kIpfixHeaderBytes) return {};
    uint8_t* const header = room_.data();
    packet::StoreBe16(header, kIpfixVersion);
    packet::StoreBe16(header + 2, static_cast<uint16_t>(size_));
    packet::StoreBe32(header + 4, export_time_s);
    packet::StoreBe32(header + 8, sequence);
    packet::StoreBe32(header + 12, domain);
    return room_.first(size_);
  }

 private:
  std::span<uint8_t> room_;
  size_t size_ = kIpfixHeaderBytes;
  size_t set_ = 0;  ///< Offset of the last set.
  uint16_t set_id_ = 0;
};

}  // namespace sluice::engine::telemetry
