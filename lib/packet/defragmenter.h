// SPDX-License-Identifier: BSD-3-Clause
//
// Puts fragments of IP datagrams together, in memory of a fixed size. Fragments may come in any
// order; those that overlap end their datagram (RFC 5722), and a datagram that is not whole in time
// is forgotten. IPv6 headers in front of the fragment header are not supported.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <list>
#include <memory>
#include <string_view>
#include <vector>

#include "packet/ethernet.h"
#include "packet/flow_key.h"
#include "packet/parse.h"

namespace sluice::packet {

/// Belongs to one thread. Allocates nothing after construction. The cost of a fragment does not
/// depend on how many datagrams wait.
class Defragmenter {
 public:
  /// Why a fragment did not become part of a whole datagram.
  enum Reason : uint8_t {
    kTimedOut,   ///< The others did not come in time.
    kNoRoom,     ///< As many datagrams wait as may.
    kOverlap,    ///< It, or another of its datagram, overlaps or came twice.
    kMalformed,  ///< Empty, a wrong checksum of the header, too long for IP, or not the last and no
                 ///< multiple of 8 bytes long.
    kUnfinished,  ///< It waits while the run ends.
    kReasons
  };
  static constexpr std::array<std::string_view, kReasons> kDropReasons{
      "fragment_timed_out", "fragment_no_room", "fragment_overlap", "fragment_malformed",
      "fragment_unfinished"};

  /// Most datagrams that may wait at a time: about 1 GiB of memory.
  static constexpr uint32_t kMaxDatagrams = 16384;
  /// How long callers wait for fragments. RFC 1122 asks for a minute, for the Internet. On the
  /// networks that this is made for, what is not there after a second was lost, and the memory is
  /// wanted for others.
  static constexpr uint32_t kTimeoutS = 1;

  /// Puts nothing together, and accepts no fragment.
  Defragmenter() = default;
  /// For `datagrams` at a time, 1 … kMaxDatagrams, each complete at most `timeout` units of time
  /// after its first fragment. `seed` is secret: without it, senders cannot aim at one bucket.
  /// Throws std::bad_alloc if there is too little memory.
  Defragmenter(uint32_t datagrams, uint64_t timeout, uint64_t seed);

  bool on() const { return memory_ != nullptr; }
  /// Returns whether Take accepts a frame with these headers.
  static bool Takes(const Headers& headers);

  enum class Outcome : uint8_t { kWaits, kDropped, kWhole };
  struct Taken {
    Outcome outcome;
    Reason reason = kReasons;  ///< If dropped.
    /// If whole: the frame of the datagram, with the Ethernet and IP headers of the first fragment,
    /// valid until the next call; kRoomBytes are free before and after it.
    uint8_t* frame = nullptr;
    uint32_t length = 0;
  };
  static constexpr uint32_t kRoomBytes = 128;

  /// Copies a fragment for which Takes(headers). Time never goes back.
  Taken Take(const uint8_t* frame, const Headers& headers, uint64_t now);
  /// Forgets what has waited for too long.
  void Expire(uint64_t now);
  /// Forgets everything, at the end of a run.
  void Finish();

  /// Fragments that ended for this reason.
  uint64_t ended(Reason reason) const { return ended_[reason]; }
  /// Fragments that wait for others.
  uint32_t waiting() const { return waiting_; }

 private:
  static constexpr uint32_t kMostBytes = 65536;
  /// Ethernet with two tags, and IPv4 with options.
  static constexpr uint32_t kMostHeaders = kEthernetHeaderBytes + 8 + 60;
  /// Memory of a datagram, whose payload begins at kPayloadAt.
  static constexpr uint32_t kPayloadAt = kRoomBytes + kMostHeaders;
  static constexpr uint32_t kSlotBytes = kPayloadAt + kMostBytes + kRoomBytes;

  struct Entry {
    FlowKey key;
    Entry* next = nullptr;  ///< In the same bucket.
    std::list<Entry>::iterator self;
    uint8_t* payload = nullptr;
    uint64_t since = 0;
    uint32_t fragments = 0;
    uint32_t end = 0;                    ///< Of the payload; 0: the last fragment has not come.
    uint32_t reached = 0;                ///< Where the furthest fragment ends.
    uint32_t bytes = 0;                  ///< That have come.
    uint32_t headers = 0;                ///< Bytes of headers, once the first fragment has come.
    uint32_t l3 = 0;                     ///< Where IP's begins among them.
    std::bitset<kMostBytes / 8> blocks;  ///< That have come, of 8 bytes each.
  };

  static FlowKey KeyOf(const uint8_t* frame, const Headers& headers);
  Entry** BucketOf(const FlowKey& key);
  /// Returns the datagram's entry, or a new one; null: there is none left.
  Entry* Find(const FlowKey& key, uint64_t now);
  /// Makes the entry free. Returns how many fragments it had.
  uint32_t Free(Entry& entry);
  void End(Entry& entry, Reason reason) { ended_[reason] += Free(entry); }
  Taken Drop(Reason reason) { return ++ended_[reason], Taken{Outcome::kDropped, reason}; }
  /// The same, with all other fragments of its datagram.
  Taken Drop(Entry& entry, Reason reason);
  static bool Add(Entry& entry, uint32_t offset, const uint8_t* part, uint32_t bytes, bool last);
  Taken Finished(Entry& entry);

  uint64_t timeout_ = 0;
  uint64_t seed_ = 0;
  std::unique_ptr<uint8_t[]> memory_;  ///< kSlotBytes of each entry.
  std::list<Entry> free_;
  std::list<Entry> used_;        ///< The oldest first.
  std::vector<Entry*> buckets_;  ///< A power of two.
  uint32_t waiting_ = 0;
  std::array<uint64_t, kReasons> ended_{};
};

}  // namespace sluice::packet
