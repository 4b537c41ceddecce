// SPDX-License-Identifier: BSD-3-Clause
//
// Where one frame ends and the next begins in a contiguous pipe. The NIC lays
// frames out back to back, each on a 64-byte flit boundary, and stores no length
// with them: receivers recover it from the frame's own headers, and the NIC's
// transmitter cuts the byte stream by the IPv4 total length alone
// (docs/enso-hardware.md, "Receiving"; "Transmitting"). Called once per frame by the
// streaming interface: the hottest code of the project.
#pragma once

#include <cstdint>

#include "packet/bytes.h"
#include "packet/ethernet.h"

namespace sluice::packet {

/// Granule of a pipe: every frame starts on one and owns it whole.
inline constexpr uint32_t kFlitBytes = 64;

/// Flits that a frame of `length` bytes occupies.
constexpr uint32_t FlitCount(uint32_t length) { return (length + kFlitBytes - 1) / kFlitBytes; }

/// Bytes from the start of a frame of `length` bytes to the start of the next.
constexpr uint32_t FlitSpan(uint32_t length) {
  return (length + kFlitBytes - 1) & ~(kFlitBytes - 1);
}

/// Bytes 12…19 of an untagged IPv4 frame as one big-endian word: EtherType,
/// version and header length, type of service, total length, identification.
/// Everything that names the frame's shape, in one load. Shared with engines so
/// that a loop that inlines both tests the word once.
struct LeadingWord {
  uint64_t bits;

  /// Reads 8 bytes at `frame + 12`.
  static LeadingWord Of(const uint8_t* frame) { return {LoadBe64(frame + 12)}; }
  /// IPv4 without tags and without options.
  bool IsPlainIpv4() const { return bits >> 40 == kPlainIpv4; }
  /// IPv4 without tags, header length not looked at.
  bool IsIpv4() const { return bits >> 44 == (uint64_t{kEtherTypeIpv4} << 4 | 0x4); }
  /// IPv4 total length in bytes, 0…65535. Meaningful when IsIpv4().
  uint32_t TotalLength() const { return static_cast<uint32_t>(bits) >> 16; }
  /// IsPlainIpv4() and least ≤ TotalLength() ≤ most (≤ 65535), in one comparison, for loops in
  /// which each counts. The compiler learns what follows: inlined tests behind it fold away.
  bool IsPlainIpv4Within(uint32_t least, uint32_t most) const {
    constexpr uint64_t kTypeOfService = uint64_t{0xff} << 32;
    const uint64_t first = kPlainIpv4 << 40 | uint64_t{least} << 16;
    const bool within = (bits & ~kTypeOfService) - first <= (uint64_t{most - least} << 16 | 0xffff);
    if (within && !(IsPlainIpv4() && TotalLength() >= least && TotalLength() <= most)) {
      __builtin_unreachable();
    }
    return within;
  }

 private:
  static constexpr uint64_t kPlainIpv4 = uint64_t{kEtherTypeIpv4} << 8 | 0x45;
};

/// FrameLength for all that its inlined half does not answer.
[[gnu::noinline, gnu::pure]] uint32_t FrameLengthOfOther(const uint8_t* flit);

/// Length in bytes (Ethernet header included, FCS and padding not) of the frame
/// whose first flit is at `flit`, of which 64 bytes must be readable:
///   - IPv4: 14 + total length, if that is at least 20;
///   - IPv6: 54 + payload length;
///   - ARP: 42;
///   - the same behind one or two VLAN tags, 4 bytes more for each;
///   - 802.3 with a length of 3…1500 in place of the EtherType: 14 + length;
///   - 0 for everything else, zeroed memory included.
/// The bytes are the sender's claim: the result may exceed what the pipe holds,
/// and the caller compares it with the notified tail. Padding that the sender
/// added to reach the 60-byte minimum is not counted and never crosses a flit.
///
/// Inlined for IPv4 without tags and options that is longer than an empty UDP
/// datagram. That bound, not the 20 that validity asks for: an engine that needs
/// a byte behind the UDP header then finds its own length test already decided.
inline uint32_t FrameLength(const uint8_t* flit) {
  const LeadingWord word = LeadingWord::Of(flit);
  if (word.IsPlainIpv4() && word.TotalLength() > kIpv4MinHeaderBytes + kUdpHeaderBytes) [[likely]] {
    return word.TotalLength() + kEthernetHeaderBytes;
  }
  return FrameLengthOfOther(flit);
}

/// True iff a transmitter that cuts frames by the IPv4 total length gives this
/// frame exactly the flits that it occupies: it is untagged IPv4, its header is
/// whole, and 14 + total length needs as many flits as `length`. Such a
/// transmitter sends 14 + total length bytes, so an Ethernet trailer inside the
/// last flit is lost and a truncated frame is lengthened by flit padding.
/// Any other frame would swallow, or leave bytes in front of, the frames after
/// it. Reads at most `length` bytes; a frame shorter than 34 bytes is refused.
inline bool TotalLengthCutsWell(const uint8_t* frame, uint32_t length) {
  if (length < kEthernetHeaderBytes + kIpv4MinHeaderBytes) [[unlikely]]
    return false;
  const LeadingWord word = LeadingWord::Of(frame);
  return word.IsIpv4() && word.TotalLength() >= kIpv4MinHeaderBytes &&
         FlitCount(word.TotalLength() + kEthernetHeaderBytes) == FlitCount(length);
}

}  // namespace sluice::packet
