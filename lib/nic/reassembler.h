// SPDX-License-Identifier: BSD-3-Clause
//
// Puts fragments of IP datagrams together, by DPDK's librte_ip_frag. It copies fragments into mbufs
// of its own, because not every interface has any: so all interfaces hand them over alike, as
// bytes. Memory is bounded, and a datagram that is not whole in time is forgotten.
//
// Of the library: a datagram has at most kMaxFragments; its fragments must fit together exactly,
// so that one that overlaps, or comes twice, ends all of them (as RFC 5722 and RFC 8200 want it of
// IPv6); IPv6 headers in front of the fragment header are not supported; datagrams are told apart
// by addresses and identification alone.
#pragma once

#include <rte_ip_frag.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "packet/parse.h"

struct rte_mempool;

namespace sluice::nic {

/// Used by one worker.
class Reassembler {
 public:
  /// Why a fragment did not become part of a whole datagram.
  enum Reason : uint8_t {
    kTimedOut,    ///< The others did not come in time.
    kNoRoom,      ///< As many datagrams wait as may, or in its place; longer than kMaxFrameBytes.
    kOverlap,     ///< It, or another of its datagram, overlaps, came twice or was one too many.
    kMalformed,   ///< Empty, too long for IP, or not the last and no multiple of 8 bytes long.
    kUnfinished,  ///< It waits while the run ends.
    kReasons
  };
  static constexpr std::array<std::string_view, kReasons> kDropReasons{
      "fragment_timed_out", "fragment_no_room", "fragment_overlap", "fragment_malformed",
      "fragment_unfinished"};

  static constexpr uint32_t kMaxDatagrams = 16384;
  static constexpr uint32_t kMaxFragments = RTE_LIBRTE_IP_FRAG_MAX_FRAG;
  /// Longest frame of a fragment.
  static constexpr uint32_t kMaxFrameBytes = 2048;
  /// RFC 1122 asks for a minute, for the Internet. On the networks that this is made for, what is
  /// not there after a second was lost, and the table is wanted for others.
  static constexpr uint32_t kTimeoutS = 1;

  /// Puts nothing together.
  Reassembler() = default;
  /// For `datagrams` at a time, 1 … kMaxDatagrams. `name`: of its memory pool, used once.
  /// Nothing: there is too little of EAL's memory.
  static std::optional<Reassembler> Make(const std::string& name, uint32_t datagrams,
                                         uint64_t timeout_cycles);

  bool on() const { return table_ != nullptr; }
  /// Whether these headers, parsed without an error, are of a fragment that the library can take.
  static bool Takes(const packet::Headers& headers);

  struct Taken {
    enum class Outcome : uint8_t { kWaits, kDropped, kWhole };
    Outcome outcome;
    Reason reason = kReasons;  ///< If dropped.
    /// If whole: the frame of the datagram, with the first fragment's Ethernet header, here until
    /// the next call; kRoomBytes are free before and behind it.
    uint8_t* frame = nullptr;
    uint32_t length = 0;
  };
  static constexpr uint32_t kRoomBytes = 128;

  /// Takes a copy of a fragment: Takes(headers). `now`: TSC, never less than before.
  Taken Take(const uint8_t* frame, const packet::Headers& headers, uint64_t now);
  /// Forgets what has waited too long.
  void Expire(uint64_t now);
  /// Forgets everything.
  void Finish();

  /// Fragments that wait for others.
  uint32_t waiting() const { return waiting_; }
  /// Of those that waited: how many ended for this reason since the last call.
  uint64_t TakeEnded(Reason reason) { return std::exchange(ended_[reason], 0); }

 private:
  struct FreeTable {
    void operator()(rte_ip_frag_tbl* table) const { rte_ip_frag_table_destroy(table); }
  };
  struct FreePool {
    void operator()(rte_mempool* pool) const;
  };

  /// Frees what the library gave up. Returns how many fragments those are.
  uint32_t Bury();
  /// Fragments that waited have ended.
  void End(Reason reason, uint32_t fragments);
  /// Makes one frame of a chain of mbufs, which it frees.
  Taken Flatten(rte_mbuf* chain);

  std::unique_ptr<rte_mempool, FreePool> pool_;  // Outlives the table, which has mbufs of it.
  std::unique_ptr<rte_ip_frag_death_row> dead_;
  std::unique_ptr<rte_ip_frag_tbl, FreeTable> table_;
  std::unique_ptr<uint8_t[]> whole_;
  uint32_t waiting_ = 0;
  std::array<uint64_t, kReasons> ended_{};
};

}  // namespace sluice::nic
