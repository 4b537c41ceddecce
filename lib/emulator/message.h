// SPDX-License-Identifier: BSD-3-Clause
//
// What a host process and sluice-device say to each other: one request, one reply, each
// a message of a SOCK_SEQPACKET socket, at most one file with it. Control path alone;
// register accesses and payload travel through shared memory.
//
// The host hands over its register queue (kHello), DPDK's memory (kMemory), its rings and the
// application's memory (kMap), all as files, and names bytes in them by bus address, which is its
// own virtual address. Both sides take each other's messages as hostile.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "emulator/attach.h"

namespace sluice::emulator {

inline constexpr uint32_t kMessageMagic = 0x6563'6c73;  ///< "slce".
/// Raised with every change of these structs or of bar::PostedQueue.
inline constexpr uint16_t kProtocolVersion = 5;
/// How long either side waits for a message that is due.
inline constexpr std::chrono::milliseconds kMessagePatience{2000};

enum class Kind : uint16_t {
  kHello = 1,        ///< First. File: the register queue; bytes: of it. name: of the vdev.
  kMemory = 2,       ///< File: `bytes` at `offset` are DPDK's memory at `bus`, in an area.
  kForget = 3,       ///< DPDK's memory from `bus` on, `bytes`, goes away.
  kMap = 4,          ///< File: a ring of `bytes` at `bus`; kMirrored; name or none. kExternal:
                     ///< `bytes` at `offset` of it are the application's memory, without a name.
  kUnmap = 5,        ///< The ring at `bus` (0: none), and what is kept under `name`.
  kAdopt = 6,        ///< Reply: file and size of what is kept under `name`.
  kStatistics = 7,   ///< Reply: `count` entries behind it.
  kEnableWire = 8,   ///< kEnabled.
  kWireUp = 9,       ///< Reply: kEnabled if there is a carrier.
  kInterrupts = 10,  ///< File: the socket that interrupts go to (interrupt_socket.h).
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
  uint32_t sequence = 0;  ///< 1 with kHello, then one more each.
  uint32_t flags = 0;
  uint64_t bus = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;      ///< kMemory, kExternal: where in the file.
  uint64_t area_bus = 0;    ///< kMemory: contiguous bus addresses that may come to hold
  uint64_t area_bytes = 0;  ///< memory, such as [bus, bus + bytes) now.
  char model[16] = {};      ///< kHello: name of the model, and its settings.
  uint32_t settings[kMaxModelSettings] = {};
  char name[kNameBytes] = {};
};
static_assert(std::has_unique_object_representations_v<Request>);

struct Reply {
  uint32_t magic = kMessageMagic;
  uint16_t version = kProtocolVersion;
  uint16_t refused = 0;   ///< 1: `text` says why, in one line.
  uint32_t sequence = 0;  ///< The request's.
  uint32_t flags = 0;
  uint64_t bytes = 0;
  uint32_t count = 0;
  uint8_t mac[6] = {};  ///< kHello.
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

/// Copies as much of `text` as fits, with a NUL behind it. `field` is zeroed already.
template <size_t kBytes>
void SetText(char (&field)[kBytes], std::string_view text) {
  text.copy(field, kBytes - 1);
}

/// The text of a field; nothing past its end is read. False if it does not end, or if
/// there are bytes in it that no terminal should see.
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
