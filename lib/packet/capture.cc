// SPDX-License-Identifier: BSD-3-Clause
#include "packet/capture.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "packet/capture_pcapng.h"

namespace sluice::packet {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
// Bits of the link type field in a pcap file header (draft-ietf-opsawg-pcap).
constexpr uint32_t kFcsPresent = 0x04000000;
constexpr uint32_t kFcsWordsShift = 28;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

struct PcapCloser {
  void operator()(pcap_t* pcap) const { pcap_close(pcap); }
};
using Pcap = std::unique_ptr<pcap_t, PcapCloser>;

struct DumperCloser {
  void operator()(pcap_dumper_t* dumper) const { pcap_dump_close(dumper); }
};
using Dumper = std::unique_ptr<pcap_dumper_t, DumperCloser>;

/// Returns libpcap's message as one line, prefixed with the file name exactly once.
std::string Message(const std::string& path, std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.starts_with(path + ": ") ? text : path + ": " + text;
}

}  // namespace

std::string NotEthernet(uint32_t link) {
  const char* const name = pcap_datalink_val_to_name(static_cast<int>(link));
  return "link layer " + (name ? std::string(name) : std::to_string(link)) + " is not Ethernet";
}

struct CaptureReader::State {
  std::string path;
  File file;  // For the pcapng reader only; libpcap opens its own file.
  Pcap pcap;
  std::optional<PcapngReader> pcapng;  // Used instead of `pcap` if the file is pcapng.
  uint32_t pcap_fcs_bytes = 0;         // FCS bytes at the end of each frame, from the file header.
  std::optional<CaptureRecord> ahead;  // The first record including its FCS, read by Open.
  uint32_t ahead_fcs_bytes = 0;
  uint64_t records = 0;
  Status last = Status::kRecord;
  std::string error;  // Error text from the call that returned kError.

  Status Read(CaptureRecord* record, uint32_t* fcs_bytes, std::string* error_text);
  Status ReadPcap(CaptureRecord* record, std::string* error_text) const;
};

// Reads a record, including its FCS.
CaptureReader::Status CaptureReader::State::Read(CaptureRecord* record, uint32_t* fcs_bytes,
                                                 std::string* error_text) {
  if (ahead) {
    *record = *ahead;
    *fcs_bytes = ahead_fcs_bytes;
    ahead.reset();
    return Status::kRecord;
  }
  if (pcapng) return pcapng->Next(record, fcs_bytes, error_text);
  *fcs_bytes = pcap_fcs_bytes;
  return ReadPcap(record, error_text);
}

CaptureReader::Status CaptureReader::State::ReadPcap(CaptureRecord* record,
                                                     std::string* error_text) const {
  pcap_pkthdr* header = nullptr;
  const uint8_t* data = nullptr;
  const int result = pcap_next_ex(pcap.get(), &header, &data);
  if (result == PCAP_ERROR_BREAK) return Status::kEnd;
  if (result != 1) {
    *error_text = pcap_geterr(pcap.get());
    return Status::kError;
  }
  // The file was opened with nanosecond precision, so tv_usec contains nanoseconds.
  const auto seconds = static_cast<uint32_t>(header->ts.tv_sec);
  *record = {data, header->caplen, header->len,
             seconds * kNsPerSecond + static_cast<uint32_t>(header->ts.tv_usec)};
  return Status::kRecord;
}

CaptureReader::CaptureReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;
CaptureReader::~CaptureReader() = default;

std::optional<CaptureReader> CaptureReader::Open(const std::string& path, std::string* error) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->file.reset(std::fopen(path.c_str(), "rbe"));
  const int first = state->file == nullptr ? EOF : std::getc(state->file.get());
  if (state->file == nullptr || std::ferror(state->file.get()) != 0) {
    *error = Message(path, std::strerror(errno));
    return std::nullopt;
  }
  std::ungetc(first, state->file.get());
  if (first == PcapngReader::kFirstByte) {
    state->pcapng.emplace(state->file.get());
    CaptureRecord record{};
    std::string text;
    const Status status = state->pcapng->Next(&record, &state->ahead_fcs_bytes, &text);
    if (status == Status::kRecord) state->ahead = record;
    if (status != Status::kError) return CaptureReader(std::move(state));
    *error = Message(path, text);
    return std::nullopt;
  }
  char text[PCAP_ERRBUF_SIZE] = "";
  state->pcap.reset(pcap_fopen_offline_with_tstamp_precision(state->file.get(),
                                                             PCAP_TSTAMP_PRECISION_NANO, text));
  if (!state->pcap) {
    *error = Message(path, text);
    return std::nullopt;
  }
  state->file.release();  // libpcap owns the file from here on.
  const int link = pcap_datalink(state->pcap.get());
  if (link != DLT_EN10MB) {
    *error = Message(path, NotEthernet(static_cast<uint32_t>(link)));
    return std::nullopt;
  }
  // The upper bits of the link type field contain a flag for the FCS and the FCS length in 16-bit
  // words.
  const auto bits = static_cast<uint32_t>(pcap_datalink_ext(state->pcap.get()));
  if ((bits & kFcsPresent) != 0) state->pcap_fcs_bytes = 2 * (bits >> kFcsWordsShift);
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
  uint32_t fcs_bytes = 0;
  std::string text;
  const Status status = state.Read(record, &fcs_bytes, &text);
  if (status == Status::kEnd) return state.last = status;
  if (status == Status::kError) return fail(text);
  auto& [data, captured, length, timestamp] = *record;
  if (captured > kMaxCaptureBytes || length > kMaxCaptureBytes) {
    return fail("frame of " + std::to_string(std::max(captured, length)) +
                " bytes exceeds the limit of " + std::to_string(kMaxCaptureBytes));
  }
  if (length == 0) length = captured;
  if (captured > length) {
    return fail(std::to_string(captured) + " captured bytes exceed the frame's length of " +
                std::to_string(length));
  }
  length -= std::min(fcs_bytes, length);
  captured = std::min(captured, length);
  ++state.records;
  return Status::kRecord;
}

struct CaptureWriter::State {
  std::string path;
  uint64_t tick_ns;  // Unit of the timestamp's fraction.
  uint32_t snap_bytes;
  Pcap pcap;  // Must outlive the dumper.
  Dumper dumper;
};

CaptureWriter::CaptureWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureWriter::CaptureWriter(CaptureWriter&&) noexcept = default;
CaptureWriter& CaptureWriter::operator=(CaptureWriter&&) noexcept = default;
CaptureWriter::~CaptureWriter() = default;

std::optional<CaptureWriter> CaptureWriter::Open(const std::string& path, Resolution resolution,
                                                 uint32_t snap_bytes, std::string* error) {
  if (snap_bytes == 0 || snap_bytes > kMaxCaptureBytes) {
    *error = Message(path, "snap length " + std::to_string(snap_bytes) +
                               " is out of range: give 1 to " + std::to_string(kMaxCaptureBytes));
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
  // ferror reports earlier failed writes, which a flush alone does not.
  std::FILE* file = pcap_dump_file(state_->dumper.get());
  const bool flushed = pcap_dump_flush(state_->dumper.get()) == 0 && std::ferror(file) == 0;
  const int reason = errno;
  state_->dumper.reset();
  if (!flushed) *error = Message(state_->path, std::strerror(reason));
  return flushed;
}

}  // namespace sluice::packet
