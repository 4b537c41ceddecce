// SPDX-License-Identifier: BSD-3-Clause
//
// An echo of 64-byte frames by each kind of NIC interface, in virtual time: frames come evenly from
// a wire of 100 Gb/s, every TLP that their NIC and its workers exchange is played on both
// directions of the link, and each frame's time from its last bit to its last bit is taken.
//
// A NIC has a link, buffers for frames that wait for it, and no other delay of its own. A
// worker is a processor that takes time for each look, store and frame, and for nothing else.
// The same parameters, the same results.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/costs.h"
#include "fabric/link.h"
#include "simulation/echo/sizes.h"

namespace sluice::simulation {

/// How frames and the news of them reach a worker.
enum class NicInterface : uint8_t {
  kPacketized,    ///< Descriptors, each written back alone.
  kNotifyPacket,  ///< Pipes, and a notification for each frame.
  kReactive,      ///< Pipes; a notification if nothing was pending, or if the rest is asked for.
  kPrefetch,      ///< The same; while a pipe is read, the next one's notification is asked for.
};
inline constexpr NicInterface kNicInterfaces[] = {NicInterface::kPacketized,
                                                  NicInterface::kNotifyPacket,
                                                  NicInterface::kReactive, NicInterface::kPrefetch};
/// As tables and plots name it.
std::string_view NameOf(NicInterface interface);

struct EchoParameters {
  NicInterface interface = NicInterface::kReactive;
  fabric::Costs costs;
  fabric::LinkParameters link{.generation = 3};
  PacketRings rings;
  uint32_t buffers = 1024;  ///< Of the NIC, at least 1: frames that wait for the link.
  /// Of a worker, for a packet with its descriptors and its buffer.
  fabric::Picoseconds packet_time = 14'700;
  /// Of a worker, for a frame or a notification that lies behind the one before.
  fabric::Picoseconds line_time = 5'000;
  /// Of a worker, for the application's part of a frame: 0 if it only echoes.
  fabric::Picoseconds request_time = 0;
  uint32_t workers = 1;  ///< At least 1; frames come to them in turn.
  uint32_t pipes = 2;    ///< Of each worker, at least 1; frames come to them in turn.
  double load = 0.5;     ///< Of the wire, above 0 to 1.
  /// Offered, at least 2. The first half warms up and is not measured.
  uint32_t frames = 120'000;
};

struct EchoResults {
  /// Of every measured frame that left, ascending.
  std::vector<fabric::Picoseconds> latencies;
  uint64_t dropped = 0;          ///< By the NIC, of all that were offered.
  double frames_per_second = 0;  ///< That left while measured frames came.
  /// Time in which the workers did something, for each frame that left.
  fabric::Picoseconds worker_time = 0;

  /// The latency that a share of the frames does not exceed; 0: no frame left.
  fabric::Picoseconds Percentile(double share) const;
};

EchoResults PlayEcho(const EchoParameters& parameters);

}  // namespace sluice::simulation
