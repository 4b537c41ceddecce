// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/replay.h"

#include <algorithm>
#include <new>

#include "emulator/options.h"
#include "packet/capture.h"
#include "packet/ethernet.h"
#include "packet/quantity.h"

namespace sluice::emulator {
namespace {

/// Minimum number of ring entries: shorter captures are repeated, so that the ring can supply full
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

bool ReplayOptions::Read(std::string_view text, std::string* error) {
  // A file name may contain a '+', so options are parsed from the end while they are valid.
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
                 " MiB of frames: replay a part of the capture (editcap -r cuts captures)";
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
