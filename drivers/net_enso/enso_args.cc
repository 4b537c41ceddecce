// SPDX-License-Identifier: BSD-3-Clause
#include "net_enso/enso_args.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "emulator/options.h"
#include "regs/enso.h"
#include "split_arguments.h"

namespace sluice::net_enso {
namespace {

using regs::enso::kMaxPipes;

bool ParsePipes(std::string_view value, uint32_t* pipes, std::string* error) {
  if (emulator::ReadNumber(value, 1, kMaxPipes, pipes)) return true;
  *error = std::string(kPipesKey).append("=").append(value) +
           ": give the number of fallback pipes per receive queue, 1 to " +
           std::to_string(kMaxPipes);
  return false;
}

bool ParseNotify(std::string_view value, Arguments* arguments, std::string* error) {
  arguments->notify_per_packet = value == "packet";
  arguments->notify_prefetched = value == "prefetch";
  if (value == "reactive" || value == "packet" || value == "prefetch") return true;
  *error =
      std::string(kNotifyKey).append("=").append(value) + ": give reactive, packet or prefetch";
  return false;
}

bool ParsePipeFlits(std::string_view value, uint32_t* flits, std::string* error) {
  constexpr uint32_t kLeast = 256;  // Enough space for ten frames of the maximum size.
  if (emulator::ReadNumber(value, kLeast, regs::enso::kMaxPipeFlits, flits) &&
      std::has_single_bit(*flits)) {
    return true;
  }
  *error = std::string(kPipeFlitsKey).append("=").append(value) +
           ": give the number of 64-byte flits per pipe, a power of two from " +
           std::to_string(kLeast) + " to " + std::to_string(regs::enso::kMaxPipeFlits);
  return false;
}

std::string KnownKeys(std::span<const char* const> passed_on_keys) {
  std::string keys =
      std::string(kPipesKey) + ", " + kNotifyKey + ", " + kPipeFlitsKey + ", " + kExceptionKey;
  for (const char* key : passed_on_keys) keys += std::string(", ") + key;
  return keys;
}

}  // namespace

bool ParseArguments(const char* text, std::span<const char* const> passed_on_keys,
                    Arguments* arguments, std::string* error) {
  *arguments = Arguments{};
  std::vector<emulator::Argument> list;
  if (!drivers::SplitArguments(text, &list, error)) return false;
  for (const auto& [key, value] : list) {
    const bool passed_on =
        std::find(passed_on_keys.begin(), passed_on_keys.end(), key) != passed_on_keys.end();
    if (key == kPipesKey) {
      if (!ParsePipes(value, &arguments->pipes, error)) return false;
    } else if (key == kNotifyKey) {
      if (!ParseNotify(value, arguments, error)) return false;
    } else if (key == kPipeFlitsKey) {
      if (!ParsePipeFlits(value, &arguments->pipe_flits, error)) return false;
    } else if (key == kExceptionKey) {
      arguments->exception = value;
      if (value.empty()) {
        *error =
            "exception=: give the name of the ethdev that sends frames which the NIC cannot send";
        return false;
      }
    } else if (passed_on) {
      arguments->passed_on.emplace_back(key, value);
    } else {
      *error =
          std::string("unknown argument '").append(key) + "': use " + KnownKeys(passed_on_keys);
      return false;
    }
  }
  return true;
}

bool ModelGeometry(const Arguments& arguments, Geometry* geometry, std::string* error) {
  constexpr uint32_t kPipeFlitsOfNotifiedPackets = 8192;
  const uint32_t pipe_flits = arguments.pipe_flits != 0     ? arguments.pipe_flits
                              : arguments.notify_per_packet ? kPipeFlitsOfNotifiedPackets
                                                            : regs::enso::kDefaultPipeFlits;
  *geometry = {pipe_flits, regs::enso::kDefaultNbEntries, arguments.notify_per_packet,
               arguments.notify_prefetched};
  if (!arguments.notify_per_packet) return true;
  constexpr uint32_t kMaxEntries = 1u << 20;
  // A queue can have up to twice the requested number of pipes, because the total number is rounded
  // up to a power of two.
  const uint64_t needed = uint64_t{2} * arguments.pipes * pipe_flits + 1024;
  if (needed > kMaxEntries) {
    *error = "pipes=" + std::to_string(arguments.pipes) + " with notify=packet: give at most " +
             std::to_string((kMaxEntries - 1024) / (2 * pipe_flits)) +
             ", or make pipes smaller with " + kPipeFlitsKey + "=";
    return false;
  }
  geometry->nb_entries = static_cast<uint32_t>(std::bit_ceil(needed));
  return true;
}

}  // namespace sluice::net_enso
