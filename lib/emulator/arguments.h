// SPDX-License-Identifier: BSD-3-Clause
//
// The device arguments of a model, for example "wire=gen:size=64+rate=10M". '+' joins sub-options,
// because devargs are separated by ','.
//
//   wire=loopback                        frames that are sent come back (default)
//   wire=gen:size=64+flows=1000+rate=10M synthetic traffic
//       size   64…9018 bytes with FCS, a list 64/128/1518 used in turn, imix
//              (64, 594 and 1518 in the ratio 7:4:1) or random (64…1518, uniform)
//       flows  1…1048576 distinct 5-tuples; rate in packets/s (k, M, G); without a
//              rate: as fast as the device accepts frames; count: frames to send
//       order  rotate or random; random with imix and random sizes unless given
//       proto  udp or tcp; seed: of order and payload
//   wire=pcap:FILE+rate=…+count=…+loop=N a capture, N times (0, the default: endless)
//   wire=port:NAME                       an ethdev given before on the command line
//   wire=cable:NAME                      another model NIC with the same argument (cable.h)
//   wire=library:FILE.so+OPTIONS         a wire from a shared library (library_wire.h)
//   faults=drop:0.01+dup:0.01+reorder:0.01+corrupt:0.01+delay:50us+linkdown:1s/100ms
//   verify=full|sampled|off  default sampled; full if rate= or count= is given or
//                            frames are corrupted by faults=
//   pause=on|off             loss-free flow control; default off with rate=, else on
//   seed=N                   default of the seeds above
//   on=cpu|gpu:…|threads:…   executor of the model (grid/on_options.h)
//   device_cpu=N|worker      CPU of the model's thread; worker: the application's workers
//                            step the model between their polls
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "emulator/faults.h"
#include "emulator/gen_options.h"
#include "emulator/grid/on_options.h"
#include "emulator/library_wire.h"
#include "emulator/replay.h"
#include "emulator/verify.h"

namespace sluice::emulator {

/// All arguments, with defaults filled in.
struct Arguments {
  enum class WireKind { kLoopback, kGenerator, kReplay, kPort, kCable, kLibrary };

  WireKind wire = WireKind::kLoopback;
  GeneratorOptions generator;  ///< Only for kGenerator; does not include the destination.
  ReplayOptions replay;        ///< Only for kReplay.
  std::string port;            ///< Name of the ethdev; only for kPort.
  std::string cable;           ///< Name of the cable; only for kCable.
  LibraryOptions library;      ///< Only for kLibrary.
  FaultOptions faults;
  VerifyMode verify = VerifyMode::kSampled;
  bool pause = true;
  std::optional<uint32_t> device_cpu;
  bool on_workers = false;  ///< device_cpu=worker.
  OnOptions on;
};

/// Returns the keys above.
std::span<const char* const> KnownKeys();

/// Parses the arguments. Each key may be given once. If an argument is invalid, returns nullopt and
/// sets `error` to a one-line message that names the argument and the fix.
std::optional<Arguments> ParseArguments(std::span<const std::pair<std::string, std::string>> given,
                                        std::string* error);

}  // namespace sluice::emulator
