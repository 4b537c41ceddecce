// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/options.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "host/argument_faults.h"
#include "host/flag_text.h"
#include "nic/streaming.h"
#include "packet/defragmenter.h"
#include "packet/quantity.h"

namespace {

// Returns the interface names as text: "packetized, streaming, bilateral or coherent".
std::string Choices() {
  std::string text;
  for (size_t i = 0; i < sluice::nic::kInterfaces.size(); ++i) {
    if (i > 0) text += i + 1 < sluice::nic::kInterfaces.size() ? ", " : " or ";
    text += sluice::nic::kInterfaces[i].name;
  }
  return text;
}

// gflags stores the pointer, so the text must be static.
const char* InterfaceHelp() {
  static const std::string help = "Interface between host and NIC: " + Choices();
  return help.c_str();
}

}  // namespace

DEFINE_string(iface, "packetized", InterfaceHelp());
DEFINE_double(duration_s, 0, "Seconds to run; 0: until SIGINT or SIGTERM");
DEFINE_double(stats_period_s, 1, "Seconds between statistics lines; 0: none");
DEFINE_string(json, "", "Write the final report to this file; - for standard output");
DEFINE_string(pcap, "", "Traffic: replay the frames of this capture");
DEFINE_string(frame_size, "64", "Traffic: bytes of a frame with FCS, 64 to 1518, imix or random");
DEFINE_uint32(flows, 1000, "Traffic: number of distinct flows");
DEFINE_string(rate, "",
              "Traffic: packets per second, such as 500k or 10M; empty: as fast as possible");
DEFINE_string(wire, "", "Embedded NIC: the NIC's wire, instead of the traffic flags");
DEFINE_string(on, "",
              "Embedded NIC: processor that runs its model: cpu, or gpu or threads with options");
DEFINE_uint64(seed, 0, "Traffic: seed; 0: the default seed");
DEFINE_string(port, "", "Name or number of the port to use; empty: the first free port");
DEFINE_bool(
    promiscuous, false,
    "Also accept frames to other MAC addresses (echo, logmon, telemetry and pktgen always do)");
DEFINE_string(exception_port, "",
              "Port for frames that the application does not handle or the NIC cannot send");
DEFINE_uint32(workers, 1,
              "Number of worker lcores, each with one queue, set of pipes, link or endpoint");
DEFINE_uint32(pipes, 8,
              "Streaming on an Enso NIC: number of pipes per worker, of which 8 are read at once");
DEFINE_uint32(burst, 64, "Packetized: maximum number of packets in one receive burst");
DEFINE_uint32(regions, 0,
              "Bilateral: number of regions per link, 3 to 64; 0: the driver's default");
DEFINE_uint32(region_bytes, 0,
              "Bilateral: bytes of a region, a multiple of 4096; 0: the driver's default");
DEFINE_uint32(region_frames, 0,
              "Bilateral: maximum frames of a region, a multiple of 16 up to 4096; 0: the driver's "
              "default");
DEFINE_string(
    capture, "",
    "Write received and sent frames to this pcapng file; FILE, or FILE,n=N for N packets");
DEFINE_string(metrics, "",
              "Serve metrics to Prometheus at http://ADDRESS:PORT/metrics; without ADDRESS only to "
              "this host; PORT 0: any free port");
DEFINE_uint32(reassemble, 0,
              "Number of datagrams to addresses of --ip that each worker can reassemble at a time, "
              "up to 16384; 0: no reassembly");
DEFINE_string(ip, "",
              "Addresses of this program, comma-separated; it answers ARP, neighbour discovery and "
              "ping for them");

