// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <gflags/gflags.h>
#include <rte_ether.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "capture.h"
#include "engine/pktgen/traffic.h"
#include "host/argument_faults.h"
#include "packet/frame.h"
#include "packet/frame_length.h"
#include "packet/imix.h"
#include "stream_file.h"

DEFINE_string(streams, "",
              "JSON file of streams (README.md), instead of flags that describe one stream");
DEFINE_string(
    schedule, "",
    "Consecutive rates, each for a time, instead of --rate: 10Mpps:10s,pause:1s,20Mpps:10s");
DEFINE_string(arrivals, "constant",
              "Gaps between frames: constant, or poisson (independent gaps with the same mean)");
DEFINE_uint64(loops, 0, "With --pcap: number of times that the capture is sent; 0: endless");
DEFINE_string(gaps, "none",
              "With --pcap: gaps between frames: none, original (as captured) or original:FACTOR "
              "(2: half as fast)");
DEFINE_string(dst_mac, "", "Destination MAC address of frames; empty: 02:00:00:00:00:01");
DEFINE_double(line_gbps, 0,
              "Line rate in 10^9 bits/s, to which percentages refer; 0: as the port reports it");
DEFINE_double(late_ms, 10,
              "A frame that is still unsent this many milliseconds after its due time is not sent");
DEFINE_double(
    settle_s, 2,
    "At the end: seconds without a received frame after which missing frames count as lost");
DEFINE_string(verify, "bytes",
              "Check of received frames: bytes (the whole payload) or tags (only the tag)");
DEFINE_string(hgrm, "",
              "Write the latencies of stream NAME to the file PREFIX + NAME.hgrm (HdrHistogram), "
              "with this PREFIX");
DECLARE_string(pcap);
DECLARE_string(frame_size);
DECLARE_uint32(flows);
DECLARE_string(rate);
DECLARE_string(ip);

DEFINE_string(
    rfc2544, "",
    "RFC 2544 test to run instead of one trial: throughput, latency, loss or back_to_back");
DEFINE_double(trial_s, 10,
              "With --rfc2544: seconds of a trial, or of the longest burst of back_to_back");
DEFINE_double(probe_s, 1, "With --rfc2544: seconds of the short trials that narrow the search");
DEFINE_double(loss_percent, 0,
              "With --rfc2544: percent of frames that may be lost; 0: the non-drop rate (NDR)");
DEFINE_double(
    precision_percent, 0.5,
    "With --rfc2544: width of the interval in which the rate is found, in percent of the rate");
DEFINE_uint32(repeats, 0,
              "With --rfc2544: number of latency trials, of loss trials per rate, or of "
              "back_to_back bursts; 0: 3 for loss, otherwise 20");
DEFINE_double(generator_mpps, 0,
              "With --rfc2544: highest rate of the generator on a loopback, in millions of frames "
              "per second; "
              "0: unknown");
DECLARE_double(duration_s);

