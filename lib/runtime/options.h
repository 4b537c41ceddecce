// SPDX-License-Identifier: BSD-3-Clause
//
// The common flags of all applications, checked and converted to the units that lib/runtime uses
// (docs/command-line.md). Read before EAL starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random_seed.h"
#include "host/run_flags.h"
#include "nic/interfaces.h"
#include "packet/own_addresses.h"

namespace sluice::runtime {

struct Options : host::RunSettings {
  const nic::InterfaceInfo* iface = &nic::kInterfaces[0];  ///< An element of nic::kInterfaces.
  /// Options for opening the interface's binding. Session sets the port, the exception port and the
  /// workers.
  nic::InterfaceOptions interface;
  std::string wire;        ///< Wire of the embedded NIC; empty if no traffic flag was given.
  std::string on;          ///< Executor of the embedded NIC's model; empty for the default.
  std::string wire_flag;   ///< The flag that names `wire` or its file; empty for none.
  std::string traffic;     ///< Description of the traffic for the report.
  std::string frame_size;  ///< "64" … "1518", "imix", "random"; empty for a capture.
  std::optional<uint64_t> seed;
  std::string port;            ///< Name or number; empty for the first port without an owner.
  std::string exception_port;  ///< Name; empty for none.
  packet::OwnAddresses own;    ///< Addresses of --ip, without a MAC address.
  uint32_t workers = 1;
  uint32_t reassemble = 0;    ///< Maximum number of datagrams reassembled at a time; 0: none.
  std::string metrics;        ///< [ADDRESS:]PORT on which to serve metrics; empty for none.
  std::string capture;        ///< Path; empty for none.
  uint64_t capture_pkts = 0;  ///< Number of packets to capture; 0 for all.

  // Members that the application sets before Session::Start, like interface.headroom_bytes.
  /// Whether frames for other stations are accepted. --promiscuous also sets this.
  bool promiscuous = false;
  /// Whether the application returns received frames. If false, a model does not verify transmitted
  /// frames.
  bool answers = true;
  bool hangup = false;  ///< Whether the application handles SIGHUP (hooks.h).

  /// Returns the seed from the flag. If none was given, returns a random one that clients cannot
  /// predict.
  uint64_t SeedOrRandom() const { return seed ? *seed : base::RandomSeed(); }
};

/// What --pcap, --frame_size, --flows, --rate and --seed describe.
enum class TrafficFlags : uint8_t {
  kOfEmbeddedNic,
  /// The application itself sends this traffic, checks these flags, and gets the frames back.
  kOfApplication,
};

/// Returns the values of the flags. If a value is invalid, returns nullopt and sets `error` to one
/// line that names the flag and the fix. `own_port` means that EAL was given a device, so that
/// flags for the embedded traffic source would have no effect.
std::optional<Options> ReadOptions(bool own_port, TrafficFlags traffic, std::string* error);

}  // namespace sluice::runtime
