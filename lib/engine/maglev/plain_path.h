// SPDX-License-Identifier: BSD-3-Clause
//
// The bulk of all traffic: plain packets (packet/plain.h) of settled connections, whose outer is
// plain or which are rewritten in place. A burst is worked off in pieces, so that memory that no
// cache holds is on its way for many frames at once:
//
//   fetch     [ piece 2 ]   the frames
//   look      [ piece 1 ]   headers are read and hashed, connections are fetched
//   settle    [ piece 0 ]   connections are looked up and frames sent on, one after another
//
// Looking changes nothing. A connection that a frame opens, closes or moves is so for the next
// frame, as if each had come alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "engine/maglev/connections.h"
#include "engine/maglev/counters.h"
#include "engine/maglev/flow_tags.h"
#include "engine/maglev/in_place.h"
#include "engine/maglev/outer.h"
#include "engine/maglev/tables.h"
#include "packet/burst.h"
#include "packet/bytes.h"
#include "packet/frame.h"
#include "packet/plain.h"

namespace sluice::engine::maglev {

inline constexpr uint8_t kTcpFin = 0x01, kTcpSyn = 0x02, kTcpRst = 0x04;  ///< Flags.

/// Lives as long as a burst is handled, by one worker: what all frames need is loaded once.
class PlainPath {
 public:
  /// All outlive it. `buffer`: where frames are built that have no other room.
  PlainPath(const Tables& tables, const FlowTags& tags, uint32_t seconds,
            ConnectionTable& connections, BalancerCounters& counters, uint8_t* buffer)
      : index_(tables.index()),
        outers_(tables.plain_outers().data()),
        lowers_ttl_(tables.setup().decrement_ttl),
        tags_(tags),
        seconds_(seconds),
        connections_(connections),
        counters_(counters),
        buffer_(buffer) {}

  /// Answers all frames of the burst: those that take another path by `other(number)`.
  template <packet::Burst Burst, typename Other>
  [[gnu::always_inline]] void Process(Burst& burst, Other other) {
    Piece pieces[2];
    Piece* ahead = &pieces[0];
    Piece* at_hand = &pieces[1];
    const uint32_t size = burst.size();
    Fetch(burst, 0);
    for (uint32_t first = 0;; first += kPieceFrames) {
      if (first < size) Look(burst, first, *ahead);
      if (first > 0) Settle(burst, first - kPieceFrames, *at_hand, other);
      if (first >= size) break;
      std::swap(ahead, at_hand);
    }
  }

 private:
  /// Enough lines for all that a core has in flight; two pieces fit into a first-level cache with
  /// all that belongs to them.
  static constexpr uint32_t kPieceFrames = 16;

  /// What headers say that decides about a frame. They are read once: on some interfaces others
  /// could still write to them, and lengths were checked.
  struct Sight {
    uint64_t tag;
    uint64_t vip_key;  ///< VipIndex::Ipv4Key.
    uint32_t total;    ///< Bytes of the IP packet; 0: the frame takes another path.

    /// False: the frame takes another path, and this is as it was.
    bool Read(const uint8_t* frame, uint32_t length, const FlowTags& tags);
  };
  struct Piece {
    std::array<Sight, kPieceFrames> frames;
    bool one_vip;  ///< All are for one VIP, and none is known to take another path.
  };
  /// What was sent on.
  struct Sent {
    uint32_t bytes;  ///< Of the frame as it came.
    uint16_t backend;
  };
  /// What is the same for all packets of a VIP.
  struct Way {
    explicit Way(const Vip& vip)
        : vip(vip.index),
          plain_bytes(vip.plain_bytes),
          tcp(vip.protocol == packet::kProtocolTcp),
          encapsulation(vip.encapsulation) {}

    uint16_t vip;
    uint32_t plain_bytes;
    bool tcp;
    Encapsulation encapsulation;
  };

  static uint32_t EndOfPiece(uint32_t first, uint32_t size) {
    return std::min(first + kPieceFrames, size);
  }

