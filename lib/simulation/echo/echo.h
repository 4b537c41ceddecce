// SPDX-License-Identifier: BSD-3-Clause
//
// An echo of 64-byte frames by each kind of NIC interface, in virtual time. Frames arrive evenly
// from a wire of 100 Gb/s. Every TLP between NIC and workers is simulated on both directions of the
// link. The latency of a frame is the time from its last bit received to its last bit sent.
//
// A NIC consists of a link and of buffers for frames that wait for the link; it adds no other
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

/// Method by which frames and their notifications reach a worker.
enum class NicInterface : uint8_t {
  kPacketized,    ///< Descriptors, each written back separately.
  kNotifyPacket,  ///< Pipes, and one notification per frame.
  kReactive,      ///< Pipes; notifies if no frame was pending, or on request.
  kPrefetch,      ///< Like kReactive; requests the next pipe's notification while it reads a pipe.
};
inline constexpr NicInterface kNicInterfaces[] = {NicInterface::kPacketized,
                                                  NicInterface::kNotifyPacket,
                                                  NicInterface::kReactive, NicInterface::kPrefetch};
/// Returns the name for tables and plots.
std::string_view NameOf(NicInterface interface);

struct EchoParameters {
  NicInterface interface = NicInterface::kReactive;
  fabric::Costs costs;
  fabric::LinkParameters link{.generation = 3};
  PacketRings rings;
  uint32_t buffers = 1024;  ///< Buffers of the NIC for frames that wait for the link; at least 1.
  /// Time that a worker spends per packet, including its descriptors and its buffer.
  fabric::Picoseconds packet_time = 14'700;
  /// Time that a worker spends per frame or notification that directly follows its predecessor in
  /// memory.
  fabric::Picoseconds line_time = 5'000;
  /// Time that the application on a worker spends per frame; 0 for a plain echo.
  fabric::Picoseconds request_time = 0;
  uint32_t workers = 1;  ///< At least 1; frames are spread round-robin.
  uint32_t pipes = 2;    ///< Per worker, at least 1; frames are spread round-robin.
  double load = 0.5;     ///< Fraction of the wire rate; above 0, at most 1.
  /// Number of frames offered, at least 2. The first half is the warm-up and is not measured.
  uint32_t frames = 120'000;
};

struct EchoResults {
  /// Latencies of all measured frames that were sent, ascending.
  std::vector<fabric::Picoseconds> latencies;
  uint64_t dropped = 0;          ///< Frames that the NIC dropped, of all frames offered.
  double frames_per_second = 0;  ///< Frames sent per second while measured frames arrived.
  /// Busy time of the workers per frame sent.
  fabric::Picoseconds worker_time = 0;

  /// Returns the percentile `share` (0.99: the 99th) of the latencies; 0 if no frame was sent.
  fabric::Picoseconds Percentile(double share) const;
};

EchoResults PlayEcho(const EchoParameters& parameters);

}  // namespace sluice::simulation
