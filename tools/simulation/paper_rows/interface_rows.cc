// SPDX-License-Identifier: BSD-3-Clause
//
// Rows for the cost of frames on the link, by interface. All TLPs of an echo are sent through the
// modelled link, and the busier direction determines the rate. Queues are deep, so neither
// latencies nor processors limit the rate.
#include <algorithm>

#include "bar/tlp.h"
#include "fabric/link.h"
#include "paper_rows.h"
#include "simulation/echo/sizes.h"

namespace sluice::simulation {
namespace {

using fabric::TlpKind;

constexpr uint32_t kFrames = 4096;       // Frames of an experiment; a multiple of every batch size.
constexpr uint32_t kRegionFrames = 512;  // Frames per region of a swap.

/// The two directions of a link during an echo.
class Traffic {
 public:
  Traffic(const fabric::LinkParameters& link, Picoseconds oneway)
      : link_(link), oneway_(oneway), up_(link, oneway), down_(link, oneway) {}

  void DeviceWrites(uint32_t bytes) { Send(up_, TlpKind::kPosted, bytes); }
  void DeviceReads(uint32_t bytes) {
    for (uint32_t asked = 0; asked < bytes; asked += kReadRequest)
      up_.Send(0, TlpKind::kReadRequest, 0, oneway_);
    Send(down_, TlpKind::kCompletion, bytes);
  }
  void HostWrites(uint32_t bytes) { Send(down_, TlpKind::kPosted, bytes); }

  /// Returns frames per second.
  double Rate() const {
    const Picoseconds busy =
        std::max(up_.ServiceTime(up_.bytes()), down_.ServiceTime(down_.bytes()));
    return kFrames / (static_cast<double>(busy) * 1e-12);
  }
  uint64_t down() const { return down_.bytes(); }

 private:
  void Send(fabric::LinkDirection& direction, TlpKind kind, uint32_t bytes) {
    for (uint32_t sent = 0; sent < bytes; sent += link_.maximum_payload)
      direction.Send(0, kind, std::min(bytes - sent, link_.maximum_payload), oneway_);
  }