namespace sluice::runtime {

namespace {

// Returns whether `fault` is empty. If it is not, stores the flag's error line in `error`.
bool Accept(std::string_view fault, const char* flag, std::string* error) {
  if (!fault.empty()) *error = host::FlagComplaint(flag, fault);
  return fault.empty();
}

bool ParseNumber(std::string_view text, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool IsFrameSize(std::string_view text) {
  uint64_t bytes = 0;
  return text == "imix" || text == "random" ||
         (ParseNumber(text, &bytes) && bytes >= 64 && bytes <= 1518);
}

// Builds the embedded NIC's wire from the traffic flags.
bool ReadTraffic(Options* options, std::string* error) {
  if (!FLAGS_wire.empty()) {
    for (const char* other : {"pcap", "frame_size", "flows", "rate"}) {
      if (host::IsDefault(other)) continue;
      *error =
          host::FlagComplaint(other, "conflicts with --wire: set it in --wire, or omit --wire");
      return false;
    }
    options->wire = options->traffic = FLAGS_wire;
    options->wire_flag = "wire";
    return true;
  }
  double pps = 0;
  if (!FLAGS_rate.empty() && !packet::ReadPacketRate(FLAGS_rate, &pps)) {
    *error = host::FlagComplaint("rate", "give packets per second, such as 500000, 500k or 10M");
    return false;
  }
  const std::string rate = FLAGS_rate.empty() ? "" : "+rate=" + FLAGS_rate;
  if (!FLAGS_pcap.empty()) {
    if (FLAGS_pcap.find_first_of(",+") != std::string::npos) {
      *error = host::FlagComplaint(
          "pcap", "the path of a capture cannot contain ',' or '+': rename the file");
      return false;
    }
    options->wire = "pcap:" + FLAGS_pcap + rate;
    options->wire_flag = "pcap";
    options->traffic = options->wire;
    return Accept(host::InputFileFault(FLAGS_pcap), "pcap", error);
  }
  if (!IsFrameSize(FLAGS_frame_size)) {
    *error = host::FlagComplaint("frame_size", "give 64 to 1518, imix or random");
    return false;
  }
  if (FLAGS_flows < 1 || FLAGS_flows > 1'048'576) {
    *error = host::FlagComplaint("flows", "give 1 to 1048576");
    return false;
  }
  options->frame_size = FLAGS_frame_size;
  options->wire = "gen:size=" + FLAGS_frame_size + "+flows=" + std::to_string(FLAGS_flows) + rate;
  options->traffic = options->wire;
  return true;
}

bool ReadCapture(Options* options, std::string* error) {
  if (FLAGS_capture.empty()) return true;
  const size_t comma = FLAGS_capture.rfind(",n=");
  options->capture = FLAGS_capture.substr(0, comma);
  const std::string_view count =
      comma == std::string::npos ? "" : std::string_view(FLAGS_capture).substr(comma + 3);
  if (options->capture.empty() ||
      (comma != std::string::npos &&
       (!ParseNumber(count, &options->capture_pkts) || options->capture_pkts == 0))) {
    *error = host::FlagComplaint("capture", "give FILE or FILE,n=N with N packets, at least 1");
    return false;
  }
  if (host::IsSameFile(options->capture, FLAGS_pcap)) {
    *error = host::FlagComplaint("capture", "is the file that --pcap replays: give another file");
    return false;
  }
  return Accept(host::OutputFileFault(options->capture), "capture", error);
}

bool ReadRegions(Options* options, std::string* error) {
  options->interface.regions = FLAGS_regions;
  options->interface.region_bytes = FLAGS_region_bytes;
  if (FLAGS_regions != 0 && (FLAGS_regions < 3 || FLAGS_regions > 64)) {
    *error = host::FlagComplaint("regions", "give 3 to 64");
    return false;
  }
  constexpr uint32_t kMostBytes = 262'144, kMostFrames = 4096;
  if (FLAGS_region_bytes % 4096 != 0 || FLAGS_region_bytes > kMostBytes) {
    *error = host::FlagComplaint("region_bytes", "give a multiple of 4096, at most 262144");
    return false;
  }
  // Each frame has an entry of 4 bytes. 2 KiB are enough for the header and one frame.
  const uint32_t bytes = FLAGS_region_bytes == 0 ? kMostBytes : FLAGS_region_bytes;
  const uint32_t most = std::min(kMostFrames, (bytes - 2048) / 4);
  options->interface.region_frames = FLAGS_region_frames;
  if (FLAGS_region_frames % 16 == 0 && FLAGS_region_frames <= most) return true;
  *error = host::FlagComplaint("region_frames",
                               "give a multiple of 16, at most " + std::to_string(most / 16 * 16));
  return false;
}

bool ReadAddresses(Options* options, std::string* error) {
  std::string fix;
  if (FLAGS_ip.empty() || options->own.Add(FLAGS_ip, &fix)) return true;
  *error = host::FlagComplaint("ip", fix);
  return false;
}

bool CheckReassembly(std::string* error) {
  constexpr uint32_t kMost = packet::Defragmenter::kMaxDatagrams;
  if (FLAGS_reassemble > kMost) {
    *error = host::FlagComplaint("reassemble", "give 0 to " + std::to_string(kMost));
    return false;
  }
  if (FLAGS_reassemble == 0 || !FLAGS_ip.empty()) return true;
  *error = host::FlagComplaint("reassemble",
                               "only datagrams to addresses of --ip are reassembled: set --ip");
  return false;
}

bool InRange(const char* flag, uint32_t value, uint32_t max, std::string* error) {
  if (value >= 1 && value <= max) return true;
  *error = host::FlagComplaint(flag, "give 1 to " + std::to_string(max));
  return false;
}

constexpr std::string_view kEmbeddedOnly =
    "applies only to the embedded NIC, but the EAL arguments name a device: omit it";

bool IsSpan(const char* flag, double seconds, std::string* error) {
  if (seconds >= 0 && std::isfinite(seconds)) return true;
  *error = host::FlagComplaint(flag, "give seconds, 0 or more");
  return false;
}

}  // namespace

std::optional<Options> ReadOptions(bool own_port, TrafficFlags traffic, std::string* error) {
  Options options;
  options.iface = nic::FindInterface(FLAGS_iface);
  if (options.iface == nullptr) {
    *error = host::FlagComplaint("iface", "give " + Choices());
    return std::nullopt;
  }
  if (!IsSpan("duration_s", FLAGS_duration_s, error) ||
      !Accept(host::PeriodFault(FLAGS_stats_period_s), "stats_period_s", error) ||
      !InRange("workers", FLAGS_workers, 64, error) ||
      !InRange("pipes", FLAGS_pipes, nic::kMaxPipesPerWorker, error) ||
      !InRange("burst", FLAGS_burst, 64, error) || !ReadRegions(&options, error) ||
      !ReadCapture(&options, error) || !ReadAddresses(&options, error) || !CheckReassembly(error) ||
      !Accept(host::OutputFault(FLAGS_json), "json", error)) {
    return std::nullopt;
  }
  if (traffic == TrafficFlags::kOfApplication) {
    for (const char* flag : {"wire", "on"}) {
      if (!own_port || host::IsDefault(flag)) continue;
      *error = host::FlagComplaint(flag, kEmbeddedOnly);
      return std::nullopt;
    }
    options.wire = options.traffic = FLAGS_wire.empty() ? "loopback" : FLAGS_wire;
    options.wire_flag = "wire";
    options.frame_size = FLAGS_frame_size;
  } else if (own_port) {
    for (const char* flag : {"wire", "pcap", "frame_size", "flows", "rate", "seed", "on"}) {
      if (host::IsDefault(flag)) continue;
      *error = host::FlagComplaint(flag, kEmbeddedOnly);
      return std::nullopt;
    }
  } else if (!ReadTraffic(&options, error)) {
    return std::nullopt;
  }
  options.duration_s = FLAGS_duration_s;
  options.stats_period_s = FLAGS_stats_period_s;
  options.json = FLAGS_json;
  options.metrics = FLAGS_metrics;
  if (FLAGS_seed != 0) options.seed = FLAGS_seed;
  options.on = FLAGS_on;
  options.port = FLAGS_port;
  options.promiscuous = FLAGS_promiscuous;
  options.exception_port = FLAGS_exception_port;
  options.workers = FLAGS_workers;
  options.reassemble = FLAGS_reassemble;
  options.interface.pipes = FLAGS_pipes;
  options.interface.burst = FLAGS_burst;
  return options;
}

}  // namespace sluice::runtime
