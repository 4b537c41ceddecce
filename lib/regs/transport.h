// SPDX-License-Identifier: BSD-3-Clause
//
// Registers and formats of the transport unit, which ends TCP connections in the NIC. Sluice
// defines them; the models contain the unit, and no hardware does. All multi-byte fields are
// little-endian, except the headers of a record's frame.
//
// Each connection has two rings in host memory: the unit writes received bytes into the first and
// reads bytes to send from the second. Unit and host exchange records about the rings. A record is
// a frame of 64 bytes, so pipes, rings, links and endpoints carry records without changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::regs::transport {

// ----------------------------------------------------------------- register

/// Size of the unit's only register; its position depends on the device (kTransport in enso.h and
/// ipu.h). An 8-byte store contains the bus address of a Configuration, which the unit reads at
/// once, or 0 to end the unit's work; both reset all connections. A 4-byte read at its first byte
/// returns kStatus… bits; 0 means that the NIC has no unit.
inline constexpr uint32_t kRegisterBytes = 8;

inline constexpr uint32_t kStatusPresent = 1u << 0;
inline constexpr uint32_t kStatusActive = 1u << 1;    ///< The unit serves connections.
inline constexpr uint32_t kStatusRejected = 1u << 2;  ///< The last configuration is invalid.

/// Limits and addresses of the unit. Unused elements of arrays are ignored.
struct Configuration {
  uint64_t rings;                  ///< Bus address of the rings; see RingsOf.
  uint64_t seed;                   ///< Seeds initial sequence numbers; should be random.
  uint32_t connections;            ///< 1 … kMaxConnections.
  uint32_t connections_per_peer;   ///< 1 … connections.
  uint32_t ring_bytes;             ///< Size of each ring: a power of two, kMinRing … kMaxRing.
  uint16_t port_count;             ///< 1 … kMaxPorts.
  uint8_t ipv4_count;              ///< At most kMaxAddresses.
  uint8_t ipv6_count;              ///< At most kMaxAddresses.
  std::array<uint16_t, 16> ports;  ///< Ports that accept connections, not 0.
  std::array<uint8_t, 6> mac;      ///< The port's MAC address, first octet first.
  /// The unit's MAC address: the source of its records, and the destination of the host's. A random
  /// address that is unknown on the wire. The unit drops frames from the wire that come from it.
  std::array<uint8_t, 6> unit_mac;
  std::array<uint8_t, 4> reserved;
  std::array<std::array<uint8_t, 4>, 16> ipv4;
  std::array<std::array<uint8_t, 16>, 16> ipv6;
};
inline constexpr uint32_t kMaxConnections = 16384;
inline constexpr uint32_t kMinRing = 4096, kMaxRing = 262144;
inline constexpr uint32_t kMaxPorts = 16, kMaxAddresses = 16;
static_assert(sizeof(Configuration) == 400);

/// Returns the offset of a connection's rings from Configuration::rings: first the ring of received
/// bytes, then that of bytes to send. Byte n of a connection is at n modulo the size of the ring.
constexpr uint64_t RingsOf(uint32_t connection, uint32_t ring_bytes) {
  return uint64_t{2} * connection * ring_bytes;
}

// ------------------------------------------------------------------ records

/// Bits of Record::flags from the unit:
inline constexpr uint8_t kOpened = 1u << 0;      ///< A new connection, and Record::peer.
inline constexpr uint8_t kHalfClosed = 1u << 1;  ///< The peer sends no byte after `received`.
inline constexpr uint8_t kClosed = 1u << 2;      ///< The connection has ended; see Record::end.
/// Bits of Record::flags from the host:
inline constexpr uint8_t kFinish = 1u << 3;   ///< The host sends no byte after `sent`.
inline constexpr uint8_t kAbort = 1u << 4;    ///< Reset the connection.
inline constexpr uint8_t kRelease = 1u << 5;  ///< After kClosed: the host no longer uses the rings.

/// The position of one end in both rings of a connection. Counts of bytes begin at 0 and wrap. A
/// record replaces the earlier ones of its sender, except one with kOpened, which contains no
/// counts.
struct [[gnu::packed]] Record {
  uint8_t flags;
  uint8_t end;          ///< With kClosed: the value of transport::End.
  uint16_t connection;  ///< Less than Configuration::connections.
  /// Number of earlier connections with this number, modulo 2^16. Records of other lives are stale,
  /// and are ignored.
  uint16_t life;
  struct [[gnu::packed]] Counts {
    uint32_t received;  ///< From the unit: bytes written. From the host: bytes processed.
    uint32_t sent;      ///< From the unit: bytes read. From the host: bytes written.
  };
  union {
    Counts counts;
    std::array<uint8_t, 16> peer;  ///< The peer's address; ::ffff:a.b.c.d if it is IPv4.
  };
};

/// A record's frame: Ethernet, IPv4 and UDP headers, and the record. From the unit, the headers
/// contain the last four bytes of the peer's address, the first own IPv4 address, and both ports of
/// the connection, so a NIC steers all records of a connection alike. The UDP checksum is 0.
inline constexpr uint32_t kRecordOffset = 42;
inline constexpr uint32_t kRecordBytes = 64;
static_assert(kRecordOffset + sizeof(Record) == kRecordBytes && offsetof(Record, counts) == 6);

}  // namespace sluice::regs::transport
