// SPDX-License-Identifier: BSD-3-Clause
//
// The fast path for plain packets (packet/plain.h) of established connections. The packets are
// rewritten in place, or get an outer header that can be built in advance (PlainOuter). A burst is
// divided into pieces, so that memory that is not in a cache is prefetched for many frames at once:
//
//   fetch     [ piece 2 ]   prefetches the frames
//   look      [ piece 1 ]   reads and hashes the headers, prefetches the connections
//   settle    [ piece 0 ]   looks up the connections and sends the frames in order
//
// The look stage does not change any state. If a frame opens, closes or moves a connection, the
// next frame sees the change, as if each frame had arrived alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "cpu/vector.h"
#include "engine/maglev/connections.h"
#include "engine/maglev/counters.h"
#include "engine/maglev/flow_tags.h"
#include "engine/maglev/in_place.h"
#include "engine/maglev/outer.h"
#include "engine/maglev/tables.h"
#include "engine/maglev/vip_index.h"
#include "packet/burst.h"
#include "packet/bytes.h"
#include "packet/frame.h"
#include "packet/plain.h"

namespace sluice::engine::maglev {

inline constexpr uint8_t kTcpFin = 0x01, kTcpSyn = 0x02, kTcpRst = 0x04;  ///< TCP flags.

/// Handles one burst in one worker. An object exists only during the burst and caches the values
/// that all of its frames need.
class PlainPath {
 public:
  /// All arguments must outlive the object. `buffer` is used to build frames that do not fit
  /// anywhere else.
  PlainPath(const Tables& tables, FlowTags tags, uint32_t seconds, ConnectionTable& connections,
            BalancerCounters& counters, uint8_t* buffer)
      : index_(tables.index()),
        outers_(tables.plain_outers().data()),
        lowers_ttl_(tables.setup().decrement_ttl),
        tags_(tags),
        seconds_(seconds),
        connections_(connections),
        counters_(counters),
        buffer_(buffer) {}

  /// Answers all frames of the burst; calls `other(number, tag)` for the frames that are not for
  /// this path. `tag` is 0 if the frame is not plain, its TTL expires, or it opens or closes a TCP
  /// connection.
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
  /// Frames per piece: enough cache lines for all outstanding loads of a core. The data of two
  /// pieces fits into a first-level cache.
  static constexpr uint32_t kPieceFrames = 16;

  /// The header fields that determine how a frame is handled. They are read only once: on some
  /// interfaces the sender could still change them after the lengths were checked.
  struct Sight {
    uint64_t tag;
    ConnectionTable::Bucket* bucket;  ///< First bucket of the flow.
    uint64_t vip_key;                 ///< VipIndex::Ipv4Key.
    uint32_t total;                   ///< Bytes of the IP packet; 0: not for this path.

    /// Returns false if the frame is not for this path.
    bool Read(const uint8_t* frame, uint32_t length, FlowTags tags);
    /// Like Read, but for a frame of at least kPlainLeast bytes that VipPattern matches, or that
    /// Read has compared field by field. Does not set vip_key.
    bool ReadRest(const uint8_t* frame, uint32_t length, FlowTags tags, uint8_t protocol);
  };
  /// The header fields that all plain packets of a VIP have in common. One comparison replaces
  /// separate comparisons of these fields.
  class VipPattern {
   public:
    explicit VipPattern(uint64_t vip_key);
    /// Reads kPlainLeast bytes.
    bool Matches(const uint8_t* frame) const {
      return cpu::EqualUnder(frame + kFirst, words_.data(), kMask.data());
    }

   private:
    static constexpr uint32_t kFirst = packet::kPlainL3 - 2;  ///< The EtherType.
    alignas(32) static constexpr std::array<uint8_t, 32> kMask{
        0xff, 0xff,                    // EtherType.
        0xff, 0,    0,    0,    0, 0,  // Version and header length.
        0x3f, 0xff,                    // More fragments, and the fragment offset.
        0,    0xff, 0,    0,           // Protocol.
        0,    0,    0,    0,           // Source address.
        0xff, 0xff, 0xff, 0xff,        // Destination address.
        0,    0,    0xff, 0xff,        // Destination port.
    };

    alignas(32) std::array<uint64_t, 4> words_;
  };
  struct Piece {
    std::array<Sight, kPieceFrames> frames;
    bool one_vip;  ///< Read accepted all frames, and all are for the same VIP.
  };
  /// A frame that was sent.
  struct Sent {
    uint32_t bytes;  ///< Bytes of the frame as received.
    uint16_t backend;
  };
  /// Properties that all packets of a VIP have in common.
  struct Way {
    explicit Way(const Vip& vip)
        : vip(vip.index),
          tcp(vip.protocol == packet::kProtocolTcp),
          nat(vip.encapsulation == Encapsulation::kNat) {}

    uint32_t vip;  ///< Index of the VIP.
    bool tcp;
    bool nat;
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
      // A header may be written into the headroom.
      if (frame.headroom != 0) __builtin_prefetch(frame.data - 1, 1);
    }
  }

