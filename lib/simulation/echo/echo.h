// SPDX-License-Identifier: BSD-3-Clause
//
// Simulates the echo of 64-byte frames through each kind of NIC interface, in virtual time. Frames
// arrive at even intervals from a 100 Gb/s wire. Every TLP between NIC and workers is simulated, in
// both directions of the link. A frame's latency is the time from its last bit received to its last
// bit sent.
//
// A NIC consists of a link and buffers for frames that wait for the link, and causes no other
// delay. A worker is a processor that spends time only on polls, stores and frames. Equal
// parameters give equal results.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/costs.h"
#include "fabric/link.h"
#include "simulation/echo/sizes.h"

namespace sluice::simulation {

/// How frames and their notifications reach a worker.
enum class NicInterface : uint8_t {
  kPacketized,    ///< Descriptors, each written back separately.
  kNotifyPacket,  ///< Pipes, and one notification per frame.
  kReactive,      ///< Pipes; notifies if no frame was pending, or on request.
  kPrefetch,      ///< Like kReactive; requests the next pipe's notification while it reads a pipe.
};
inline constexpr NicInterface kNicInterfaces[] = {NicInterface::kPacketized,
                                                  NicInterface::kNotifyPacket,
                                                  NicInterface::kReactive, NicInterface::kPrefetch};
/// Returns the interface's name for tables and plots.
std::string_view NameOf(NicInterface interface);

struct EchoParameters {
  NicInterface interface = NicInterface::kReactive;
  fabric::Costs costs;
  fabric::LinkParameters link{.generation = 3};
  PacketRings rings;
  uint32_t buffers = 1024;  ///< NIC buffers for frames that wait for the link; at least 1.
  /// Time that a worker spends per packet, including the packet's descriptors and buffer.
  fabric::Picoseconds packet_time = 14'700;
  /// Time that a worker spends on a frame or notification that directly follows the previous one in
  /// memory.
  fabric::Picoseconds line_time = 5'000;
  /// Time that the application on a worker spends per frame; 0 for a plain echo.
  fabric::Picoseconds request_time = 0;
  uint32_t workers = 1;  ///< At least 1; frames are spread round-robin.
  uint32_t pipes = 2;    ///< Per worker, at least 1; frames are spread round-robin.
  double load = 0.5;     ///< Fraction of the wire rate; above 0, at most 1.
  /// Number of frames offered, at least 2. The first half is a warm-up and is not measured.
  uint32_t frames = 120'000;
};

struct EchoResults {
  /// Latencies of all measured frames that were sent, ascending.
  std::vector<fabric::Picoseconds> latencies;
  uint64_t dropped = 0;          ///< Number of offered frames that the NIC dropped.
  double frames_per_second = 0;  ///< Frames sent per second while measured frames arrived.
  /// Time that the workers were busy per frame sent.
  fabric::Picoseconds worker_time = 0;

  /// Returns the percentile `share` of the latencies (0.99 is the 99th), or 0 if no frame was sent.
  fabric::Picoseconds Percentile(double share) const;
};

EchoResults PlayEcho(const EchoParameters& parameters);

}  // namespace sluice::simulation