namespace sluice::pktgen {

namespace {

using engine::pktgen::Field;
using engine::pktgen::Phase;
using engine::pktgen::StreamSpec;
using engine::workload::Arrivals;

using Test = Rfc2544::Test;

constexpr std::array<std::pair<std::string_view, Test>, 4> kTests{
    {{"throughput", Test::kThroughput},
     {"latency", Test::kLatency},
     {"loss", Test::kLoss},
     {"back_to_back", Test::kBackToBack}}};

bool CheckAlone(const runtime::Complaint& complaint) {
  for (const char* other :
       {"trial_s", "probe_s", "loss_percent", "precision_percent", "repeats", "generator_mpps"}) {
    if (!complaint.Check(host::IsDefault(other), other, "requires --rfc2544")) {
      return false;
    }
  }
  return true;
}

bool CheckNumbers(const runtime::Complaint& complaint) {
  return complaint.Check(FLAGS_trial_s >= 0.01 && FLAGS_trial_s <= 3600, "trial_s",
                         "give 0.01 to 3600") &&
         complaint.Check(host::IsDefault("probe_s") ||
                             (FLAGS_probe_s >= 0.01 && FLAGS_probe_s <= FLAGS_trial_s),
                         "probe_s", "give 0.01 up to --trial_s") &&
         complaint.Check(FLAGS_loss_percent >= 0 && FLAGS_loss_percent <= 50, "loss_percent",
                         "give 0 to 50") &&
         complaint.Check(FLAGS_precision_percent >= 0.01 && FLAGS_precision_percent <= 50,
                         "precision_percent", "give 0.01 to 50") &&
         complaint.Check(FLAGS_repeats <= 10'000, "repeats", "give 0 to 10000") &&
         complaint.Check(FLAGS_generator_mpps >= 0 && FLAGS_generator_mpps <= 1e6, "generator_mpps",
                         "give 0 to 1000000");
}

/// Checks the flags of --rfc2544, and adds the test to `settings`, whose streams must already have
/// been read. If a flag is invalid, reports it and returns false.
bool ReadRfc2544(const runtime::Complaint& complaint, Settings* settings) {
  if (FLAGS_rfc2544.empty()) return CheckAlone(complaint);
  Rfc2544 test;
  bool known = false;
  for (const auto& [name, value] : kTests) {
    if (FLAGS_rfc2544 != name) continue;
    test.test = value;
    known = true;
  }
  if (!complaint.Check(known, "rfc2544", "give throughput, latency, loss or back_to_back") ||
      !CheckNumbers(complaint)) {
    return false;
  }
  for (const char* other : {"rate", "schedule", "arrivals", "gaps", "loops", "duration_s"}) {
    if (!complaint.Check(host::IsDefault(other), other,
                         "--rfc2544 controls the offered load: omit this flag")) {
      return false;
    }
  }
  for (const engine::pktgen::StreamSpec& stream : settings->streams) {
    const bool steady = stream.phases.size() == 1 && stream.frames == 0 &&
                        stream.arrivals == engine::workload::Arrivals::kConstant &&
                        stream.phases[0].rate.unit == engine::pktgen::Rate::Unit::kPackets;
    if (!complaint.Check(steady, "streams",
                         "stream \"" + stream.name +
                             "\": --rfc2544 requires one constant rate in packets/s, as the "
                             "stream's share of the offered load")) {
      return false;
    }
  }
  test.trial_s = FLAGS_trial_s;
  test.probe_s = std::min(FLAGS_probe_s, FLAGS_trial_s);
  test.tolerated_loss = FLAGS_loss_percent / 100;
  test.precision = FLAGS_precision_percent / 100;
  test.repeats = FLAGS_repeats > 0 ? FLAGS_repeats : test.test == Test::kLoss ? 3 : 20;
  test.generator_pps = FLAGS_generator_mpps * 1e6;
  settings->rfc2544 = test;
  settings->traffic += "+rfc2544=" + FLAGS_rfc2544;
  return true;
}

constexpr uint32_t kMaxFlows = 1u << 20;

uint64_t PsOf(double seconds) { return static_cast<uint64_t>(std::llround(seconds * 1e12)); }

/// Reads the rate, the schedule and the arrivals of the single stream that the flags describe.
bool ReadTimes(const runtime::Complaint& complaint, StreamSpec* stream) {
  std::string fix;
  if (!FLAGS_schedule.empty()) {
    auto phases = engine::pktgen::ParseSchedule(FLAGS_schedule, &fix);
    if (!complaint.Check(phases.has_value(), "schedule", fix) ||
        !complaint.Check(FLAGS_rate.empty(), "rate",
                         "conflicts with --schedule: omit one of them")) {
      return false;
    }
    stream->phases = *std::move(phases);
  } else if (!FLAGS_rate.empty()) {
    const auto rate = engine::pktgen::ParseRate(FLAGS_rate);
    if (!complaint.Check(rate.has_value(), "rate",
                         "give " + std::string(engine::pktgen::kRateFix))) {
      return false;
    }
    stream->phases = {Phase{0, engine::pktgen::kNever, *rate}};
  }
  stream->arrivals = FLAGS_arrivals == "poisson" ? Arrivals::kPoisson : Arrivals::kConstant;
  return true;
}

bool ReadCapture(const runtime::Complaint& complaint, Settings* settings, StreamSpec* stream) {
  for (const char* other : {"frame_size", "flows", "dst_mac"}) {
    if (!complaint.Check(host::IsDefault(other), other,
                         "conflicts with --pcap, which provides the frames: omit one of them"))
      return false;
  }
  const bool original = FLAGS_gaps != "none";
  const std::optional<double> factor = ParseGaps(FLAGS_gaps);
  for (const char* other : {"rate", "schedule"}) {
    if (!complaint.Check(!original || host::IsDefault(other), other,
                         "conflicts with --gaps: omit one of them")) {
      return false;
    }
  }
  if (!complaint.Check(!original || factor, "gaps",
                       "give none, original or original:FACTOR, as in original:2") ||
      !complaint.Check(!original || FLAGS_arrivals == "constant", "arrivals",
                       "conflicts with --gaps: omit one of them") ||
      !complaint.Accept(host::InputFileFault(FLAGS_pcap), "pcap")) {
    return false;
  }
  if (!complaint.Check(FLAGS_loops <= engine::pktgen::kMaxLoops, "loops",
                       "give 0 to " + std::to_string(engine::pktgen::kMaxLoops))) {
    return false;
  }
  Captured captured;
  std::string fix;
  // LoadCapture is called before Check, because it sets `fix`.
  const bool loaded = LoadCapture(FLAGS_pcap, factor, &captured, &fix);
  if (!complaint.Check(loaded, "pcap", fix)) return false;
  captured.SetFramesOf(stream, FLAGS_loops);
  settings->traffic =
      "pcap:" + FLAGS_pcap + "+loops=" + std::to_string(FLAGS_loops) + "+gaps=" + FLAGS_gaps;
  return true;
}

bool ReadHeaders(const runtime::Complaint& complaint, uint64_t seed, Settings* settings,
                 StreamSpec* stream) {
  for (const char* other : {"loops", "gaps"}) {
    if (!complaint.Check(host::IsDefault(other), other, "requires --pcap")) {
      return false;
    }
  }
  const auto sizes = ParseSizes(FLAGS_frame_size, stream->least_size(), seed);
  rte_ether_addr mac{};
  if (!complaint.Check(sizes.has_value(), "frame_size",
                       "give 64 to 1518, a list such as 64,1518, imix or random") ||
      !complaint.Check(FLAGS_flows >= 1 && FLAGS_flows <= kMaxFlows, "flows",
                       "give 1 to 1048576") ||
      !complaint.Check(
          FLAGS_dst_mac.empty() || rte_ether_unformat_addr(FLAGS_dst_mac.c_str(), &mac) == 0,
          "dst_mac", "give a MAC address such as 02:00:00:00:00:01")) {
    return false;
  }
  if (!FLAGS_dst_mac.empty()) {
    Field::Value value = 0;
    for (const uint8_t byte : mac.addr_bytes) value = value << 8 | byte;
    stream->headers.destination_mac = value;
  }
  stream->sizes = *sizes;
  const Field::Value first = 0x0a00'0001;
  stream->headers.source = Field::Range(first, first + FLAGS_flows - 1, 1);
  settings->traffic = "udp:size=" + FLAGS_frame_size + "+flows=" + std::to_string(FLAGS_flows);
  return true;
}

bool ReadFile(const runtime::Complaint& complaint, Settings* settings) {
  for (const char* other : {"pcap", "frame_size", "flows", "rate", "schedule", "arrivals", "loops",
                            "gaps", "dst_mac"}) {
    if (!complaint.Check(host::IsDefault(other), other,
                         "conflicts with --streams: describe the traffic in the file of --streams, "
                         "or omit --streams")) {
      return false;
    }
  }
  std::vector<std::string> errors;
  auto streams = ReadStreams(FLAGS_streams, &errors);
  if (!streams) {
    return complaint.Check(
        false, "streams",
        errors.empty() ? "the file cannot be read: give another file" : errors[0]);
  }
  for (StreamSpec& stream : *streams) {
    std::string fix;
    stream.captured = engine::pktgen::BuildFrames(stream, &fix);
    if (!complaint.Check(stream.captured != nullptr, "streams",
                         "stream \"" + stream.name + "\": " + fix)) {
      return false;
    }
  }
  settings->streams = *std::move(streams);
  settings->rates = "streams";
  settings->traffic = "streams:" + FLAGS_streams;
  return true;
}

}  // namespace

std::string_view NameOf(Rfc2544::Test test) {
  for (const auto& [name, value] : kTests) {
    if (value == test) return name;
  }
  return "";
}

std::span<const host::OwnHelp> OwnHelp() {
  static constexpr host::OwnHelp kHelp[] = {
      {"flows", "Number of source addresses, beginning at 10.0.0.1; 1 to 1048576"},
      {"frame_size",
       "Bytes of a frame with FCS: 64 to 1518, a list such as 64,1518 (used in turn), imix or "
       "random"},
      {"ip", "Not supported: the program does not answer frames"},
      {"pcap",
       "Capture whose frames are sent, instead of frames by --frame_size, --flows and --dst_mac"},
      {"rate",
       "Rate in frames/s (500k or 10Mpps), layer-1 bits/s (5Gbps) or percent of the line rate "
       "(80%); max: as fast as the port accepts frames; empty: 1Mpps"},
      {"reassemble", "Not supported: the program does not reassemble datagrams"},
      {"seed",
       "Seed for the payload, random sizes and arrival times; 0 selects the default seed, 1"},
  };
  return kHelp;
}

std::optional<double> ParseGaps(std::string_view text) {
  constexpr std::string_view kOriginal = "original";
  if (text == kOriginal) return 1;
  if (!text.starts_with("original:")) return std::nullopt;
  text.remove_prefix(kOriginal.size() + 1);
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  const bool good =
      error == std::errc() && end == text.data() + text.size() && factor >= 1e-6 && factor <= 1e6;
  return good ? std::optional(factor) : std::nullopt;
}

std::optional<Field> ParseSizes(std::string_view text, uint32_t least, uint64_t seed) {
  std::vector<Field::Value> sizes;
  if (text == "random") return Field::Random(least, engine::pktgen::kMaxSize, seed);
  if (text == "imix") {
    for (const uint32_t size : packet::kImixSizes) sizes.push_back(std::max(size, least));
    return Field::List(sizes);
  }
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    uint32_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + comma, size);
    if (error != std::errc() || end != text.data() + comma || size < least ||
        size > engine::pktgen::kMaxSize) {
      return std::nullopt;
    }
    sizes.push_back(size);
    if (comma == text.size()) return Field::List(sizes);
    text.remove_prefix(comma + 1);
  }
}