  template <packet::Burst Burst>
  [[gnu::always_inline]] void Look(const Burst& burst, uint32_t first, Piece& piece) {
    const uint32_t end = EndOfPiece(first, burst.size());
    Fetch(burst, end);
    piece.one_vip = ReadAt(burst, first, piece.frames[0]) &&
                    (end - first == 1 || LookOneVip(burst, first, end, tags_, connections_, piece));
    if (piece.one_vip) [[likely]]
      return;
    Sight* sight = piece.frames.data();
    for (uint32_t number = first; number < end; ++number, ++sight) {
      if (!ReadAt(burst, number, *sight)) *sight = {};
    }
  }

  /// Returns false if the frame is not for this path.
  template <packet::Burst Burst>
  [[gnu::always_inline]] bool ReadAt(const Burst& burst, uint32_t number, Sight& sight) {
    const packet::Frame frame = burst.At(number);
    if (!sight.Read(frame.data, frame.length, tags_)) return false;
    sight.bucket = connections_.Prefetch(sight.tag);
    return true;
  }

  /// Like ReadAt, but for the frames after `first`, which ReadAt has accepted. Returns false if one
  /// of them is not for this path or is for another VIP. This is a separate function, so that the
  /// state of its loop stays in registers.
  template <packet::Burst Burst>
  [[gnu::noinline]] static bool LookOneVip(const Burst& burst, uint32_t first, uint32_t end,
                                           FlowTags tags, ConnectionTable& connections,
                                           Piece& piece) {
    Sight* sight = piece.frames.data();
    const uint64_t vip_key = sight->vip_key;
    const VipPattern pattern(vip_key);
    const uint8_t protocol = VipIndex::ProtocolOf(vip_key);
    for (uint32_t number = first + 1; number < end; ++number) {
      ++sight;
      const packet::Frame frame = burst.At(number);
      if (frame.length < packet::kPlainLeast || !pattern.Matches(frame.data) ||
          !sight->ReadRest(frame.data, frame.length, tags, protocol)) [[unlikely]] {
        return false;
      }
      sight->vip_key = vip_key;
      sight->bucket = connections.Prefetch(sight->tag);
    }
    return true;
  }

  template <packet::Burst Burst, typename Other>
  [[gnu::always_inline]] void Settle(Burst& burst, uint32_t first, const Piece& piece,
                                     Other other) {
    const Vip* const vip = piece.one_vip ? index_.FindIpv4(piece.frames[0].vip_key) : nullptr;
    if (vip == nullptr || burst.totals().longest > packet::kPlainL3 + vip->plain_bytes)
        [[unlikely]] {
      SettleEach(burst, first, piece, other);
    } else if (RewritesInPlace(vip->encapsulation)) {
      SettleOneVip<true>(burst, first, piece, Way(*vip), other);
    } else {
      SettleOneVip<false>(burst, first, piece, Way(*vip), other);
    }
  }

  template <bool kInPlace, packet::Burst Burst, typename Other>
  [[gnu::always_inline]] void SettleOneVip(Burst& burst, uint32_t first, const Piece& piece,
                                           const Way way, Other other) {
    const uint32_t end = EndOfPiece(first, burst.size());
    Sent sent[kPieceFrames];
    Sent* next = sent;
    const Sight* sight = piece.frames.data();
    for (uint32_t number = first; number < end; ++number, ++sight) {
      const PlainOuter* const outer = FindOuter(*sight, way);
      if (outer == nullptr) [[unlikely]] {
        other(number, sight->tag);
        continue;
      }
      const packet::Frame frame = burst.At(number);
      Send<kInPlace>(burst, number, frame, sight->total, way, *outer);
      *next++ = {frame.length, BackendOf(*outer)};
    }
    // Count after the loop: counting within the loop was measured to cost 10% more time per packet.
    Traffic* const by_backend = counters_.by_backend.data();
    Traffic all;
    for (const Sent* one = sent; one != next; ++one) {
      BalancerCounters::AddTo(by_backend[one->backend], {1, one->bytes});
      all.bytes += one->bytes;
    }
    all.pkts = static_cast<uint64_t>(next - sent);
    counters_.Count(BalancerCounters::kHit, all.pkts);
    counters_.CountVip(static_cast<uint16_t>(way.vip), all);
  }

  template <packet::Burst Burst, typename Other>
  [[gnu::always_inline]] void SettleEach(Burst& burst, uint32_t first, const Piece& piece,
                                         Other other) {
    const uint32_t end = EndOfPiece(first, burst.size());
    const Sight* sight = piece.frames.data();
    for (uint32_t number = first; number < end; ++number, ++sight) {
      const Vip* const vip = sight->total != 0 ? index_.FindIpv4(sight->vip_key) : nullptr;
      const bool fits = vip != nullptr && sight->total <= vip->plain_bytes;
      const PlainOuter* const outer = fits ? FindOuter(*sight, Way(*vip)) : nullptr;
      if (outer == nullptr) {
        other(number, sight->tag);
        continue;
      }
      const packet::Frame frame = burst.At(number);
      if (RewritesInPlace(vip->encapsulation)) {
        Send<true>(burst, number, frame, sight->total, Way(*vip), *outer);
      } else {
        Send<false>(burst, number, frame, sight->total, Way(*vip), *outer);
      }
      counters_.Count(BalancerCounters::kHit);
      counters_.CountVip(vip->index, {1, frame.length});
      counters_.CountBackend(BackendOf(*outer), {1, frame.length});
    }
  }

