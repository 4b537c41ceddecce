// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/replay.h"

#include <rte_hash_crc.h>

#include <algorithm>
#include <new>

#include "emulator/options.h"
#include "packet/capture.h"
#include "packet/ethernet.h"
#include "packet/frame_length.h"
#include "packet/parse.h"
#include "packet/quantity.h"

namespace sluice::emulator {
namespace {

using packet::Headers;
using packet::ParseError;

/// Offset from which frames with malformed headers are compared.
constexpr uint32_t kBehindMalformed = 64;
/// Offset of the byte that echo changes in later fragments of a UDP datagram.
constexpr uint32_t kFragmentByte = 8;

/// Returns a hash of the protocol, the length and the bytes that an echo does not change.
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

/// Returns whether the IPv4 total length extends beyond the frame, but not beyond the frame's last
/// flit. A NIC that derives the frame's length from the total length also sends the flit's padding.
bool ClaimsPadding(const device::WireFrame& frame, const Headers& headers) {
  return headers.error == ParseError::kIpv4TotalLength &&
         packet::TotalLengthCutsWell(frame.data, frame.length);
}

/// Returns a hash of the total length, the identification, the protocol and both addresses. The
/// order of the addresses does not matter.
uint64_t LooseSignature(const uint8_t* frame) {
  const uint8_t* ip = frame + packet::kEthernetHeaderBytes;
  const uint64_t addresses =
      uint64_t{packet::Load<uint32_t>(ip + 12)} + packet::Load<uint32_t>(ip + 16);
  return uint64_t{packet::Load<uint32_t>(ip + 2)} << 32 ^ addresses << 8 ^ ip[9];
}

/// Minimum number of ring entries. Shorter captures are repeated, so that the ring can supply full
/// bursts.
constexpr size_t kRingEntries = 1024;
constexpr size_t kLine = 64;

uint64_t FramesToSend(const ReplayOptions& options, uint64_t records) {
  if (options.loop == 0) return options.count;
  const uint64_t played = options.loop > ~uint64_t{0} / records ? 0 : options.loop * records;
  if (options.count == 0 || played == 0) return std::max(options.count, played);
  return std::min(options.count, played);
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

bool ReplayOptions::Read(std::string_view text, std::string* error) {
  // A file name may contain a '+', so options are parsed from the end, for as long as they are
  // valid.
  for (;;) {
    const size_t plus = text.rfind('+');
    if (plus == std::string_view::npos) break;
    const auto [key, value] = Cut(text.substr(plus + 1), '=');
    if (key == "rate") {
      if (!packet::ReadPacketRate(value, &rate_pps)) {
        return Refuse("wire=pcap: rate", value, kRateFix, error);
      }
    } else if (key == "count") {
      if (!ReadCount(value, &count)) return Refuse("wire=pcap: count", value, kCountFix, error);
    } else if (key == "loop") {
      if (!ReadNumber(value, &loop)) {
        return Refuse("wire=pcap: loop", value, "give the number of passes, or 0 for endless",
                      error);
      }
    } else {
      break;
    }
    text = text.substr(0, plus);
  }
  file = text;
  return !file.empty() ||
         Refuse("wire", "pcap:", "give a capture file, as in pcap:trace.pcap", error);
}

bool ReplayWire::Load(const std::string& file, Loaded& loaded, std::string* warning,
                      std::string* error) {
  std::optional<packet::CaptureReader> reader = packet::CaptureReader::Open(file, error);
  if (!reader) return false;
  packet::CaptureRecord record;
  std::string stop;
  packet::CaptureReader::Status status;
  while ((status = reader->Next(&record, &stop)) == packet::CaptureReader::Status::kRecord) {
    if (record.length > kMaxFrameBytes) {
      ++loaded.too_long;
    } else if (record.captured_bytes < packet::kEthernetHeaderBytes) {
      ++loaded.runts;
    } else {
      const uint32_t length = std::max(record.length, kMinFrameBytes);
      if (record.captured_bytes < record.length) ++loaded.padded;
      const size_t offset = loaded.bytes.size();
      if (offset + length > kMaxCaptureBytes) {
        *error = file + ": more than " + std::to_string(kMaxCaptureBytes >> 20) +
                 " MiB of frames: replay part of the capture (editcap -r can extract one)";
        return false;
      }
      loaded.offsets.push_back(offset);
      loaded.lengths.push_back(length);
      loaded.bytes.insert(loaded.bytes.end(), record.data, record.data + record.captured_bytes);
      loaded.bytes.resize((offset + length + kLine - 1) & ~(kLine - 1));
    }
  }
  if (status == packet::CaptureReader::Status::kError) {
    if (loaded.offsets.empty()) {
      *error = stop;
      return false;
    }
    *warning = "; " + stop;
  }
  if (loaded.offsets.empty()) {
    *error = file + ": no frame to replay (" + std::to_string(loaded.too_long) + " longer than " +
             std::to_string(kMaxFrameBytes) + " bytes, " + std::to_string(loaded.runts) +
             " too short for an Ethernet header): give another capture";
    return false;
  }
  return true;
}

std::unique_ptr<ReplayWire> ReplayWire::Create(const ReplayOptions& options, VerifyMode verify,
                                               std::string* summary, std::string* error) {
  Loaded loaded;
  std::string warning;
  if (!Load(options.file, loaded, &warning, error)) return nullptr;
  *summary = options.file + ": " + std::to_string(loaded.offsets.size()) + " frames loaded, " +
             std::to_string(loaded.padded) + " of them padded to their length on the wire, " +
             std::to_string(loaded.too_long) + " longer than " + std::to_string(kMaxFrameBytes) +
             " and " + std::to_string(loaded.runts) + " runts skipped" + warning;
  return std::unique_ptr<ReplayWire>(new ReplayWire(options, verify, loaded));
}

ReplayWire::ReplayWire(const ReplayOptions& options, VerifyMode verify, const Loaded& loaded)
    : bytes_(AllocateBytes(loaded.bytes.size())),
      mode_(verify),
      verifier_(verify),
      rate_pps_(options.rate_pps),
      limit_(FramesToSend(options, loaded.offsets.size())),
      pacer_(rate_pps_, limit_) {
  if (bytes_ == nullptr) throw std::bad_alloc();
  std::copy(loaded.bytes.begin(), loaded.bytes.end(), bytes_.get());
  const size_t records = loaded.offsets.size();
  totals_.skipped = loaded.too_long + loaded.runts;
  ring_.reserve(std::max(records, kRingEntries) + records);
  do {
    for (size_t i = 0; i < records; ++i) {
      ring_.push_back({bytes_.get() + loaded.offsets[i], loaded.lengths[i]});
    }
  } while (ring_.size() < kRingEntries);
  for (size_t i = 0; i < records; ++i) verifier_.Learn(ring_[i]);
}

std::span<const device::WireFrame> ReplayWire::Pull(uint64_t now_ns, uint32_t max) {
  const uint32_t to_end = static_cast<uint32_t>(ring_.size()) - position_;
  return {ring_.data() + position_, std::min(pacer_.Due(now_ns, max), to_end)};
}

void ReplayWire::Consumed(uint32_t count) {
  pacer_.Sent(count);
  verifier_.Sent(totals_.offered, count);
  totals_.offered += count;
  position_ += count;
  if (position_ == ring_.size()) position_ = 0;
}

void ReplayWire::Deliver(uint64_t, std::span<const device::WireFrame> frames) {
  verifier_.Check(frames, totals_);
}

void ReplayWire::Check(const device::WireFrame& frame) {
  ++totals_.verified;
  if (!verifier_.Knows(frame)) ++totals_.corrupted;
}

std::span<const device::Counter> ReplayWire::Counters() {
  counters_[0].value = pacer_.given_up();
  return counters_;
}

}  // namespace sluice::emulator
