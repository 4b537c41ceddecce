// SPDX-License-Identifier: BSD-3-Clause
#include "packet/capture.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace sluice::packet {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

struct PcapCloser {
  void operator()(pcap_t* pcap) const { pcap_close(pcap); }
};
using Pcap = std::unique_ptr<pcap_t, PcapCloser>;

struct DumperCloser {
  void operator()(pcap_dumper_t* dumper) const { pcap_dump_close(dumper); }
};
using Dumper = std::unique_ptr<pcap_dumper_t, DumperCloser>;

/// libpcap's message on one line, with the file's name in front exactly once.
std::string Message(const std::string& path, std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.starts_with(path + ": ") ? text : path + ": " + text;
}

}  // namespace

struct CaptureReader::State {
  std::string path;
  Pcap pcap;
  uint64_t records = 0;
  Status last = Status::kRecord;
  std::string error;  // Of the call that ended with kError.
};

CaptureReader::CaptureReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;
CaptureReader::~CaptureReader() = default;

std::optional<CaptureReader> CaptureReader::Open(const std::string& path, std::string* error) {
  char text[PCAP_ERRBUF_SIZE] = "";
  auto state = std::make_unique<State>();
  state->path = path;
  state->pcap.reset(
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, text));
  if (!state->pcap) {
    *error = Message(path, text);
    return std::nullopt;
  }
  const int link = pcap_datalink(state->pcap.get());
  if (link != DLT_EN10MB) {
    const char* name = pcap_datalink_val_to_name(link);
    *error = Message(path, "link layer " + (name ? std::string(name) : std::to_string(link)) +
                               " is not Ethernet");
    return std::nullopt;
  }
  return CaptureReader(std::move(state));
}

CaptureReader::Status CaptureReader::Next(CaptureRecord* record, std::string* error) {
  State& state = *state_;
  if (state.last == Status::kError) *error = state.error;
  if (state.last != Status::kRecord) return state.last;

  const auto fail = [&](const std::string& text) {
    state.error = Message(state.path, "record " + std::to_string(state.records + 1) + ": " + text);
    *error = state.error;
    return state.last = Status::kError;
  };
  pcap_pkthdr* header = nullptr;
  const uint8_t* data = nullptr;
  const int result = pcap_next_ex(state.pcap.get(), &header, &data);
  if (result == PCAP_ERROR_BREAK) return state.last = Status::kEnd;
  if (result != 1) return fail(pcap_geterr(state.pcap.get()));
  if (header->caplen > kMaxCaptureBytes || header->len > kMaxCaptureBytes) {
    return fail("frame of " + std::to_string(std::max(header->caplen, header->len)) +
                " bytes, more than " + std::to_string(kMaxCaptureBytes));
  }
  if (header->caplen > header->len) {
    return fail(std::to_string(header->caplen) + " bytes captured of a frame of " +
                std::to_string(header->len));
  }
  ++state.records;
  // Nanosecond precision was asked for: tv_usec holds nanoseconds.
  const auto seconds = static_cast<uint32_t>(header->ts.tv_sec);
  *record = {data, header->caplen, header->len,
             seconds * kNsPerSecond + static_cast<uint32_t>(header->ts.tv_usec)};
  return Status::kRecord;
}

struct CaptureWriter::State {
  std::string path;
  uint64_t tick_ns;  // Unit of the record's fraction.
  uint32_t snap_bytes;
  Pcap pcap;  // Outlives the dumper.
  Dumper dumper;
};

CaptureWriter::CaptureWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureWriter::CaptureWriter(CaptureWriter&&) noexcept = default;
CaptureWriter& CaptureWriter::operator=(CaptureWriter&&) noexcept = default;
CaptureWriter::~CaptureWriter() = default;

std::optional<CaptureWriter> CaptureWriter::Open(const std::string& path, Resolution resolution,
                                                 uint32_t snap_bytes, std::string* error) {
  if (snap_bytes == 0 || snap_bytes > kMaxCaptureBytes) {
    *error = Message(path, "snap length " + std::to_string(snap_bytes) + " is not within 1 to " +
                               std::to_string(kMaxCaptureBytes));
    return std::nullopt;
  }
  const bool micro = resolution == Resolution::kMicroseconds;
  auto state = std::make_unique<State>();
  state->path = path;
  state->tick_ns = micro ? 1000 : 1;
  state->snap_bytes = snap_bytes;
  state->pcap.reset(pcap_open_dead_with_tstamp_precision(
      DLT_EN10MB, static_cast<int>(snap_bytes),
      micro ? PCAP_TSTAMP_PRECISION_MICRO : PCAP_TSTAMP_PRECISION_NANO));
  if (!state->pcap) {
    *error = Message(path, "out of memory");
    return std::nullopt;
  }
  state->dumper.reset(pcap_dump_open(state->pcap.get(), path.c_str()));
  if (!state->dumper) {
    *error = Message(path, pcap_geterr(state->pcap.get()));
    return std::nullopt;
  }
  return CaptureWriter(std::move(state));
}

bool CaptureWriter::Write(const CaptureRecord& record) {
  if (!state_->dumper || record.captured_bytes > record.length ||
      record.length > kMaxCaptureBytes) {
    return false;
  }
  pcap_pkthdr header{};
  header.ts.tv_sec = static_cast<time_t>(record.timestamp_ns / kNsPerSecond);
  header.ts.tv_usec =
      static_cast<suseconds_t>(record.timestamp_ns % kNsPerSecond / state_->tick_ns);
  header.caplen = std::min(record.captured_bytes, state_->snap_bytes);
  header.len = record.length;
  pcap_dump(reinterpret_cast<u_char*>(state_->dumper.get()), &header, record.data);
  return true;
}

bool CaptureWriter::Close(std::string* error) {
  if (!state_->dumper) return true;
  // The stream remembers a write that failed earlier; a flush alone would not tell.
  std::FILE* file = pcap_dump_file(state_->dumper.get());
  const bool flushed = pcap_dump_flush(state_->dumper.get()) == 0 && std::ferror(file) == 0;
  const int reason = errno;
  state_->dumper.reset();
  if (!flushed) *error = Message(state_->path, std::strerror(reason));
  return flushed;
}

}  // namespace sluice::packet