  /// Returns the outer header for the backend of the frame's connection, or null if the frame is
  /// not for this path.
  [[gnu::always_inline]] const PlainOuter* FindOuter(const Sight& sight, const Way& way) {
    const uint32_t backend =
        connections_.FindSettled(*sight.bucket, sight.tag, static_cast<uint8_t>(way.vip),
                                 way.tcp ? ConnectionState::kTcp : ConnectionState::kUdp, seconds_);
    const PlainOuter* const outer = outers_ + static_cast<uint16_t>(backend);
    // FindSettled returns generation 0 if it finds no entry; no backend of a VIP has generation 0.
    return outer->owner == PlainOuter::Owner(backend, way.vip) ? outer : nullptr;
  }
  uint16_t BackendOf(const PlainOuter& outer) const {
    return static_cast<uint16_t>(&outer - outers_);
  }

  /// Sends a frame whose IP packet has `total` bytes to a backend.
  template <bool kInPlace, packet::Burst Burst>
  [[gnu::always_inline]] void Send(Burst& burst, uint32_t number, const packet::Frame& frame,
                                   uint32_t total, const Way& way, const PlainOuter& outer) {
    uint8_t* const ip = frame.data + packet::kPlainL3;
    if (!Ipv4ChecksumHolds(ip)) [[unlikely]]
      counters_.Count(BalancerCounters::kBadIpChecksum);
    if constexpr (kInPlace) {
      if (lowers_ttl_) LowerIpv4Ttl(ip);
      if (way.nat) RewriteDestination(frame.data, way.tcp, outer);
      SendToNextHop(frame.data, outer);
      burst.Answer(number, frame, packet::kForward);
    } else {
      const Entropy entropy{.source = packet::Load<uint32_t>(ip + 12),
                            .port = packet::Load<uint16_t>(frame.data + packet::kPlainL4)};
      const uint32_t built = packet::kPlainL3 + kPlainBytes + total;
      uint8_t* start = frame.data - kPlainBytes;
      if (frame.headroom < kPlainBytes) {
        start = Elsewhere(burst.spare(), built);
        CopyPlain(ip, total, start + packet::kPlainL3 + kPlainBytes);
      }
      EncapsulatePlain(frame.data, total, outer, entropy, start);
      if (lowers_ttl_) [[likely]]
        LowerIpv4Ttl(start + packet::kPlainL3 + kPlainBytes);
      burst.Answer(number, {start, built, 0, 0}, packet::kForward);
    }
  }

  /// Returns where to build a frame of `length` bytes that has no headroom: `spare` if the frame
  /// fits there, else buffer_.
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

inline PlainPath::VipPattern::VipPattern(uint64_t vip_key)
    : words_{uint64_t{0x45} << 16 | __builtin_bswap16(packet::kEtherTypeIpv4),
             uint64_t{VipIndex::ProtocolOf(vip_key)} << 24, vip_key << 32 >> 16, vip_key >> 48} {}

inline bool PlainPath::Sight::Read(const uint8_t* frame, uint32_t length, FlowTags tags) {
  if (!packet::IsPlainUdpOrTcp(frame, length)) [[unlikely]]
    return false;
  const uint8_t protocol = frame[packet::kPlainProtocol];
  const auto destination = packet::Load<uint64_t>(frame + packet::kPlainL3 + 16);
  if (!ReadRest(frame, length, tags, protocol)) return false;
  vip_key = VipIndex::Ipv4Key(destination, protocol);
  return true;
}

/// Rejects frames whose lengths are wrong, that have a TTL of at most 1, or that open or close a
/// TCP connection.
inline bool PlainPath::Sight::ReadRest(const uint8_t* frame, uint32_t length, FlowTags tags,
                                       uint8_t protocol) {
  constexpr uint32_t kTtlOffset = packet::kPlainL3 + 8;
  constexpr uint32_t kAddresses = packet::kPlainL3 + 12;
  constexpr uint32_t kTcpFlags = packet::kPlainL4 + 13;
  const bool tcp = protocol == packet::kProtocolTcp;
  if (!packet::PlainLengthsHold(frame, length, tcp) || frame[kTtlOffset] <= 1 ||
      (tcp && (frame[kTcpFlags] & (kTcpFin | kTcpSyn | kTcpRst)) != 0)) [[unlikely]] {
    return false;
  }
  total = packet::LeadingWord::Of(frame).TotalLength();
  tag = tags.Of(packet::Load<uint64_t>(frame + kAddresses),
                packet::Load<uint32_t>(frame + packet::kPlainL4), protocol);
  return true;
}

}  // namespace sluice::engine::maglev