  template <packet::Burst Burst>
  [[gnu::always_inline]] void Fetch(const Burst& burst, uint32_t first) {
    const uint32_t end = EndOfPiece(first, burst.size());
    for (uint32_t number = first; number < end; ++number) {
      const packet::Frame frame = burst.At(number);
      __builtin_prefetch(frame.data, 1);
      // Where there is room in front, a header may be put there.
      if (frame.headroom != 0) __builtin_prefetch(frame.data - 1, 1);
    }
  }

  template <packet::Burst Burst>
  [[gnu::always_inline]] void Look(const Burst& burst, uint32_t first, Piece& piece) {
    const uint32_t end = EndOfPiece(first, burst.size());
    Fetch(burst, end);
    Sight* sight = piece.frames.data();
    uint64_t differences = 0;
    for (uint32_t number = first; number < end; ++number, ++sight) {
      const packet::Frame frame = burst.At(number);
      if (sight->Read(frame.data, frame.length, tags_)) [[likely]] {
        connections_.Prefetch(sight->tag);
      } else {
        *sight = {};
      }
      differences |= sight->vip_key ^ piece.frames[0].vip_key;
    }
    piece.one_vip = differences == 0 && piece.frames[0].total != 0;
  }

  template <packet::Burst Burst, typename Other>
  [[gnu::always_inline]] void Settle(Burst& burst, uint32_t first, const Piece& piece,
                                     Other other) {
    const Vip* const vip = piece.one_vip ? index_.FindIpv4(piece.frames[0].vip_key) : nullptr;
    if (vip != nullptr) [[likely]] {
      SettleOneVip(burst, first, piece, Way(*vip), other);
    } else {
      SettleEach(burst, first, piece, other);
    }
  }

  template <packet::Burst Burst, typename Other>
  [[gnu::always_inline]] void SettleOneVip(Burst& burst, uint32_t first, const Piece& piece,
                                           const Way way, Other other) {
    const uint32_t end = EndOfPiece(first, burst.size());
    Sent sent[kPieceFrames];
    Sent* next = sent;
    const Sight* sight = piece.frames.data();
    for (uint32_t number = first; number < end; ++number, ++sight) {
      const packet::Frame frame = burst.At(number);
      const uint16_t backend = Forward(burst, number, frame, *sight, way);
      if (backend != kNobody) [[likely]] {
        *next++ = {frame.length, backend};
      } else {
        other(number);
      }
    }
    // Once all are sent on: counted on the way, a packet took a tenth more time by measurement.
    Traffic all;
    for (const Sent* one = sent; one != next; ++one) {
      counters_.CountBackend(one->backend, {1, one->bytes});
      all.bytes += one->bytes;
    }
    all.pkts = static_cast<uint64_t>(next - sent);
    counters_.Count(BalancerCounters::kHit, all.pkts);
    counters_.CountVip(way.vip, all);
  }

  template <packet::Burst Burst, typename Other>
  [[gnu::always_inline]] void SettleEach(Burst& burst, uint32_t first, const Piece& piece,
                                         Other other) {
    const uint32_t end = EndOfPiece(first, burst.size());
    const Sight* sight = piece.frames.data();
    for (uint32_t number = first; number < end; ++number, ++sight) {
      const Vip* const vip = sight->total != 0 ? index_.FindIpv4(sight->vip_key) : nullptr;
      const packet::Frame frame = burst.At(number);
      const uint16_t backend =
          vip != nullptr ? Forward(burst, number, frame, *sight, Way(*vip)) : kNobody;
      if (backend == kNobody) {
        other(number);
        continue;
      }
      counters_.Count(BalancerCounters::kHit);
      counters_.CountVip(vip->index, {1, frame.length});
      counters_.CountBackend(backend, {1, frame.length});
    }
  }

