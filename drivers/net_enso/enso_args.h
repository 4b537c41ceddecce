// SPDX-License-Identifier: BSD-3-Clause
//
// Device arguments of net_enso: its own, and those that it passes on to the model.
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
  uint32_t pipes = 1;  ///< Fallback pipes of a receive queue.
  bool notify_per_packet = false;
  bool notify_prefetched = false;  ///< Not with notify_per_packet.
  uint32_t pipe_flits = 0;         ///< Of a model's pipes, a power of two; 0: the default.
  std::string exception;           ///< Port for frames that the NIC cannot send; empty: none.
  std::vector<emulator::Argument> passed_on;
};

/// Parses `text` (key=value, …; may be null). Keys in `passed_on_keys` are collected,
/// unknown ones refused. On failure false, and `error` is one line that names the key
/// and the fix.
bool ParseArguments(const char* text, std::span<const char* const> passed_on_keys,
                    Arguments* arguments, std::string* error);

/// Ring sizes of a model for these arguments. With a notification for every packet, a
/// ring must hold as many as the pipes of a queue hold packets. False, with `error`,
/// if no ring is that large.
bool ModelGeometry(const Arguments& arguments, Geometry* geometry, std::string* error);

}  // namespace sluice::net_enso
