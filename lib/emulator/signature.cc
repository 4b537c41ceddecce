// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/signature.h"

#include <rte_hash_crc.h>

#include <algorithm>

#include "packet/frame_length.h"
#include "packet/parse.h"

namespace sluice::emulator {
namespace {

using packet::Headers;
using packet::ParseError;

/// Offset from which frames with malformed headers are compared.
constexpr uint32_t kBehindMalformed = 64;
/// Offset of the byte that echo changes in later fragments of a UDP datagram.
constexpr uint32_t kFragmentByte = 8;

/// Returns a hash of protocol, length and the bytes that an echo does not change.
uint64_t Signature(const device::WireFrame& frame, const Headers& headers) {
  const uint32_t end = headers.end != 0 ? std::min(headers.end, frame.length) : frame.length;
  uint32_t from = kBehindMalformed;
  if (headers.error == ParseError::kNone) {
    from = headers.payload + 1 + (headers.IsLaterFragment() ? kFragmentByte : 0);
  }
  const uint32_t bytes = end > from ? end - from : 0;
  const uint32_t crc = rte_hash_crc(frame.data + (bytes != 0 ? from : 0), bytes, headers.protocol);
  return uint64_t{end} << 32 | crc;
}

/// Returns whether IPv4's total length exceeds the frame, but not the frame's last flit. A NIC that
/// derives the frame's length from the total length sends the flit's padding as well.
bool ClaimsPadding(const device::WireFrame& frame, const Headers& headers) {
  return headers.error == ParseError::kIpv4TotalLength &&
         packet::TotalLengthCutsWell(frame.data, frame.length);
}

/// Returns a hash of total length, identification, protocol and both addresses in either order.
uint64_t LooseSignature(const uint8_t* frame) {
  const uint8_t* ip = frame + packet::kEthernetHeaderBytes;
  const uint64_t addresses =
      uint64_t{packet::Load<uint32_t>(ip + 12)} + packet::Load<uint32_t>(ip + 16);
  return uint64_t{packet::Load<uint32_t>(ip + 2)} << 32 ^ addresses << 8 ^ ip[9];
}

}  // namespace

void SignatureVerifier::Learn(const device::WireFrame& frame) {
  const Headers headers = packet::Parse(frame.data, frame.length);
  Traffic* traffic = &exact_[Signature(frame, headers)];
  order_.push_back(traffic);
  if (ClaimsPadding(frame, headers)) loose_.emplace(LooseSignature(frame.data), traffic);
}

void SignatureVerifier::Sent(uint64_t first, uint32_t count) {
  if (mode_ != VerifyMode::kFull) return;
  for (uint32_t i = 0; i < count; ++i) ++order_[(first + i) % order_.size()]->sent;
}

SignatureVerifier::Traffic* SignatureVerifier::Find(const device::WireFrame& frame) {
  const Headers headers = packet::Parse(frame.data, frame.length);
  if (const auto found = exact_.find(Signature(frame, headers)); found != exact_.end()) {
    return &found->second;
  }
  if (loose_.empty() || !packet::TotalLengthCutsWell(frame.data, frame.length)) return nullptr;
  const auto found = loose_.find(LooseSignature(frame.data));
  return found != loose_.end() ? found->second : nullptr;
}

void SignatureVerifier::CheckOne(const device::WireFrame& frame, WireTotals& totals) {
  ++totals.verified;
  Traffic* traffic = Find(frame);
  if (traffic == nullptr) {
    ++totals.corrupted;
  } else if (mode_ == VerifyMode::kSampled) {
    ++totals.recognised;
  } else if (traffic->returned == traffic->sent) {
    ++(traffic->sent == 0 ? totals.foreign : totals.duplicated);
  } else {
    ++traffic->returned;
    ++totals.recognised;
  }
}

void SignatureVerifier::Check(std::span<const device::WireFrame> frames, WireTotals& totals) {
  switch (mode_) {
    case VerifyMode::kOff:
      totals.recognised += frames.size();
      return;
    case VerifyMode::kFull:
      for (const device::WireFrame& frame : frames) CheckOne(frame, totals);
      return;
    case VerifyMode::kSampled:
      size_t next = until_sample_ - 1;
      uint64_t samples = 0;
      for (; next < frames.size(); next += kSampleInterval, ++samples)
        CheckOne(frames[next], totals);
      until_sample_ = static_cast<uint32_t>(next - frames.size()) + 1;
      totals.recognised += frames.size() - samples;
      return;
  }
}

}  // namespace sluice::emulator
