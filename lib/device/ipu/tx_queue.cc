// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/tx_queue.h"

#include <algorithm>
#include <cstring>

#include "bar/load_once.h"
#include "device/copy.h"
#include "device/ipu/parser.h"
#include "device/ipu/ring.h"
#include "packet/bytes.h"

namespace sluice::device::ipu {
namespace {

using namespace regs::ipu;  // NOLINT: the descriptor bits of this device
using packet::LoadBe16;
using packet::LoadBe32;
using packet::StoreBe16;
using packet::StoreBe32;

// TCP segmentation: splits a large frame into frames of the size given in its first descriptor.

/// Reads a frame that consists of several pieces, in order. Callers must not read beyond the last
/// piece.
class PieceReader {
 public:
  /// `high` contains the high words of the pieces' descriptors, which contain the lengths.
  PieceReader(const uint8_t* const* data, const uint64_t* high) : data_(data), high_(high) {}

  void Read(uint8_t* to, uint32_t bytes) {
    while (bytes != 0) {
      const uint32_t here = std::min(bytes, static_cast<uint16_t>(*high_) - at_);
      std::memcpy(to, *data_ + at_, here);
      to += here, bytes -= here, at_ += here;
      if (at_ != static_cast<uint16_t>(*high_)) continue;
      ++data_, ++high_;
      at_ = 0;
    }
  }

