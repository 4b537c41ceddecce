// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/replay.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "host/argument_faults.h"
#include "host/report.h"

DECLARE_string(pcap);
DEFINE_string(
    out_pcap, "",
    "With --pcap: run without a NIC, and write the frames that the program sends to this capture");
DEFINE_string(pass_pcap, "",
              "With --out_pcap: write the frames for the exception port to this capture");

namespace sluice::runtime {

namespace {

using nic::QueueCounters;

// Number of bytes by which a frame can grow at either end.
constexpr uint32_t kRoomBytes = 256;

bool OpenWriter(const std::string& path, std::optional<packet::CaptureWriter>* writer,
                std::string* error) {
  *writer = packet::CaptureWriter::Open(path, packet::CaptureWriter::Resolution::kNanoseconds,
                                        packet::kMaxCaptureBytes, error);
  return writer->has_value();
}

}  // namespace

bool WantsReplay() { return !FLAGS_out_pcap.empty() || !FLAGS_pass_pcap.empty(); }

ReplayFiles::ReplayFiles(const CommandLine& line, packet::CaptureReader reader)
    : app_(line.app),
      output_(line.options),
      reader_(std::move(reader)),
      room_(kRoomBytes + packet::kMaxCaptureBytes + kRoomBytes) {
  run_.app = line.app;
  run_.iface = "replay";
  run_.traffic = "pcap:" + FLAGS_pcap;
  run_.memory = "none: offline";
}

std::unique_ptr<ReplayFiles> ReplayFiles::Open(const CommandLine& line, int* exit_code) {
  *exit_code = 2;
  if (FLAGS_out_pcap.empty()) {
    BadFlag("pass_pcap", "requires --out_pcap=FILE");
    return nullptr;
  }
  if (FLAGS_pcap.empty()) {
    BadFlag("out_pcap", "requires --pcap=FILE");
    return nullptr;
  }
  std::string error;
  std::optional<packet::CaptureReader> reader = packet::CaptureReader::Open(FLAGS_pcap, &error);
  if (!reader) {
    BadFlag("pcap", error);
    return nullptr;
  }
  std::unique_ptr<ReplayFiles> files(new ReplayFiles(line, *std::move(reader)));
  if (host::IsSameFile(FLAGS_out_pcap, FLAGS_pcap)) {
    BadFlag("out_pcap", "must differ from --pcap");
    return nullptr;
  }
  if (host::IsSameFile(FLAGS_pass_pcap, FLAGS_pcap)) {
    BadFlag("pass_pcap", "must differ from --pcap");
    return nullptr;
  }
  if (!OpenWriter(FLAGS_out_pcap, &files->out_, &error)) {
    BadFlag("out_pcap", error);
    return nullptr;
  }
  if (host::IsSameFile(FLAGS_pass_pcap, FLAGS_out_pcap)) {
    BadFlag("pass_pcap", "must differ from --out_pcap");
    return nullptr;
  }
  if (!FLAGS_pass_pcap.empty() && !OpenWriter(FLAGS_pass_pcap, &files->passed_, &error)) {
    BadFlag("pass_pcap", error);
    return nullptr;
  }
  *exit_code = 0;
  return files;
}

bool ReplayFiles::Next(packet::Frame* frame, uint64_t* now) {
  packet::CaptureRecord record{};
  if (!error_.empty() || reader_.Next(&record, &error_) != packet::CaptureReader::Status::kRecord) {
    return false;
  }
  uint8_t* const data = room_.data() + kRoomBytes;
  std::fill(std::copy_n(record.data, record.captured_bytes, data), data + record.length,
            uint8_t{0});
  *frame = {data, record.length, kRoomBytes,
            static_cast<uint32_t>(room_.data() + room_.size() - data) - record.length};
  QueueCounters& c = run_.final.counters;
  now_ns_ = record.timestamp_ns;
  if (c.rx_pkts++ == 0) first_ns_ = now_ns_;
  c.rx_bytes += record.length;
  *now = now_ns_;
  return true;
}

bool ReplayFiles::Write(std::optional<packet::CaptureWriter>& writer, const packet::Frame& frame) {
  if (!writer || writer->Write({frame.data, frame.length, frame.length, now_ns_})) return true;
  if (error_.empty()) {
    error_ =
        "a frame of " + std::to_string(frame.length) + " bytes cannot be written to the capture";
  }
  return false;
}

void ReplayFiles::End(const packet::Frame& frame, packet::Verdict verdict) {
  QueueCounters& c = run_.final.counters;
  switch (verdict.action) {
    case packet::Action::kForward:
      if (!Write(out_, frame)) return;
      ++c.tx_pkts;
      c.tx_bytes += frame.length;
      return;
    case packet::Action::kPass:
      if (!Write(passed_, frame)) return;
      ++c.passed_pkts;
      ++c.consumed_pkts;
      return;
    case packet::Action::kConsume:
      ++c.consumed_pkts;
      return;
    case packet::Action::kDrop:
      ++c.engine_drops[std::min<uint32_t>(verdict.reason, QueueCounters::kMaxReasons - 1)];
      return;
  }
}

bool ReplayFiles::Send(const uint8_t* frame, uint32_t length) {
  ++run_.final.counters.sent_pkts;
  sent_.emplace_back(frame, frame + length);
  return true;
}

void ReplayFiles::FlushSent() {
  QueueCounters& c = run_.final.counters;
  for (std::vector<uint8_t>& frame : sent_) {
    const auto length = static_cast<uint32_t>(frame.size());
    if (!Write(out_, {frame.data(), length, 0, 0})) break;
    ++c.tx_pkts;
    c.tx_bytes += length;
  }
  sent_.clear();
}

int ReplayFiles::Finish(std::span<const std::string_view> reasons, const AppHooks& hooks) {
  for (auto* writer : {&out_, &passed_}) {
    std::string error;
    if (*writer && !(*writer)->Close(&error) && error_.empty()) error_ = error;
  }
  run_.reasons = reasons;
  run_.final.seconds = static_cast<double>(now_ns_ - std::min(first_ns_, now_ns_)) / kReplayHz;
  run_.measured = run_.final;
  output_.Print("sluice-" + app_ + ", " + run_.traffic + "\n" + Totals(run_));
  if (error_.empty()) error_ = Verdict(run_);
  if (!error_.empty()) std::fprintf(stderr, "%s\n", error_.c_str());
  return host::WriteReport(output_.json, JsonReport(run_, hooks.report)) && error_.empty() ? 0 : 1;
}

}  // namespace sluice::runtime
