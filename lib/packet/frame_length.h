// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the frame boundaries in a contiguous pipe. The NIC stores frames back to back, each at a
// 64-byte flit boundary, without their lengths. Receivers compute the length from the frame's
// headers; the NIC's transmitter splits the byte stream by the IPv4 total length only
// (docs/enso-hardware.md, "Receiving"; "Transmitting"). The streaming interface calls FrameLength
// once per frame, so it is the hottest code in the project.
#pragma once

#include <cstdint>

#include "packet/bytes.h"
#include "packet/ethernet.h"

namespace sluice::packet {

/// Granularity of a pipe: every frame starts at a flit boundary, and no two frames share a flit.
inline constexpr uint32_t kFlitBytes = 64;

/// Returns the number of flits that a frame of `length` bytes occupies.
constexpr uint32_t FlitCount(uint32_t length) { return (length + kFlitBytes - 1) / kFlitBytes; }

/// Returns the distance in bytes from the start of a frame of `length` bytes to the start of the
/// next frame.
constexpr uint32_t FlitSpan(uint32_t length) {
  return (length + kFlitBytes - 1) & ~(kFlitBytes - 1);
}

/// Bytes 12…19 of an untagged IPv4 frame as one big-endian word: EtherType, version and header
/// length, type of service, total length, identification. One load covers all fields that determine
/// the frame's form. Engines also use LeadingWord, so that a loop that inlines FrameLength and an
/// engine tests the word only once.
struct LeadingWord {
  uint64_t bits;

  /// Reads 8 bytes at `frame + 12`.
  static LeadingWord Of(const uint8_t* frame) { return {LoadBe64(frame + 12)}; }
  /// Returns whether the frame is IPv4 without tags and options.
  bool IsPlainIpv4() const { return bits >> 40 == kPlainIpv4; }
  /// Returns whether the frame is IPv4 without tags, with any header length.
  bool IsIpv4() const { return bits >> 44 == (uint64_t{kEtherTypeIpv4} << 4 | 0x4); }
  /// Returns whether both words have the same EtherType, version, header length and total length.
  bool HasShapeOf(LeadingWord other) const {
    constexpr uint64_t kShape = ~(kTypeOfService | 0xffff);
    // The byte swaps here cancel those of Of(), so a loop that compares many frames with one frame
    // swaps no bytes.
    const uint64_t differs = __builtin_bswap64(bits) ^ __builtin_bswap64(other.bits);
    return (differs & __builtin_bswap64(kShape)) == 0;
  }
  /// IPv4 total length in bytes, 0 … 65535. Only meaningful if IsIpv4() is true.
  uint32_t TotalLength() const { return static_cast<uint32_t>(bits) >> 16; }
  /// Returns IsPlainIpv4() && least ≤ TotalLength() ≤ most (≤ 65535), with one comparison, for hot
  /// loops. The compiler can infer the conditions and remove later inlined tests of them.
  bool IsPlainIpv4Within(uint32_t least, uint32_t most) const {
    const uint64_t first = kPlainIpv4 << 40 | uint64_t{least} << 16;
    const bool within = (bits & ~kTypeOfService) - first <= (uint64_t{most - least} << 16 | 0xffff);
    if (within && !(IsPlainIpv4() && TotalLength() >= least && TotalLength() <= most)) {
      __builtin_unreachable();
    }
    return within;
  }

 private:
  static constexpr uint64_t kTypeOfService = uint64_t{0xff} << 32;
  static constexpr uint64_t kPlainIpv4 = uint64_t{kEtherTypeIpv4} << 8 | 0x45;
};

/// FrameLength for all frames that the inlined part does not cover.
[[gnu::noinline, gnu::pure]] uint32_t FrameLengthOfOther(const uint8_t* flit);

/// Returns the length in bytes (with the Ethernet header, without FCS and padding) of the frame
/// that starts at `flit`. 64 bytes must be readable.
///   - IPv4: 14 + total length, if that is at least 20;
///   - IPv6: 54 + payload length;
///   - ARP: 42;
///   - any of these after one or two VLAN tags: 4 bytes more for each tag;
///   - 802.3 with a length of 3…1500 in place of the EtherType: 14 + length;
///   - 0 for everything else, including zeroed memory.
/// The sender controls these bytes: the result may exceed the contents of the pipe, and the caller
/// must compare it with the notified tail. Padding to the 60-byte minimum is not counted; it does
/// not extend into another flit.
///
/// The inlined part covers IPv4 without tags and options that is longer than an empty UDP datagram.
/// Unlike the minimum of 20, this bound lets the compiler remove the length test of an engine that
/// later reads a byte after the UDP header.
inline uint32_t FrameLength(const uint8_t* flit) {
  const LeadingWord word = LeadingWord::Of(flit);
  if (word.IsPlainIpv4() && word.TotalLength() > kIpv4MinHeaderBytes + kUdpHeaderBytes) [[likely]] {
    return word.TotalLength() + kEthernetHeaderBytes;
  }
  return FrameLengthOfOther(flit);
}

/// Returns true iff a transmitter that splits frames by the IPv4 total length assigns exactly the
/// flits that the frame occupies: the frame must be untagged IPv4 with a complete header, and 14 +
/// total length must need as many flits as `length`. Such a transmitter sends 14 + total length
/// bytes. It therefore omits an Ethernet trailer in the last flit, and extends a truncated frame by
/// flit padding. For any other frame, the transmitter would split the following frames at wrong
/// positions. Reads at most `length` bytes; returns false for a frame shorter than 34 bytes.
inline bool TotalLengthCutsWell(const uint8_t* frame, uint32_t length) {
  if (length < kEthernetHeaderBytes + kIpv4MinHeaderBytes) [[unlikely]]
    return false;
  const LeadingWord word = LeadingWord::Of(frame);
  return word.IsIpv4() && word.TotalLength() >= kIpv4MinHeaderBytes &&
         FlitCount(word.TotalLength() + kEthernetHeaderBytes) == FlitCount(length);
}

}  // namespace sluice::packet
