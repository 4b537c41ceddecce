// SPDX-License-Identifier: BSD-3-Clause
//
// net_enso's own device arguments, and those that it passes on to the model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/attach.h"
#include "net_enso/enso_backend.h"

namespace sluice::net_enso {

inline constexpr const char* kPipesKey = "pipes";
inline constexpr const char* kNotifyKey = "notify";
inline constexpr const char* kPipeFlitsKey = "pipe_flits";
inline constexpr const char* kExceptionKey = "exception";

struct Arguments {
  uint32_t pipes = 1;  ///< Fallback pipes per receive queue.
  bool notify_per_packet = false;
  bool notify_prefetched = false;  ///< Cannot be combined with notify_per_packet.
  uint32_t pipe_flits = 0;         ///< Size of a model's pipes, a power of two; 0: the default.
  std::string exception;           ///< Port for frames that the NIC cannot send; may be empty.
  std::vector<emulator::Argument> passed_on;
};

/// Parses `text` (key=value, …; may be null). Collects the keys in `passed_on_keys` and rejects
/// unknown keys. On failure, returns false and sets `error` to one line that names the key and the
/// fix.
bool ParseArguments(const char* text, std::span<const char* const> passed_on_keys,
                    Arguments* arguments, std::string* error);

/// Computes a model's ring sizes for these arguments. With a notification per packet, a ring needs
/// a slot for every packet that a queue's pipes can hold. Returns false and sets `error` if this
/// exceeds the maximum ring size.
bool ModelGeometry(const Arguments& arguments, Geometry* geometry, std::string* error);

}  // namespace sluice::net_enso
