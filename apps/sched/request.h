// SPDX-License-Identifier: BSD-3-Clause
//
// Requests and replies of sluice-sched: 24 bytes of a UDP datagram, in network order.
//
//   request                               reply
//    0 magic "SLSQ"                        0 magic "SLSA"
//    4 version, 1                          4 version
//    5 class, 0 … 7; 0: most urgent        5 class
//    6 flags, 16 bits                      6 flags of the request, and kCut
//    8 id, 64 bits                         8 id
//   16 service time, 32 bits, in ns       16 time on processors, in ns
//   20 zero, 32 bits                      20 other time in the server, in ns
//
// A request's task computes for the service time. The task stands for a database query (ghOSt's
// experiments used RocksDB).
#pragma once

#include <cstdint>
#include <span>

namespace sluice::sched {

inline constexpr uint32_t kRequestBytes = 24;
inline constexpr uint32_t kReplyBytes = 24;
inline constexpr uint8_t kClasses = 8;
inline constexpr uint32_t kMaxServiceNs = 1'000'000'000;

/// Request flags.
inline constexpr uint16_t kNoSafePoints = 1u << 0;  ///< The task has no safe points.
/// Reply flag: a signal cut the task at least once.
inline constexpr uint16_t kCut = 1u << 15;

struct Request {
  uint64_t id = 0;
  uint32_t service_ns = 0;
  uint16_t flags = 0;
  uint8_t task_class = 0;

  friend bool operator==(const Request&, const Request&) = default;
};

/// Errors in a payload.
enum class Fault : uint8_t { kNone, kLength, kMagic, kVersion, kClass, kFlags, kService };

/// Parses an untrusted payload. Sets `out` only if there is no error.
Fault Read(std::span<const uint8_t> payload, Request& out);
void Write(const Request& request, std::span<uint8_t, kRequestBytes> out);

struct Reply {
  uint64_t id = 0;
  uint32_t ran_ns = 0;
  uint32_t waited_ns = 0;
  uint16_t flags = 0;
  uint8_t task_class = 0;

  friend bool operator==(const Reply&, const Reply&) = default;
};

Fault Read(std::span<const uint8_t> payload, Reply& out);
void Write(const Reply& reply, std::span<uint8_t, kReplyBytes> out);

}  // namespace sluice::sched
