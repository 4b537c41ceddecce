// SPDX-License-Identifier: BSD-3-Clause
//
// Cost of a transfer on a PCIe link: bytes of transaction-layer packets (TLPs) with their framing,
// and the rate at which a link carries them. The formulas follow Neugebauer et al., "Understanding
// PCIe performance for end host networking", SIGCOMM'18, and its public model: 8 bytes of framing,
// sequence number and LCRC, 64-bit addresses, no ECRC.
#pragma once

#include <cstdint>

namespace sluice::bar {

inline constexpr uint32_t kTlpWriteHeaderBytes = 24;       ///< MWr, and messages such as MSI-X.
inline constexpr uint32_t kTlpReadHeaderBytes = 24;        ///< MRd.
inline constexpr uint32_t kTlpCompletionHeaderBytes = 20;  ///< CplD.
/// Read completion boundary of a root complex: completions may be split at it.
inline constexpr uint32_t kReadCompletionBoundary = 64;

/// Bytes in each direction of a link; down is from the host to the device.
struct LinkBytes {
  uint64_t down = 0;
  uint64_t up = 0;

  LinkBytes& operator+=(LinkBytes other) {
    down += other.down;
    up += other.up;
    return *this;
  }
  friend LinkBytes operator-(LinkBytes a, LinkBytes b) { return {a.down - b.down, a.up - b.up}; }
  friend bool operator==(const LinkBytes&, const LinkBytes&) = default;
};

constexpr uint64_t TlpCount(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit; }

/// Returns the link bytes of a posted write of `length` > 0 bytes, all in the direction of the
/// write. `mps` is the maximum payload size.
constexpr uint64_t TlpWriteBytes(uint64_t length, uint32_t mps) {
  return TlpCount(length, mps) * kTlpWriteHeaderBytes + length;
}

/// Link bytes of a read, in the request's direction and in the completions' direction.
struct TlpRead {
  uint64_t request;
  uint64_t completion;
  friend bool operator==(const TlpRead&, const TlpRead&) = default;
};

/// Returns the link bytes of a read of `length` > 0 bytes in requests of at most `mrrs` bytes. Each
/// completion contains at most `mps` bytes, or at most `rcb` bytes if the completer splits
/// completions at the read completion boundary (rcb < mps).
constexpr TlpRead TlpReadBytes(uint64_t length, uint32_t mps, uint32_t mrrs, uint32_t rcb) {
  const uint64_t unit = rcb < mps ? rcb : mps;
  const uint64_t completions = length / mrrs * TlpCount(mrrs, unit) + TlpCount(length % mrrs, unit);
  return {TlpCount(length, mrrs) * kTlpReadHeaderBytes,
          completions * kTlpCompletionHeaderBytes + length};
}

/// Returns the rate available for TLPs in one direction of a link, in bits per second. Encoding,
/// acknowledge and flow-control packets (8 bytes each per acknowledge limit) and skip sets (4 bytes
/// per 1538) are subtracted. Supports generations 3 … 5, 8 or 16 lanes, and an `mps` of 128, 256 or
/// 512; otherwise returns 0.
constexpr uint64_t TlpRate(uint32_t generation, uint32_t lanes, uint32_t mps) {
  if (generation < 3 || generation > 5 || (lanes != 8 && lanes != 16)) return 0;
  uint64_t limit = 0;  // Bytes of TLPs per acknowledge.
  if (mps == 128) limit = lanes == 16 ? 144 : 163;
  if (mps == 256) limit = lanes == 16 ? 168 : 203;
  if (mps == 512) limit = 182;
  if (limit == 0) return 0;
  const uint64_t megatransfers = 8000u << (generation - 3);
  const uint64_t raw_kbps = megatransfers * lanes * 1000 * 128 / 130;
  // 1 - (8 + 8) / limit - 4 / 1538, as one fraction.
  return raw_kbps * (limit * 1538 - 16 * 1538 - 4 * limit) / (limit * 1538) * 1000;
}

/// Returns the fraction of descriptors in the bytes that a packetized NIC reads to send and receive
/// a frame of `frame` bytes. Descriptors of `descriptor_rx` and `descriptor_tx` bytes are fetched
/// in groups of `batch`, in completions of at most `mps` bytes.
constexpr double FracMetadata(uint32_t descriptor_rx, uint32_t descriptor_tx, uint32_t frame,
                              uint32_t mps, uint32_t batch) {
  constexpr uint32_t kReadRequest = 512;
  const auto fetched = [mps](uint64_t bytes) {
    return static_cast<double>(TlpReadBytes(bytes, mps, kReadRequest, mps).completion);
  };
  const double metadata =
      (fetched(uint64_t{descriptor_rx} * batch) + fetched(uint64_t{descriptor_tx} * batch)) / batch;
  return metadata / (metadata + fetched(frame));
}

}  // namespace sluice::bar