namespace {

/// Performs the checks that are possible before EAL starts: checks the rates if the line rate is
/// given, and the frames if the NIC is the embedded one.
bool CheckEarly(const runtime::Complaint& complaint, const runtime::CommandLine& line,
                const Settings& settings) {
  std::string fix;
  const bool bears =
      settings.line_bps == 0 || settings.rfc2544 ||
      engine::pktgen::Traffic::Make(settings.streams, {.line_bps = settings.line_bps}, &fix);
  if (!complaint.Check(bears, settings.rates, fix)) return false;
  if (line.own_port || !line.options.iface->ipv4_only) return true;
  for (const StreamSpec& stream : settings.streams) {
    const engine::pktgen::FrameSet& frames = *stream.captured;
    for (size_t i = 0; i < frames.size(); ++i) {
      const auto& entry = frames.entry(i);
      if (!complaint.Check(packet::TotalLengthCutsWell(frames.bytes(entry), entry.length), "iface",
                           CannotSend(stream.name, i, entry.length))) {
        return false;
      }
    }
  }
  return true;
}

bool ReadTraffic(const runtime::Complaint& complaint, const runtime::CommandLine& line,
                 Settings* settings) {
  if (!FLAGS_streams.empty()) return ReadFile(complaint, settings);
  StreamSpec stream;
  stream.seed = line.options.seed.value_or(1);
  if (!ReadTimes(complaint, &stream) ||
      !(FLAGS_pcap.empty() ? ReadHeaders(complaint, stream.seed, settings, &stream)
                           : ReadCapture(complaint, settings, &stream))) {
    return false;
  }
  std::string fix;
  stream.captured = engine::pktgen::BuildFrames(stream, &fix);
  if (!complaint.Check(stream.captured != nullptr, "flows", fix)) return false;
  settings->rates = !FLAGS_schedule.empty()     ? "schedule"
                    : stream.offsets != nullptr ? "gaps"
                                                : "rate";
  if (!FLAGS_schedule.empty()) settings->traffic += "+schedule=" + FLAGS_schedule;
  if (!FLAGS_rate.empty()) settings->traffic += "+rate=" + FLAGS_rate;
  settings->streams.push_back(std::move(stream));
  return true;
}

}  // namespace

