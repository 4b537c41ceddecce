// SPDX-License-Identifier: BSD-3-Clause
//
// Puts fragments of IP datagrams together, in memory of a fixed size. Fragments may come in any
// order; those that overlap end their datagram (RFC 5722), and a datagram that is not whole in time
// is forgotten. IPv6 headers in front of the fragment header are not supported. Without DPDK, for
// what has none; interfaces of lib/nic have a reassembler of their own.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "packet/ethernet.h"
#include "packet/parse.h"

namespace sluice::packet {

/// Belongs to one thread. Allocates nothing after construction.
class Defragmenter {
 public:
  /// Why fragments did not become part of a whole datagram.
  enum Reason : uint8_t {
    kTimedOut,   ///< The others did not come in time.
    kNoRoom,     ///< As many datagrams wait as may.
    kOverlap,    ///< It, or another of its datagram, overlaps or came twice.
    kMalformed,  ///< Empty, a wrong checksum of the header, too long for IP, or not the last and no
                 ///< multiple of 8 bytes long.
    kReasons
  };

  /// For `datagrams` at a time, each within `timeout` units of time of its first fragment.
  Defragmenter(uint32_t datagrams, uint64_t timeout);

  /// Returns whether Take can take a frame with these headers.
  static bool Takes(const Headers& headers);
  /// Takes a copy of a fragment. Returns the frame of the datagram that it completes, with the
  /// Ethernet and IP headers of the first fragment, valid until the next call; else nothing.
  std::span<const uint8_t> Take(const uint8_t* frame, const Headers& headers, uint64_t now);
  /// Forgets what has waited for too long. Time never goes back.
  void Expire(uint64_t now);

  /// Fragments that ended for this reason.
  uint64_t ended(Reason reason) const { return ended_[reason]; }
  /// Fragments that wait for others.
  uint32_t waiting() const { return waiting_; }

 private:
  static constexpr uint32_t kMostBytes = 65536;
  /// Ethernet with two tags, and IPv4 with options.
  static constexpr uint32_t kMostHeaders = kEthernetHeaderBytes + 8 + 60;

  struct Key {
    std::array<uint8_t, 32> addresses{};
    uint32_t identification = 0;
    uint8_t protocol = 0;
    bool ipv6 = false;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Entry {
    uint32_t fragments = 0;  ///< 0: the entry is free.
    Key key;
    uint64_t since = 0;
    uint32_t end = 0;                    ///< Of the payload; 0: the last fragment has not come.
    uint32_t reached = 0;                ///< Where the furthest fragment ends.
    uint32_t bytes = 0;                  ///< That have come.
    uint32_t headers = 0;                ///< Bytes of headers, once the first fragment has come.
    uint32_t l3 = 0;                     ///< Where IP's begins among them.
    std::bitset<kMostBytes / 8> blocks;  ///< That have come, of 8 bytes each.
    std::unique_ptr<uint8_t[]> memory;   ///< kMostHeaders, which end where the payload begins.
  };

  static Key KeyOf(const uint8_t* frame, const Headers& headers);
  Entry* Find(const Key& key, uint64_t now);
  void End(Entry& entry, Reason reason);
  /// Returns false if the fragment overlaps another, or contradicts it.
  static bool Add(Entry& entry, uint32_t offset, std::span<const uint8_t> part, bool last);

  uint64_t timeout_;
  std::vector<Entry> entries_;
  uint32_t waiting_ = 0;
  std::array<uint64_t, kReasons> ended_{};
};

}  // namespace sluice::packet
