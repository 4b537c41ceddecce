// SPDX-License-Identifier: BSD-3-Clause
//
// Reassembles IP datagrams from fragments, in a fixed amount of memory. Fragments may arrive in any
// order. If fragments overlap or do not all arrive in time, the whole datagram is discarded (RFC
// 5722). IPv6 extension headers before the fragment header are not supported.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/counter_rows.h"
#include "packet/ethernet.h"
#include "packet/flow_key.h"
#include "packet/parse.h"

namespace sluice::packet {

/// The incomplete datagrams of one thread. Allocates nothing after construction. The cost per
/// fragment does not depend on the number of waiting datagrams.
class Defragmenter {
 public:
  /// Why a fragment was dropped.
  enum Reason : uint8_t {
    kTimedOut,    ///< Other fragments did not arrive in time.
    kNoRoom,      ///< The maximum number of datagrams were already waiting.
    kOverlap,     ///< This or another fragment of the datagram overlaps or is a duplicate.
    kMalformed,   ///< Empty, bad header checksum, too long for IP, or a middle fragment
                  ///< whose length is not a multiple of 8 bytes.
    kUnfinished,  ///< The datagram was incomplete at the end of the run.
    kReasons
  };
  static constexpr auto kDropReasons =
      base::Names<Reason, kReasons>({{kTimedOut, "fragment_timed_out"},
                                     {kNoRoom, "fragment_no_room"},
                                     {kOverlap, "fragment_overlap"},
                                     {kMalformed, "fragment_malformed"},
                                     {kUnfinished, "fragment_unfinished"}});

  /// Maximum number of waiting datagrams, which occupy about 1 GiB of memory.
  static constexpr uint32_t kMaxDatagrams = 16384;
  /// Timeout in seconds that callers pass to the constructor. RFC 1122 recommends at least one
  /// minute on the Internet. In a data center network, a fragment that is missing after a second
  /// has been lost, and other datagrams need the memory.
  static constexpr uint32_t kTimeoutS = 1;

  /// Constructs a disabled defragmenter, which does not accept any fragments.
  Defragmenter() = default;
  /// Constructs a defragmenter for at most `datagrams` incomplete datagrams (1 … kMaxDatagrams). A
  /// datagram must be complete within `timeout`, in the unit of `now`, after its first fragment has
  /// arrived. `seed` must be secret, so that senders cannot aim fragments at one hash bucket.
  /// Throws std::bad_alloc if there is too little memory.
  Defragmenter(uint32_t datagrams, uint64_t timeout, uint64_t seed);

  bool on() const { return memory_ != nullptr; }
  /// Returns whether Accept supports a frame with these headers.
  static bool Accepts(const Headers& headers);

  enum class Outcome : uint8_t { kWaits, kDropped, kWhole };
  struct Result {
    Outcome outcome;
    Reason reason = kReasons;  ///< Set if `outcome` is kDropped.
    /// If `outcome` is kWhole: the datagram's frame, with the Ethernet and IP headers of the first
    /// fragment. Valid until the next call. kRoomBytes are free before and after it.
    uint8_t* frame = nullptr;
    uint32_t length = 0;
  };
  static constexpr uint32_t kRoomBytes = 128;

  /// Stores a copy of a fragment for which Accepts(headers) is true. Returns the datagram if this
  /// fragment completes it. `now` must not decrease.
  Result Accept(const uint8_t* frame, const Headers& headers, uint64_t now);
  /// Drops datagrams that have waited longer than the timeout.
  void Expire(uint64_t now);
  /// Drops all datagrams. Called at the end of a run.
  void Finish();

  /// Returns the number of fragments dropped for this reason.
  uint64_t ended(Reason reason) const { return ended_[reason]; }
  /// Returns the number of waiting fragments.
  uint32_t waiting() const { return waiting_; }

 private:
  static constexpr uint32_t kMostBytes = 65536;
  /// Maximum size of the headers: Ethernet with two tags, and IPv4 with options.
  static constexpr uint32_t kMostHeaders = kEthernetHeaderBytes + 8 + 60;
  /// Payload offset in the memory of a datagram.
  static constexpr uint32_t kPayloadAt = kRoomBytes + kMostHeaders;
  static constexpr uint32_t kSlotBytes = kPayloadAt + kMostBytes + kRoomBytes;

  struct Entry {
    FlowKey key;
    Entry* next = nullptr;  ///< Next entry in the same bucket.
    std::list<Entry>::iterator self;
    uint8_t* payload = nullptr;
    uint64_t since = 0;
    uint32_t fragments = 0;
    uint32_t end = 0;                    ///< End of the payload; 0 until the last fragment arrives.
    uint32_t reached = 0;                ///< Highest end of all received fragments.
    uint32_t bytes = 0;                  ///< Received payload bytes.
    uint32_t headers = 0;                ///< Size of the headers; 0 before the first fragment.
    uint32_t l3 = 0;                     ///< Offset of the IP header.
    std::bitset<kMostBytes / 8> blocks;  ///< Received 8-byte blocks.
  };

  static FlowKey KeyOf(const uint8_t* frame, const Headers& headers);
  Entry** BucketOf(const FlowKey& key);
  /// Returns the datagram's entry, creating it if necessary, or null if none is free.
  Entry* Find(const FlowKey& key, uint64_t now);
  /// Frees the entry. Returns the number of fragments that it contained.
  uint32_t Free(Entry& entry);
  void End(Entry& entry, Reason reason) { ended_[reason] += Free(entry); }
  Result Drop(Reason reason) { return ++ended_[reason], Result{Outcome::kDropped, reason}; }
  /// Drops the fragment and all other fragments of its datagram.
  Result Drop(Entry& entry, Reason reason);
  static bool Add(Entry& entry, uint32_t offset, const uint8_t* part, uint32_t bytes, bool last);
  Result Finished(Entry& entry);

  uint64_t timeout_ = 0;
  uint64_t seed_ = 0;
  std::unique_ptr<uint8_t[]> memory_;  ///< Contains kSlotBytes for each entry.
  std::list<Entry> free_;
  std::list<Entry> used_;        ///< Ordered by age, oldest first.
  std::vector<Entry*> buckets_;  ///< Size is a power of two.
  uint32_t waiting_ = 0;
  std::array<uint64_t, kReasons> ended_{};
};

}  // namespace sluice::packet
