// SPDX-License-Identifier: BSD-3-Clause
//
// The checked flags of sluice-kv: the store, the services, and the client at the embedded NIC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/kv/access.h"
#include "engine/kv/responder.h"
#include "runtime/command_line.h"

namespace sluice::kv {

struct Settings {
  engine::kv::PartitionOptions partition;  ///< Options of each partition.
  uint32_t partitions = 1;
  uint64_t secret = 0;
  bool trust_hashes = false;
  bool concurrent_read = true;
  bool allow_flush = false;
  bool clients = false;  ///< TCP clients are the traffic of the embedded NIC.
  bool tcp = false;      ///< memcached's protocols are served over TCP, and no other.
  engine::kv::ServiceOptions service;
};

/// Reads the flags. If the user has given no port, `line`'s traffic becomes a client of this
/// server. On a bad flag returns nullopt, and sets `flag` and `fix`.
std::optional<Settings> ReadSettings(runtime::CommandLine* line, std::string* flag,
                                     std::string* fix);

/// Returns whether the machine has enough memory available. If not, sets `flag` to the flag that
/// requests too much, and `fix`. A process that exceeds the memory may be killed, or make the
/// kernel kill others.
bool FitsMachine(const Settings& settings, std::string* flag, std::string* fix);

/// Returns an empty store with all its pages allocated on the calling thread's NUMA node. Returns
/// nullopt if memory is insufficient.
std::optional<engine::kv::Store> MakeStore(const Settings& settings, uint32_t workers);

}  // namespace sluice::kv
