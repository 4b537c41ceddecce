// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the VIP of a packet: of all VIPs that serve its protocol and port, the one with the longest
// prefix that contains the destination. If two VIPs have the same prefix, one that serves only the
// packet's port precedes one that serves any port. Also finds the NAT backend that sent an answer.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/maglev/address.h"
#include "packet/bytes.h"
#include "packet/rewrite.h"

namespace sluice::engine::maglev {

struct Backend;
struct Vip;

/// An index of VIPs and NAT backends. Immutable once built; may be used by any number of threads.
class VipIndex {
 public:
  /// Creates an empty index.
  VipIndex() = default;
  /// Indexes the VIPs in use and the NAT backends whose generation is not 0. `vips` and `backends`
  /// must outlive the index and must not move.
  VipIndex(std::span<const Vip> vips, std::span<const Backend> backends);

  /// Returns the VIP of a destination, or null. `port_be` is in network order.
  const Vip* Find(const IpAddress& address, uint16_t port_be, uint8_t protocol) const;
  /// Returns a key of all fields of an IPv4 packet that determine its VIP. The argument contains
  /// the eight bytes from the destination address to the destination port of a header without
  /// options; in the key, the protocol replaces the source port. The key is never 0.
  static uint64_t Ipv4Key(uint64_t destination_and_ports, uint8_t protocol) {
    constexpr uint64_t kSourcePort = uint64_t{0xffff} << kProtocolShift;
    return (destination_and_ports & ~kSourcePort) | uint64_t{protocol} << kProtocolShift;
  }
  static uint8_t ProtocolOf(uint64_t ipv4_key) {
    return static_cast<uint8_t>(ipv4_key >> kProtocolShift);
  }
  /// Returns the VIP of an Ipv4Key, or null. Costs one load if the VIP has exactly this address and
  /// port.
  const Vip* FindIpv4(uint64_t key) const {
    const Vip* const vip = FindIpv4Key(key);
    return vip != nullptr ? vip : FindIpv4Wider(key);
  }
  /// Returns whether any VIP has this address. Used for ICMP and fragments.
  bool Covers(const IpAddress& address) const;
  /// Returns the NAT backend that answers from this address and port, or null.
  const Backend* FindNatSource(const IpAddress& address, uint16_t port_be, uint8_t protocol) const;
  /// Returns a NAT backend with this address, or null. Used for fragments, which have no ports.
  const Backend* FindNatHost(const IpAddress& address) const;

 private:
  /// Location of a VIP or NAT backend. Fields that a lookup does not use are 0.
  struct Place {
    IpAddress address;
    uint16_t port_be = 0;
    uint8_t protocol = 0;
    uint8_t host_bits = 0;
    const Vip* vip = nullptr;          ///< Null: the slot is empty.
    const Backend* backend = nullptr;  ///< Only in nat_sources_.
  };
  /// Hash map with open addressing, at most half full; the size is a power of two.
  class PlaceMap {
   public:
    void Reserve(size_t places);
    /// Adds a place unless the map contains it.
    void Add(const Place& place);
    /// Returns the entry with the same address, port, protocol and host bits, or null.
    const Place* Find(const Place& wanted) const {
      for (size_t at = Hash(wanted);; ++at) {
        const Place& place = slots_[at & (slots_.size() - 1)];
        if (place.vip == nullptr) return nullptr;
        if (place.port_be == wanted.port_be && place.protocol == wanted.protocol &&
            place.host_bits == wanted.host_bits && place.address == wanted.address) {
          return &place;
        }
      }
    }
    bool empty() const { return empty_; }

   private:
    static size_t Hash(const Place& place) {
      const auto* const words = place.address.bytes.data();
      const uint64_t rest =
          uint64_t{place.port_be} << 16 | uint64_t{place.protocol} << 8 | place.host_bits;
      const uint64_t mixed = (packet::Load<uint64_t>(words) ^ rest << 32) * 0x9e3779b97f4a7c15 ^
                             packet::Load<uint64_t>(words + 8) * 0xbf58476d1ce4e5b9;
      return (mixed ^ mixed >> 29) * 0x94d049bb133111eb >> 32;
    }

    std::vector<Place> slots_ = std::vector<Place>(2);
    bool empty_ = true;
  };

  /// Entry of a hash table with open addressing, at most half full; the size is a power of two. Key
  /// 0: empty.
  struct Ipv4Place {
    uint64_t key = 0;
    const Vip* vip = nullptr;
  };
  /// Masks a packet's key for the lookup of one prefix length.
  struct Ipv4Scope {
    uint64_t mask = 0;
    uint64_t host_bits = 0;  ///< The prefix's host bits, at their position in a key.
  };
  /// Prefix length of a VIP, and whether the VIP serves any port.
  struct Scope {
    uint8_t host_bits = 0;
    bool any_port = false;

    static Scope Of(const Vip& vip);
    /// The longest prefix sorts first, then a specific port before any port.
    friend auto operator<=>(const Scope&, const Scope&) = default;
  };

  static constexpr uint32_t kProtocolShift = 32, kHostBitsShift = 40, kPortShift = 48;
  static size_t Ipv4Hash(uint64_t key) { return key * 0x9e3779b97f4a7c15 >> 40; }
  const Vip* FindIpv4Key(uint64_t key) const {
    for (size_t at = Ipv4Hash(key);; ++at) {
      const Ipv4Place& place = ipv4_places_[at & ipv4_mask_];
      if (place.key == key) return place.vip;
      if (place.key == 0) return nullptr;
    }
  }
  /// Finds a VIP that serves any port or is a prefix.
  const Vip* FindIpv4Wider(uint64_t key) const;
  void AddIpv4(const Vip& vip);

  std::vector<Ipv4Place> ipv4_places_ = std::vector<Ipv4Place>(2);
  size_t ipv4_mask_ = 1;                ///< Number of places minus 1.
  bool ipv4_any_port_ = false;          ///< Set if a VIP with a single address has port 0.
  std::vector<Ipv4Scope> ipv4_scopes_;  ///< One per prefix length.
  PlaceMap ipv6_places_;
  std::vector<Scope> ipv6_scopes_;
  PlaceMap addresses_;
  std::vector<Scope> address_scopes_[2];  ///< For Covers: [0] IPv4, [1] IPv6; all have any_port.
  PlaceMap nat_sources_;
};

}  // namespace sluice::engine::maglev
