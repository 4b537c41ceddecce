// SPDX-License-Identifier: BSD-3-Clause
//
// The protocol between a host process and sluice-device: each request gets one reply, and both are
// messages on a SOCK_SEQPACKET socket with at most one file each. Used on the control path only;
// register accesses and payload use shared memory.
//
// The host passes its register queue (kHello), DPDK's memory (kMemory), its rings and the
// application's memory (kMap) as files. It identifies bytes in these files by bus address, which is
// the host's virtual address. Both sides treat each other's messages as untrusted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "emulator/attach.h"

namespace sluice::emulator {

inline constexpr uint32_t kMessageMagic = 0x6563'6c73;  ///< "slce".
/// Must be incremented with every change of these structs or of bar::PostedQueue.
inline constexpr uint16_t kProtocolVersion = 5;
/// Maximum time that either side waits for an expected message.
inline constexpr std::chrono::milliseconds kMessagePatience{2000};

enum class Kind : uint16_t {
  /// First message. File: the register queue, which is `bytes` bytes long. `name`: the vdev's name.
  kHello = 1,
  kMemory = 2,  ///< File: the `bytes` bytes at `offset` are DPDK's memory at `bus`, in the given
                ///< area.
  kForget = 3,  ///< Removes DPDK's memory [bus, bus + bytes).
  /// File: a ring of `bytes` bytes at `bus`, mapped twice in a row if kMirrored; the name is
  /// optional. With kExternal, the `bytes` bytes at `offset` are the application's memory, and
  /// there is no name.
  kMap = 4,
  kUnmap = 5,        ///< Removes the ring at `bus` (0: none) and the memory named `name`.
  kAdopt = 6,        ///< Reply: file and size of the memory named `name`.
  kStatistics = 7,   ///< Reply: followed by `count` entries.
  kEnableWire = 8,   ///< Switches the wire's source on if kEnabled.
  kWireUp = 9,       ///< Reply: kEnabled if the wire has a carrier.
  kInterrupts = 10,  ///< File: the socket for interrupts (interrupt_socket.h).
};

/// Flags of requests and replies.
inline constexpr uint32_t kMirrored = 1u << 0;
inline constexpr uint32_t kEnabled = 1u << 1;
inline constexpr uint32_t kExternal = 1u << 2;

/// Names end with a NUL within their field.
inline constexpr size_t kNameBytes = 32;

struct Request {
  uint32_t magic = kMessageMagic;
  uint16_t version = kProtocolVersion;
  Kind kind{};
  uint32_t sequence = 0;  ///< 1 for kHello; incremented with each request.
  uint32_t flags = 0;
  uint64_t bus = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;  ///< kMemory, kExternal: offset in the file.
  /// kMemory: a range of bus addresses that may become contiguous memory and that contains [bus,
  /// bus + bytes).
  uint64_t area_bus = 0;
  uint64_t area_bytes = 0;
  char model[16] = {};  ///< kHello: the model's name; its settings follow.
  uint32_t settings[kMaxModelSettings] = {};
  char name[kNameBytes] = {};
};
static_assert(std::has_unique_object_representations_v<Request>);

struct Reply {
  uint32_t magic = kMessageMagic;
  uint16_t version = kProtocolVersion;
  uint16_t refused = 0;   ///< 1: `text` contains a one-line reason.
  uint32_t sequence = 0;  ///< Copied from the request.
  uint32_t flags = 0;
  uint64_t bytes = 0;
  uint32_t count = 0;
  uint8_t mac[6] = {};  ///< Reply to kHello.
  uint8_t reserved[2] = {};
  uint8_t padding[4] = {};
  char text[192] = {};
};
static_assert(std::has_unique_object_representations_v<Reply>);

struct StatisticEntry {
  uint64_t value = 0;
  char name[56] = {};
};
static_assert(std::has_unique_object_representations_v<StatisticEntry>);
inline constexpr uint32_t kMaxStatistics = 256;

/// Copies as much of `text` as fits together with a terminating NUL. `field` must be zeroed.
template <size_t kBytes>
void SetText(char (&field)[kBytes], std::string_view text) {
  text.copy(field, kBytes - 1);
}

/// Stores a field's text in `*text` without reading past the end of the field. Returns false if the
/// text is not terminated or contains control characters.
template <size_t kBytes>
bool GetText(const char (&field)[kBytes], std::string_view* text) {
  const std::string_view whole(field, kBytes);
  const size_t end = whole.find('\0');
  if (end == std::string_view::npos) return false;
  *text = whole.substr(0, end);
  for (const char c : *text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') return false;
  }
  return true;
}

}  // namespace sluice::emulator
