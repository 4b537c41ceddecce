// SPDX-License-Identifier: BSD-3-Clause
//
// What the flags of sluice-kv say, checked: the store, what is served, and the client that stands
// behind the embedded NIC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/kv/access.h"
#include "engine/kv/responder.h"
#include "runtime/command_line.h"

namespace sluice::kv {

struct Settings {
  engine::kv::PartitionOptions partition;  ///< Of each.
  uint32_t partitions = 1;
  uint64_t secret = 0;
  bool trust_hashes = false;
  bool concurrent_read = true;
  bool allow_flush = false;
  engine::kv::ServiceOptions service;
};

/// Reads the flags. Without a port of the user's own, `line`'s traffic becomes a client of this
/// server. On a bad flag returns nothing, with its name and the fix.
std::optional<Settings> ReadSettings(runtime::CommandLine* line, std::string* flag,
                                     std::string* fix);

/// Returns false, with the flag that asks for too much and the fix, if the machine has too little
/// memory available: a process that exceeds it may be killed, or make the kernel kill others.
bool FitsMachine(const Settings& settings, std::string* flag, std::string* fix);

/// Empty, with all its pages, which are on the calling thread's NUMA node. Nothing: there is too
/// little memory.
std::optional<engine::kv::Store> MakeStore(const Settings& settings, uint32_t workers);

}  // namespace sluice::kv