std::string CannotSend(std::string_view stream, size_t frame, uint32_t length) {
  return "cannot send frame " + std::to_string(frame + 1) + " of stream \"" + std::string(stream) +
         "\" (" + std::to_string(length + packet::kFcsBytes) +
         " bytes): an Enso pipe carries only complete IPv4 packets without VLAN tags: use "
         "--iface=packetized";
}

std::optional<Settings> ReadSettings(const runtime::CommandLine& line, std::string* flag,
                                     std::string* fix) {
  const runtime::Complaint complaint{flag, fix};
  const bool readable =
      complaint.Check(FLAGS_arrivals == "constant" || FLAGS_arrivals == "poisson", "arrivals",
                      "give constant or poisson") &&
      complaint.Check(FLAGS_verify == "bytes" || FLAGS_verify == "tags", "verify",
                      "give bytes or tags") &&
      complaint.Check(FLAGS_line_gbps == 0 || (FLAGS_line_gbps >= 1e-9 && FLAGS_line_gbps <= 1e4),
                      "line_gbps", "give 0, or 1e-9 to 10000") &&
      complaint.Check(FLAGS_late_ms >= 0.001 && FLAGS_late_ms <= 1e6, "late_ms",
                      "give 0.001 to 1000000") &&
      complaint.Check(FLAGS_settle_s >= 0 && FLAGS_settle_s <= 600, "settle_s", "give 0 to 600") &&
      complaint.Check(FLAGS_ip.empty(), "ip", "the program does not answer frames: omit --ip") &&
      complaint.Accept(FLAGS_hgrm.empty() ? "" : host::OutputFileFault(FLAGS_hgrm + "x.hgrm"),
                       "hgrm");
  if (!readable) return std::nullopt;
  Settings settings;
  settings.line_bps = static_cast<uint64_t>(std::llround(FLAGS_line_gbps * 1e9));
  settings.settle_s = FLAGS_settle_s;
  settings.trial.patience_ps = PsOf(FLAGS_late_ms / 1e3);
  if (FLAGS_verify == "tags") settings.trial.bytes = engine::pktgen::Checker::Bytes::kTrusted;
  settings.hgrm = FLAGS_hgrm;
  if (line.options.duration_s > 0) settings.end_ps = PsOf(line.options.duration_s);
  if (!ReadTraffic(complaint, line, &settings) || !ReadRfc2544(complaint, &settings) ||
      !CheckEarly(complaint, line, settings)) {
    return std::nullopt;
  }
  return settings;
}

}  // namespace sluice::pktgen