  /// Sends a frame to the backend of its connection, and returns that one's index. kNobody: the
  /// frame takes another path, and is as it was.
  template <packet::Burst Burst>
  [[gnu::always_inline]] uint16_t Forward(Burst& burst, uint32_t number, const packet::Frame& frame,
                                          const Sight& sight, const Way& way) {
    if (sight.total > way.plain_bytes) [[unlikely]]
      return kNobody;
    const BackendRef backend =
        connections_.FindSettled(sight.tag, static_cast<uint8_t>(way.vip),
                                 way.tcp ? ConnectionState::kTcp : ConnectionState::kUdp, seconds_);
    if (backend.generation == 0) [[unlikely]]
      return kNobody;
    const PlainOuter& outer = outers_[backend.index];
    if (outer.generation != backend.generation || outer.vip != way.vip) [[unlikely]] {
      return kNobody;
    }
    uint8_t* const ip = frame.data + packet::kPlainL3;
    if (!Ipv4ChecksumHolds(ip)) [[unlikely]]
      counters_.Count(BalancerCounters::kBadIpChecksum);
    if (RewritesInPlace(way.encapsulation)) {
      if (lowers_ttl_) LowerIpv4Ttl(ip);
      if (way.encapsulation == Encapsulation::kNat) RewriteDestination(frame.data, way.tcp, outer);
      SendToNextHop(frame.data, outer);
      burst.Answer(number, frame, packet::kForward);
      return backend.index;
    }
    const Entropy entropy{.source = packet::Load<uint32_t>(ip + 12),
                          .port = packet::Load<uint16_t>(frame.data + packet::kPlainL4)};
    const uint32_t built = packet::kPlainL3 + kPlainBytes + sight.total;
    uint8_t* start = frame.data - kPlainBytes;
    if (frame.headroom < kPlainBytes) {
      start = Elsewhere(burst.spare(), built);
      CopyPlain(ip, sight.total, start + packet::kPlainL3 + kPlainBytes);
    }
    EncapsulatePlain(frame.data, sight.total, outer, entropy, start);
    if (lowers_ttl_) LowerIpv4Ttl(start + packet::kPlainL3 + kPlainBytes);
    burst.Answer(number, {start, built, 0, 0}, packet::kForward);
    return backend.index;
  }

  /// Where a frame of `length` bytes that has no headroom is built: `spare`, if it fits there.
  uint8_t* Elsewhere(uint8_t* spare, uint32_t length) const {
    return spare != nullptr && length <= packet::Frame::kSpareBytes ? spare : buffer_;
  }

  const VipIndex& index_;
  const PlainOuter* outers_;
  bool lowers_ttl_;
  FlowTags tags_;
  uint32_t seconds_;
  ConnectionTable& connections_;
  BalancerCounters& counters_;
  uint8_t* buffer_;
};

/// Not of frames that are not plain, have no TTL to spare, or open or close TCP.
inline bool PlainPath::Sight::Read(const uint8_t* frame, uint32_t length, const FlowTags& tags) {
  constexpr uint32_t kTtlOffset = packet::kPlainL3 + 8;
  constexpr uint32_t kAddresses = packet::kPlainL3 + 12;
  constexpr uint32_t kTcpFlags = packet::kPlainL4 + 13;
  if (!packet::IsPlainUdpOrTcp(frame, length) || frame[kTtlOffset] <= 1) [[unlikely]]
    return false;
  const uint8_t protocol = frame[packet::kPlainProtocol];
  if (protocol == packet::kProtocolTcp && (frame[kTcpFlags] & (kTcpFin | kTcpSyn | kTcpRst)) != 0)
      [[unlikely]] {
    return false;
  }
  tag = tags.Of(packet::Load<uint64_t>(frame + kAddresses),
                packet::Load<uint32_t>(frame + packet::kPlainL4), protocol);
  vip_key = VipIndex::Ipv4Key(packet::Load<uint64_t>(frame + kAddresses + 4), protocol);
  total = packet::LeadingWord::Of(frame).TotalLength();
  return true;
}

}  // namespace sluice::engine::maglev