  fabric::LinkParameters link_;
  Picoseconds oneway_;
  fabric::LinkDirection up_;
  fabric::LinkDirection down_;
};

/// `at_once`: number of completed descriptors written back in one TLP.
void Packetized(Traffic& traffic, const PacketRings& rings, uint32_t at_once) {
  for (uint32_t i = 0; i < kFrames; ++i) {
    if (i % (rings.fetch / rings.rx_descriptor) == 0) traffic.DeviceReads(rings.fetch);
    traffic.DeviceWrites(kFrame);
    if (i % at_once == 0) traffic.DeviceWrites(at_once * rings.rx_descriptor);
    if (i % (rings.fetch / rings.tx_descriptor) == 0) traffic.DeviceReads(rings.fetch);
    traffic.DeviceReads(kFrame);
    if (i % rings.tx_report == 0) traffic.DeviceWrites(rings.tx_descriptor);
    if (i % rings.burst == 0) {
      traffic.HostWrites(kRegister);
      traffic.HostWrites(kRegister);
    }
  }
}

/// `notified`: number of frames per notification. Frames are sent in batches of `batch`.
void Pipes(Traffic& traffic, uint32_t notified, uint32_t batch) {
  for (uint32_t i = 0; i < kFrames; ++i) {
    traffic.DeviceWrites(kLine);  // Each frame is written when it arrives.
    if (i % notified == 0) traffic.DeviceWrites(kLine);
    if (i % batch != 0) continue;
    traffic.HostWrites(kRegister);  // Frees space in the receive pipe. The next write announces the
                                    // frames to send.
    traffic.HostWrites(kRegister);
    traffic.DeviceReads(kLine);
    traffic.DeviceReads(std::min(batch, kFrames - i) * kLine);
    traffic.DeviceWrites(kLine);
  }
}

/// Each two-message swap moves one region up and one down.
void Regions(Traffic& traffic) {
  for (uint32_t i = 0; i < kFrames; i += kRegionFrames) {
    traffic.DeviceWrites(kRegionFrames * kLine);
    traffic.HostWrites(kLine);
    traffic.DeviceWrites(kLine);
    traffic.DeviceReads(kRegionFrames * kLine);
  }
}

}  // namespace

std::vector<Row> Experiments::InterfaceRows() const {
  const auto play = [&](auto&& interface) {
    Traffic traffic(inputs_.fpga_link, inputs_.costs.pcie_oneway);
    interface(traffic);
    return traffic;
  };
  constexpr double kWireRate = kWireBits / 8 / kWireBytes;
  const auto on_the_wire = [&](double rate) { return std::min(rate, kWireRate); };
  const PacketRings& rings = inputs_.rings;
  const uint32_t batch = inputs_.frames_per_notification;
  const Traffic singly = play([&](Traffic& t) { Packetized(t, rings, 1); });
  const Traffic eight = play([&](Traffic& t) { Packetized(t, rings, 8); });
  const Traffic pipes = play([&](Traffic& t) { Pipes(t, batch, batch); });
  const Traffic each = play([&](Traffic& t) { Pipes(t, 1, batch); });
  const Traffic regions = play(Regions);
  const Traffic frames_alone = play([](Traffic& t) {
    for (uint32_t i = 0; i < kFrames; ++i) t.DeviceReads(kFrame);
  });
  const Traffic flits_alone = play([](Traffic& t) { t.DeviceReads(kFrames * kLine); });

  const auto percent_besides = [](const Traffic& all, const Traffic& payload) {
    return 100 * (1 - static_cast<double>(payload.down()) / static_cast<double>(all.down()));
  };
  const double descriptors =
      100 * bar::FracMetadata(rings.rx_descriptor, rings.tx_descriptor, kFrame,
                              inputs_.fpga_link.maximum_payload, rings.fetch / rings.tx_descriptor);
  const auto small_reads = static_cast<double>(bar::TlpRate(
      inputs_.fpga_link.generation, inputs_.fpga_link.lanes, inputs_.fpga_link.maximum_payload));
  const Names link = {"fpga_generation", "fpga_lanes", "fpga_payload"};
  const Names payload = {"fpga_payload"};
  const Names descriptor = {"rx_descriptor", "tx_descriptor", "descriptors_fetched"};
  const Names ring = descriptor + Names{"doorbell_burst", "tx_report"};
  const Names batches = {"frames_per_notification"};
  return {
      {"E1a",
       "share of descriptors in the bytes that a packetized NIC reads to echo 64-byte frames",
       descriptors,
       "%",
       payload + descriptor,
       {}},
      {"E1b",
       "share of descriptors and doorbells in the bytes sent to a packetized NIC",
       percent_besides(singly, frames_alone),
       "%",
       payload + ring,
       {}},
      {"E1c",
       "share of notifications and register writes in the bytes sent to a NIC with pipes",
       percent_besides(pipes, flits_alone),
       "%",
       payload + batches,
       {}},
      {"E2",
       "rate at which a NIC can read blocks of 64 bytes",
       small_reads * kLine / (kLine + bar::kTlpCompletionHeaderBytes) / 1e9,
       "Gb/s",
       link,
       {}},
      {"E3a",
       "echo of 64-byte frames, limit of the link, packetized, one descriptor per write-back",
       singly.Rate(),
       "1/s",
       link + ring,
       {}},
      {"E3b",
       "echo of 64-byte frames, limit of the link, packetized, eight descriptors per write-back",
       eight.Rate(),
       "1/s",
       link + ring,
       {}},
      {"E3c",
       "echo of 64-byte frames, pipes, at most 100 Gb/s",
       on_the_wire(pipes.Rate()),
       "1/s",
       link + batches,
       {},
       pipes.Rate() >= kWireRate},
      {"E3d",
       "echo of 64-byte frames, limit of the link, pipes",
       pipes.Rate(),
       "1/s",
       link + batches,
       {}},
      {"E3e",
       "echo of 64-byte frames, limit of the link, swaps of regions",
       regions.Rate(),
       "1/s",
       link,
       {}},
      {"E5a",
       "echo rate of pipes with one notification per frame, at most 100 Gb/s",
       on_the_wire(each.Rate()) * kWireBytes * 8 / 1e9,
       "Gb/s",
       link + batches,
       {},
       each.Rate() >= kWireRate},
      {"E5b",
       "echo rate of pipes with reactive notifications, at most 100 Gb/s",
       on_the_wire(pipes.Rate()) * kWireBytes * 8 / 1e9,
       "Gb/s",
       link + batches,
       {},
       pipes.Rate() >= kWireRate},
      {"E8",
       "remainder of 512 Gb/s with 39 % for descriptors, for 400 Gb/s of small frames",
       512 * (1 - descriptors / 100),
       "Gb/s",
       payload + descriptor,
       {}},
  };
}

}  // namespace sluice::simulation
