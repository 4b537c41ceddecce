// SPDX-License-Identifier: BSD-3-Clause
//
// Rows and curves for an echo of 64-byte frames on each interface: packet rate against number of
// workers, and round-trip time against load. Links, processors and latencies are all modelled.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paper_rows.h"
#include "simulation/echo/echo.h"
#include "simulation/echo/sizes.h"

namespace sluice::simulation {
namespace {

constexpr double kWireGbps = kWireBits / 1e9;
constexpr double kGbps[] = {1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100};
constexpr uint32_t kWorkers[] = {1, 2, 4, 8, 16};
constexpr double kShareOfWorker = 1.0 / 16;
// If a run sends a smaller fraction of the offered frames than this, it has lost frames or would
// eventually lose some.
constexpr double kSustained = 0.99;

double Microseconds(Picoseconds time) { return static_cast<double>(time) * 1e-6; }

/// Returns the rate at which sent frames use the wire, in Gb/s, at most 100.
double GbpsOf(const EchoResults& results) {
  return std::min(results.frames_per_second * kWireBytes * 8 / 1e9, kWireGbps);
}

}  // namespace

EchoParameters Experiments::Echo(NicInterface interface, double load) const {
  return {.interface = interface,
          .costs = inputs_.costs,
          .link = inputs_.fpga_link,
          .rings = inputs_.rings,
          .buffers = inputs_.nic_buffers,
          .packet_time = inputs_.packet_time,
          .line_time = inputs_.line_time,
          .pipes = inputs_.pipes_per_worker,
          .load = load,
          .frames = inputs_.echo_frames};
}

std::vector<Row> Experiments::EchoRows() const {
  const auto play = [&](NicInterface interface, double gbps, uint32_t workers = 1) {
    EchoParameters parameters = Echo(interface, gbps / kWireGbps);
    parameters.workers = workers;
    return PlayEcho(parameters);
  };
  const auto full = [&](NicInterface interface) { return play(interface, kWireGbps); };
  const auto median = [&](NicInterface interface, double gbps) {
    return Microseconds(play(interface, gbps).Percentile(0.5));
  };
  const auto tail = [&](NicInterface interface, double gbps) {
    return Microseconds(play(interface, gbps).Percentile(0.99));
  };
  const auto packetized = [&](uint32_t workers) {
    return play(NicInterface::kPacketized, kWireGbps, workers).frames_per_second;
  };
  using enum NicInterface;
  const Names both = {"pcie_oneway",      "fpga_generation",     "fpga_lanes",  "fpga_payload",
                      "host_cached_line", "mmio_write_uncached", "echo_frames", "nic_buffers"};
  const Names packets = both + Names{"packet_time",         "rx_descriptor",  "tx_descriptor",
                                     "descriptors_fetched", "doorbell_burst", "tx_report"};
  const Names pipes = both + Names{"line_time", "pipes_per_worker"};
  const Names all = packets + Names{"line_time", "pipes_per_worker"};
  const double two = packetized(2);
  const double per_packet = GbpsOf(full(kNotifyPacket));
  const double reactive = GbpsOf(full(kReactive));
  const double prefetched = GbpsOf(full(kPrefetch));
  // A request costs the same on both interfaces; only the other costs of a frame differ.
  const Names mica = {"mica_request"};
  // Offered load as a fraction of the wire rate; more than one worker can serve.
  constexpr double kAmple = 0.1;
  const auto serve = [&](NicInterface interface, double load) {
    EchoParameters parameters = Echo(interface, load);
    parameters.request_time = inputs_.mica_request;
    return PlayEcho(parameters);
  };
  const double mica_rate = serve(kPacketized, kAmple).frames_per_second;
  const auto nearly_full = [&](NicInterface interface) {
    return serve(interface, 0.9 * mica_rate * kWireBytes * 8 / kWireBits);
  };
  const EchoResults by_packets = nearly_full(kPacketized), by_pipes = nearly_full(kReactive);
  const auto taken_off = [&](const EchoResults& results) {
    return 100 *
           (1 - Microseconds(results.Percentile(0.5)) / Microseconds(by_packets.Percentile(0.5)));
  };
  // Returns whether the wire limits the rate, i.e. a faster NIC would not send more.
  const auto capped = [](double gbps) { return gbps >= kSustained * kWireGbps; };
  // Uses reactive notifications and distributes frames over the pipes round-robin.
  const auto many_pipes = [&](const char* id, uint32_t workers, uint32_t each) -> Row {
    EchoParameters parameters = Echo(kReactive, 1);
    parameters.workers = workers;
    parameters.pipes = each;
    const double gbps = GbpsOf(PlayEcho(parameters));
    return {id,
            "echo of 64-byte frames, pipes, workers: " + std::to_string(workers) +
                ", pipes per worker: " + std::to_string(each) + ", modelled",
            gbps * 1e9 / (kWireBytes * 8),
            "1/s",
            both + Names{"line_time"},
            {},
            capped(gbps)};
  };
  return {
      {"F5a",
       "echo of 64-byte frames, packetized, one worker, modelled",
       packetized(1),
       "1/s",
       packets,
       {}},
      {"F5b", "echo of 64-byte frames, packetized, two workers, modelled", two, "1/s", packets, {}},
      {"F5c",
       "ratio of echo rates, packetized, eight workers to two, modelled",
       packetized(8) / two,
       "",
       packets,
       {}},
      {"F5d",
       "echo of 64-byte frames, pipes, one worker, modelled",
       reactive * 1e9 / (kWireBytes * 8),
       "1/s",
       pipes,
       {},
       capped(reactive)},
      {"F6a",
       "rate sustained by one worker, one notification per frame, modelled",
       per_packet,
       "Gb/s",
       pipes,
       {},
       capped(per_packet)},
      {"F6b",
       "rate sustained by one worker, reactive notifications, modelled",
       reactive,
       "Gb/s",
       pipes,
       {},
       capped(reactive)},
      {"F6c",
       "median round trip at 1 Gb/s, one notification per frame, modelled",
       median(kNotifyPacket, 1),
       "us",
       pipes,
       {}},
      {"F6d",
       "median round trip at 1 Gb/s, reactive notifications, modelled",
       median(kReactive, 1),
       "us",
       pipes,
       {}},
      {"F6e",
       "ratio of median round trips, 90 Gb/s to 1 Gb/s, reactive notifications, modelled",
       median(kReactive, 90) / median(kReactive, 1),
       "",
       pipes,
       {}},
      {"F6f",
       "99th percentile at 100 Gb/s, reactive notifications, modelled",
       tail(kReactive, 100),
       "us",
       pipes,
       {}},
      {"F7a",
       "rate sustained by one worker, prefetched notifications, modelled",
       prefetched,
       "Gb/s",
       pipes,
       {},
       capped(prefetched)},
      {"F7b",
       "ratio of median round trips at 90 Gb/s, reactive to prefetched, modelled",
       median(kReactive, 90) / median(kPrefetch, 90),
       "",
       pipes,
       {}},
      {"F7c",
       "ratio of median round trips at 30 Gb/s, prefetched to packetized, modelled",
       median(kPrefetch, 30) / median(kPacketized, 30),
       "",
       all,
       {}},
      {"F7d",
       "ratio of 99th percentiles at 30 Gb/s, prefetched to packetized, modelled",
       tail(kPrefetch, 30) / tail(kPacketized, 30),
       "",
       all,
       {}},
      many_pipes("F8a", 1, 32),
      many_pipes("F8b", 1, 128),
      many_pipes("F8c", 1, 1024),
      many_pipes("F8d", 4, 256),
      {"K1a",
       "MICA, packetized, one worker, one request per frame, modelled",
       mica_rate,
       "1/s",
       packets + mica,
       {}},
      {"K1b",
       "MICA, pipes, from the worker's time per request at nine tenths of K1a, modelled",
       1e12 / static_cast<double>(by_pipes.worker_time),
       "1/s",
       all + mica,
       {}},
      {"K1c",
       "reduction of MICA's median latency by pipes, at nine tenths of K1a, modelled",
       taken_off(by_pipes),
       "%",
       all + mica,
       {}},
      {"K1d",
       "reduction of MICA's median latency by pipes with prefetched notifications, at nine tenths "
       "of K1a, modelled",
       taken_off(nearly_full(kPrefetch)),
       "%",
       all + mica,
       {}},
      {"F7e",
       "99th percentile at 100 Gb/s, prefetched notifications, modelled",
       tail(kPrefetch, 100),
       "us",
       pipes,
       {}},
  };
}

std::vector<Series> Experiments::EchoPlot(std::string_view plot) const {
  std::vector<Series> all;
  for (const NicInterface interface : kNicInterfaces) {
    Series series{std::string(plot), std::string(NameOf(interface)), {}};
    if (plot == "rtt") {
      for (const double gbps : kGbps) {
        const EchoResults results = PlayEcho(Echo(interface, gbps / kWireGbps));
        if (GbpsOf(results) < kSustained * gbps) break;
        series.points.push_back(
            {gbps,
             {Microseconds(results.Percentile(0.5)), Microseconds(results.Percentile(0.99))}});
      }
    } else {
      for (const uint32_t workers : kWorkers) {
        EchoParameters full = Echo(interface, 1);
        full.workers = workers;
        EchoParameters share = Echo(interface, kShareOfWorker * workers);
        share.workers = workers;
        series.points.push_back({static_cast<double>(workers),
                                 {GbpsOf(PlayEcho(full)) * 1e3 / (kWireBytes * 8),
                                  static_cast<double>(PlayEcho(share).worker_time) * 1e-3}});
      }
    }
    all.push_back(std::move(series));
  }
  return all;
}

}  // namespace sluice::simulation