 private:
  const uint8_t* const* data_;
  const uint64_t* high_;
  uint32_t at_ = 0;  ///< Offset in the current piece.
};

constexpr uint32_t kIpv6Header = 40;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kFinAndPush = 0x09;     ///< Kept only in the last segment.
constexpr uint8_t kWindowReduced = 0x80;  ///< Kept only in the first segment (RFC 3168, 6.1.2).

/// Offsets of each segment's headers and their total length.
struct Layout {
  explicit Layout(uint64_t command)
      : ip(static_cast<uint8_t>(command >> kTxIpOffsetShift)),
        tcp(ip + static_cast<uint8_t>(command >> kTxIpLengthShift)),
        bytes(tcp + static_cast<uint8_t>(command >> kTxL4FieldShift)),
        segment(static_cast<uint16_t>(command >> kTxTagShift)) {}
  bool Sound(uint32_t length) const {
    return ip >= kMinFrameBytes && tcp - ip >= 20 && bytes - tcp >= 20 &&
           segment >= kMinSegmentBytes && bytes + segment <= kMaxFrameBytes && length >= bytes;
  }
  uint32_t ip;
  uint32_t tcp;
  uint32_t bytes;
  uint32_t segment;  ///< Payload bytes of each segment except the last.
};

/// Updates a segment's copied headers for `payload` bytes. `at` is the payload's offset in the
/// large frame's payload.
void Finish(uint8_t* frame, const Layout& layout, uint32_t at, uint32_t payload, bool last) {
  uint8_t* const ip = frame + layout.ip;
  uint8_t* const tcp = frame + layout.tcp;
  const bool v4 = ip[0] >> 4 == 4;
  const uint32_t tcp_bytes = layout.bytes - layout.tcp + payload;
  if (v4) {
    StoreBe16(ip + 2, layout.tcp - layout.ip + tcp_bytes);
    StoreBe16(ip + 4, LoadBe16(ip + 4) + at / layout.segment);
    StoreBe16(ip + 10, 0);
    StoreBe16(ip + 10, ~OnesComplementSum(ip, layout.tcp - layout.ip, 0));
  } else {
    StoreBe16(ip + 4, layout.tcp - layout.ip - kIpv6Header + tcp_bytes);
  }
  StoreBe32(tcp + 4, LoadBe32(tcp + 4) + at);
  if (!last) tcp[13] &= static_cast<uint8_t>(~kFinAndPush);
  if (at != 0) tcp[13] &= static_cast<uint8_t>(~kWindowReduced);
  StoreBe16(tcp + 16, 0);
  const uint32_t pseudo = OnesComplementSum(v4 ? ip + 12 : ip + 8, v4 ? 8 : 32, tcp_bytes + kTcp);
  StoreBe16(tcp + 16, ~OnesComplementSum(tcp, tcp_bytes, pseudo));
}

/// Splits a frame of `length` bytes (at most kMaxLargeFrameBytes) into segments and sends the
/// segments. `pieces` reads the frame, and `command` is the high word of its first descriptor.
/// Updates each segment's lengths, identification, sequence number, flags and checksums (RFC 9293,
/// 3.1). Returns false and sends nothing if the command or the IP header is invalid.
bool SendSegments(uint64_t command, uint32_t length, PieceReader pieces, TxStaging& staging,
                  FrameSink& sink, Statistics& statistics) {
  const Layout layout(command);
  if (!layout.Sound(length)) return false;
  std::array<uint8_t, 3 * UINT8_MAX> headers;
  pieces.Read(headers.data(), layout.bytes);
  const uint32_t version = headers[layout.ip] >> 4;
  const bool ipv6 = version == 6 && layout.tcp - layout.ip >= kIpv6Header;
  if (version != 4 && !ipv6) return false;
  const uint32_t payload = length - layout.bytes;
  uint32_t at = 0;
  do {
    const uint32_t bytes = std::min(layout.segment, payload - at);
    TxStaging::Cursor cursor = staging.Begin();
    std::memcpy(cursor.bytes, headers.data(), layout.bytes);
    pieces.Read(cursor.bytes + layout.bytes, bytes);
    Finish(cursor.bytes, layout, at, bytes, at + bytes == payload);
    cursor.Add(layout.bytes + bytes);
    staging.Commit(cursor, sink);
    ++statistics[kStatTxFrames];
    statistics[kStatTxBytes] += layout.bytes + bytes;
    at += bytes;
  } while (at != payload);
  return true;
}

uint32_t Length(uint64_t high) { return static_cast<uint16_t>(high); }

void StoreBigEndian(uint8_t* at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

/// Inserts the checksums requested by the first descriptor. Returns false if the descriptor's
/// offsets are outside the frame.
bool InsertChecksums(uint8_t* frame, uint32_t length, uint64_t high) {
  const uint32_t ip = static_cast<uint8_t>(high >> kTxIpOffsetShift);
  const uint32_t ip_bytes = static_cast<uint8_t>(high >> kTxIpLengthShift);
  const uint32_t l4 = ip + ip_bytes;
  if (high & kTxIpChecksum) {
    if (ip_bytes < 20 || l4 > length) return false;
    StoreBigEndian(frame + ip + 10, 0);
    StoreBigEndian(frame + ip + 10,
                   static_cast<uint16_t>(~OnesComplementSum(frame + ip, ip_bytes, 0)));
  }
  if (high & kTxL4Checksum) {
    const uint32_t field = l4 + static_cast<uint8_t>(high >> kTxL4FieldShift);
    if (field + 2 > length) return false;
    const auto sum = static_cast<uint16_t>(~OnesComplementSum(frame + l4, length - l4, 0));
    StoreBigEndian(frame + field, sum == 0 ? 0xffff : sum);  // RFC 768: 0 means no checksum
  }
  return true;
}

/// Inserts a VLAN tag after the MAC addresses. The buffer must have room for four more bytes.
void InsertTag(uint8_t* frame, uint32_t length, uint16_t tag) {
  constexpr uint32_t kAddressBytes = 12;
  std::memmove(frame + kAddressBytes + 4, frame + kAddressBytes, length - kAddressBytes);
  frame[12] = 0x81, frame[13] = 0x00;
  StoreBigEndian(frame + 14, tag);
}

}  // namespace

bool TxQueue::Enable(const bar::DmaSpace& dma, uint64_t base, uint32_t entries) {
  ring_ = MapRing(dma, base, entries);
  base_ = base;
  dma.Forget();
  mask_ = entries - 1;
  head_ = tail_ = 0;
  return ring_ != nullptr;
}

bool TxQueue::Recheck(const bar::DmaSpace& dma) {
  if (ring_ == nullptr || HasRing(dma, base_, mask_ + 1, ring_)) return true;
  ring_ = nullptr;
  return false;
}

bool TxQueue::SetTail(uint32_t tail) {
  if (ring_ == nullptr || tail - head_ > mask_ + 1 || tail - tail_ > mask_ + 1) return false;
  tail_ = tail;
  return true;
}

uint32_t TxQueue::Fetch(const bar::DmaSpace& dma) {
  uint32_t count = std::min(kWindow, tail_ - head_);
  if (dma.remote() != nullptr) [[unlikely]]
    count = Arrived(dma, count);
  bar::DmaBatch memory(dma);
  for (uint32_t i = 0; i < count; ++i) {
    const Descriptor& descriptor = ring_[(head_ + i) & mask_];
    const uint64_t high = bar::LoadOnce(descriptor.high);
    high_[i] = high;
    data_[i] = memory.Translate(bar::LoadOnce(descriptor.low), Length(high));
    __builtin_prefetch(data_[i]);
  }
  if (dma.remote() != nullptr && !DataArrived(dma, count)) [[unlikely]]
    return 0;
  return count;
}

uint32_t TxQueue::Arrived(const bar::DmaSpace& dma, uint32_t count) {
  const uint32_t first = head_ & mask_;
  const uint32_t to_end = std::min(count, mask_ + 1 - first);
  const auto ready = [&](uint32_t from, uint32_t number) {
    return static_cast<uint32_t>(
        dma.Ready(&ring_[from], number * sizeof(Descriptor), sizeof(Descriptor)) /
        sizeof(Descriptor));
  };
  const uint32_t arrived = ready(first, to_end);
  return arrived < to_end || to_end == count ? arrived : arrived + ready(0, count - to_end);
}

bool TxQueue::DataArrived(const bar::DmaSpace& dma, uint32_t count) const {
  bool all = true;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t bytes = Length(high_[i]);
    all &= data_[i] == nullptr || bytes == 0 || dma.Ready(data_[i], bytes);
  }
  return all;
}

void TxQueue::ReportProgress(const bar::DmaSpace& dma, uint32_t fetched, uint32_t done) {
  dma.Done(&ring_[head_ & mask_]);
  dma.Done(&ring_[0]);
  for (uint32_t i = 0; i < fetched; ++i) {
    if (data_[i] != nullptr) dma.Done(data_[i]);
    if (i >= done || (high_[i] & kTxReport) == 0) continue;
    const Descriptor& completed = ring_[(head_ + i) & mask_];
    dma.Stored(&completed.high, sizeof(completed.high));
  }
}

uint32_t TxQueue::Segments(uint32_t first, uint32_t fetched) const {
  const uint32_t end = std::min(fetched, first + kMaxSegments);
  for (uint32_t i = first; i < end; ++i) {
    if (high_[i] & kTxEndOfPacket) return i - first + 1;
  }
  return 0;
}

void TxQueue::Complete(uint32_t first, uint32_t segments) {
  for (uint32_t i = first; i < first + segments; ++i) {
    if (high_[i] & kTxReport) StoreHigh(ring_[(head_ + i) & mask_], kDone);
  }
}

void TxQueue::Send(uint32_t first, uint32_t segments, TxStaging& staging, FrameSink& sink,
                   Statistics& statistics, Clock& clock) {
  const bool tagged = (high_[first] & kTxTag) != 0;
  uint32_t length = 0;
  bool fault = false;
  bool bad = false;
  for (uint32_t i = first; i < first + segments; ++i) {
    length += Length(high_[i]);
    bad |= Length(high_[i]) == 0;
    fault |= data_[i] == nullptr;
  }
  const bool cut = (high_[first] & kTxSegment) != 0;
  const uint32_t max_length = cut      ? kMaxLargeFrameBytes
                              : tagged ? kMaxFrameBytes - 4
                                       : kMaxFrameBytes;
  if (bad || length < kMinFrameBytes || length > max_length) [[unlikely]] {
    ++statistics[kStatTxBadDescriptor];
    return;
  }
  if (fault) [[unlikely]] {
    ++statistics[kStatTxDmaFault];
    return;
  }
  if (cut) {
    const PieceReader pieces(&data_[first], &high_[first]);
    const bool sent = SendSegments(high_[first], length, pieces, staging, sink, statistics);
    statistics[kStatTxBadDescriptor] += !sent;
    return;
  }
  TxStaging::Cursor cursor = staging.Begin();
  uint8_t* const frame = cursor.bytes;
  uint32_t at = 0;
  for (uint32_t i = first; i < first + segments; ++i) {
    CopySegment(frame + at, data_[i], Length(high_[i]));
    at += Length(high_[i]);
  }
  if (high_[first] & (kTxIpChecksum | kTxL4Checksum)) {
    if (!InsertChecksums(frame, length, high_[first])) {
      ++statistics[kStatTxBadDescriptor];
      return;
    }
  }
  if (tagged) {
    InsertTag(frame, length, static_cast<uint16_t>(high_[first] >> kTxTagShift));
    length += 4;
  }
  if (high_[first] & kTxStamp) clock.StampSent();
  cursor.Add(length);
  staging.Commit(cursor, sink);
  ++statistics[kStatTxFrames];
  statistics[kStatTxBytes] += length;
}

uint32_t TxQueue::SendPlain(uint32_t first, uint32_t end, TxStaging& staging, FrameSink& sink,
                            Statistics& statistics) {
  constexpr uint64_t kKind =
      kTxEndOfPacket | kTxIpChecksum | kTxL4Checksum | kTxTag | kTxStamp | kTxSegment;
  uint64_t bytes = 0;
  uint32_t at = first;
  for (bool plain = true; plain && at < end;) {
    TxStaging::Cursor cursor = staging.Begin();
    for (; at < end && !cursor.full(); ++at) {
      const uint64_t high = high_[at];
      const uint8_t* const data = data_[at];
      const uint32_t length = Length(high);
      plain = (high & kKind) == kTxEndOfPacket && data != nullptr &&
              length - kMinFrameBytes <= kMaxFrameBytes - kMinFrameBytes;
      if (!plain) [[unlikely]]
        break;
      CopySegment(cursor.bytes, data, length);
      cursor.Add(length);
      bytes += length;
      if (high & kTxReport) StoreHigh(ring_[(head_ + at) & mask_], kDone);
    }
    staging.Commit(cursor, sink);
  }
  statistics[kStatTxFrames] += at - first;
  statistics[kStatTxBytes] += bytes;
  return at;
}

uint32_t TxQueue::Run(const bar::DmaSpace& dma, TxStaging& staging, FrameSink& sink,
                      Statistics& statistics, Clock& clock, uint32_t budget) {
  uint32_t handled = 0;
  while (handled < budget && head_ != tail_) {
    const uint32_t fetched = Fetch(dma);
    uint32_t done = 0;
    while (done < fetched && handled < budget) {
      const uint32_t plain_end = std::min(fetched, done + (budget - handled));
      const uint32_t after = SendPlain(done, plain_end, staging, sink, statistics);
      handled += after - done;
      done = after;
      if (done == plain_end) continue;
      uint32_t segments = Segments(done, fetched);
      if (segments == 0) {
        if (fetched - done < kMaxSegments) break;  // The rest of the frame has not been posted yet.
        segments = kMaxSegments;
        ++statistics[kStatTxBadDescriptor];
      } else {
        Send(done, segments, staging, sink, statistics, clock);
      }
      Complete(done, segments);
      done += segments;
      ++handled;
    }
    if (dma.remote() != nullptr && fetched != 0) [[unlikely]]
      ReportProgress(dma, fetched, done);
    head_ += done;
    if (done == 0) break;
  }
  return handled;
}

}  // namespace sluice::device::ipu
