// SPDX-License-Identifier: BSD-3-Clause
//
// The common flags of all applications, checked and in the units that the rest
// of lib/runtime uses (docs/command-line.md). Filled before EAL starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nic/interfaces.h"

namespace sluice::runtime {

struct Options {
  const nic::InterfaceInfo* iface = &nic::kInterfaces[0];  ///< Of nic::kInterfaces.
  /// What its binding opens; Session fills in the port, the exception port and the workers.
  nic::InterfaceOptions interface;
  double duration_s = 0;      ///< 0: until a signal.
  double stats_period_s = 1;  ///< 0: no lines.
  std::string json;           ///< Path, "-" for standard output, empty for none.
  std::string wire;           ///< Of the embedded NIC; empty if no traffic flag was given.
  std::string wire_flag;      ///< The flag that names `wire` or its file; empty for none.
  std::string traffic;        ///< The same for readers: what the report calls it.
  std::string frame_size;     ///< "64" … "1518", "imix", "random"; empty for a capture.
  std::optional<uint64_t> seed;
  std::string port;            ///< Name or number; empty: the first that nobody owns.
  std::string exception_port;  ///< Name; empty for none.
  uint32_t workers = 1;
  uint32_t reassemble = 0;    ///< Datagrams that each worker puts together at a time.
  std::string metrics;        ///< [ADDRESS:]PORT to serve metrics on; empty for none.
  std::string capture;        ///< Path; empty for none.
  uint64_t capture_pkts = 0;  ///< Packets to capture; 0: all.

  // What no flag says, interface.headroom_bytes included; the application sets it before
  // Session::Start.
  bool promiscuous = false;  ///< It wants frames for other stations, too; --promiscuous sets it.
  bool answers = true;       ///< It returns what it gets; else a model does not verify what leaves.
  bool hangup = false;       ///< It takes SIGHUP (hooks.h).
};

/// Whose traffic --pcap, --frame_size, --flows, --rate and --seed describe.
enum class TrafficFlags : uint8_t {
  kOfEmbeddedNic,
  kOfApplication,  ///< It sends by itself, and checks these flags; what it sends comes back.
};

/// Values of the flags. On a bad one returns nothing and sets `error` to one line
/// that names the flag and the fix. `own_port` says that EAL was given a device,
/// where flags of the embedded traffic source would have no effect.
std::optional<Options> ReadOptions(bool own_port, TrafficFlags traffic, std::string* error);

}  // namespace sluice::runtime
