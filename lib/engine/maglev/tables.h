// SPDX-License-Identifier: BSD-3-Clause
//
// A compiled configuration: VIPs, rings and backends as the data path reads them. Immutable
// once built, so that workers share it and a new one replaces it whole; `epoch` tells which
// one decided.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/maglev/connections.h"
#include "engine/maglev/outer.h"
#include "engine/maglev/profile.h"
#include "engine/maglev/setup.h"
#include "packet/bytes.h"
#include "packet/flow_key.h"

namespace sluice::engine::maglev {

inline constexpr uint16_t kNobody = 0xffff;

/// A backend, for the data path. Its index is stable: the same name in the same VIP keeps
/// index and generation from one epoch to the next; a removed or downed one loses both.
struct Backend {
  Outer outer;              ///< What is put in front; with kNat only the next hop.
  IpAddress address;
  uint16_t generation = 0;  ///< 0: not in use.
  uint16_t vip = 0;
  uint16_t nat_port_be = 0;  ///< 0: keeps the port.
  BackendState state = BackendState::kDown;
};

/// A VIP, for the data path.
struct Vip {
  uint16_t index = 0;  ///< Into Tables::vips(); stable as a backend's index is.
  IpAddress address;
  uint16_t port_be = 0;  ///< 0: any.
  uint8_t protocol = 0;
  Encapsulation encapsulation = Encapsulation::kIp;
  bool in_use = false;
  bool quic = false;
  bool connections = true;
  bool plain = false;  ///< The connection table and the ring decide alone.
  SlotRule rule;
  /// The backend index of each slot; empty: nobody has weight.
  std::vector<uint16_t> ring;
  /// Backend index by QUIC server id, ascending by id.
  std::vector<std::pair<uint32_t, uint16_t>> quic_ids;
};

/// A balancer to which fragments are redirected.
struct Peer {
  IpAddress address;
  Outer outer;
  bool self = false;
};

class Tables {
 public:
  /// Compiles `setup`, which passed Check. `previous` (or null) hands on indices and
  /// generations. Rings of VIPs whose backends did not change are not built again.
  static std::unique_ptr<const Tables> Build(const Setup& setup, const Tables* previous);

  uint64_t epoch() const { return epoch_; }  ///< 1, 2, …
  const Setup& setup() const { return setup_; }

  /// The VIP of {address, port, protocol}, else of {address, 0, protocol}, else null.
  /// `port` in network order as it lies in the frame.
  const Vip* Find(const packet::Ipv6Address& address, bool ipv6, uint16_t port_be,
                  uint8_t protocol) const;
  /// The same for IPv4, with one load per look: of the eight bytes from the destination address
  /// to the destination port, as they lie in a header without options.
  const Vip* FindIpv4(uint64_t destination_and_ports, uint8_t protocol) const {
    const uint64_t key = Ipv4Key(destination_and_ports, protocol);
    const Vip* const vip = FindIpv4Key(key);
    if (vip != nullptr || !any_port_) [[likely]] return vip;
    return FindIpv4Key(Ipv4Key(static_cast<uint32_t>(destination_and_ports), protocol));
  }
  /// Whether any VIP has this address: for ICMP and fragments.
  bool IsVipAddress(const packet::Ipv6Address& address, bool ipv6) const;
  /// kNat: the VIP that a backend's answers come from, or null.
  const Vip* FindNatSource(const packet::Ipv6Address& address, bool ipv6, uint16_t port_be,
                           uint8_t protocol) const;

  /// By index; null generation: a hole.
  const std::vector<Backend>& backends() const { return backends_; }
  const std::vector<Vip>& vips() const { return vips_; }
  /// Of the backend at an index.
  const PlainOuter& plain_outer(uint16_t index) const { return plain_outers_[index]; }
  /// All balancers in one order, the same on each of them; empty if fragments stay here.
  const std::vector<Peer>& peers() const { return peers_; }
  /// Whether a connection of the VIP at index `vip` may stay with `ref`, which was somebody in
  /// this epoch or an earlier one: it is there, of this generation, not down, and of this VIP.
  /// (Indices are never fewer than before.)
  bool Serves(BackendRef ref, uint16_t vip) const {
    const Backend& backend = backends_[ref.index];
    return backend.generation == ref.generation && backend.vip == vip;
  }
  /// Names for people and counters: of VIP and backend at an index, "" for a hole.
  const std::string& VipName(uint16_t index) const;
  const std::string& BackendName(uint16_t index) const;
  /// The backend index that the ring gives a flow, or kNobody; `slot` is filled in.
  uint16_t BackendOf(const Vip& vip, const packet::FlowKey& flow, uint32_t* slot) const;

 private:
  struct Place {
    packet::Ipv6Address address{};
    uint16_t port_be = 0;
    uint8_t protocol = 0;
    uint8_t family = 0;  ///< 4 or 6; 0: empty.
    uint16_t vip = 0;
  };
  /// Open addressing, at most half full; the size is a power of two.
  class PlaceMap {
   public:
    void Reserve(size_t places);
    void Add(const Place& place);
    /// What was added with the same address, port, protocol and family, or null.
    const Place* Find(const Place& wanted) const {
      for (size_t at = Hash(wanted);; ++at) {
        const Place& place = slots_[at & (slots_.size() - 1)];
        if (place.family == 0) return nullptr;
        if (place.port_be == wanted.port_be && place.protocol == wanted.protocol &&
            place.family == wanted.family && place.address == wanted.address) {
          return &place;
        }
      }
    }
    bool empty() const { return empty_; }

   private:
    static size_t Hash(const Place& place) {
      const auto* const words = place.address.data();
      const uint64_t rest = uint64_t{place.port_be} << 16 | uint64_t{place.protocol} << 8 |
                            place.family;
      const uint64_t mixed = (packet::Load<uint64_t>(words) ^ rest << 32) * 0x9e3779b97f4a7c15 ^
                             packet::Load<uint64_t>(words + 8) * 0xbf58476d1ce4e5b9;
      return (mixed ^ mixed >> 29) * 0x94d049bb133111eb >> 32;
    }

    std::vector<Place> slots_ = std::vector<Place>(2);
    bool empty_ = true;
  };

  /// Open addressing, at most half full; the size is a power of two. Key 0: empty.
  struct Ipv4Place {
    uint64_t key = 0;
    const Vip* vip = nullptr;
  };
  /// The protocol in place of the source port.
  static uint64_t Ipv4Key(uint64_t destination_and_ports, uint8_t protocol) {
    constexpr uint64_t kSourcePort = uint64_t{0xffff} << 32;
    return (destination_and_ports & ~kSourcePort) | uint64_t{protocol} << 32;
  }
  static size_t Ipv4Hash(uint64_t key) { return key * 0x9e3779b97f4a7c15 >> 40; }
  const Vip* FindIpv4Key(uint64_t key) const {
    for (size_t at = Ipv4Hash(key);; ++at) {
      const Ipv4Place& place = ipv4_places_[at & ipv4_mask_];
      if (place.key == key) return place.vip;
      if (place.key == 0) return nullptr;
    }
  }
  void IndexIpv4();

  Tables() = default;
  void AddBackend(const Setup& setup, const VipSetup& vip, uint16_t vip_index,
                  const BackendSetup& backend, uint16_t index, const std::string& key,
                  const Tables& before);
  /// The VIP at {address, port, protocol}, else at {address, 0, protocol}, else null.
  const Vip* FindIn(const PlaceMap& places, const packet::Ipv6Address& address, bool ipv6,
                    uint16_t port_be, uint8_t protocol) const;
  void AddPeers(const Setup& setup);
  void AddVip(const Setup& setup, const VipSetup& vip, uint16_t index,
              const std::vector<uint16_t>& members, const Tables& before);
  static std::vector<uint16_t> Ring(const Setup& setup, const VipSetup& vip, uint16_t index,
                                    uint32_t slots, const std::vector<uint16_t>& members,
                                    const Tables& before);

  Setup setup_;
  uint64_t epoch_ = 1;
  std::vector<Vip> vips_;
  std::vector<Backend> backends_;
  std::vector<PlainOuter> plain_outers_;  ///< By backend index.
  std::vector<Peer> peers_;
  std::vector<std::string> vip_names_;
  std::vector<std::string> backend_names_;
  std::vector<std::string> backend_keys_;  ///< VIP and name: what makes an index stable.
  std::vector<uint16_t> last_generation_;  ///< By backend index, holes included.
  bool any_port_ = false;  ///< A VIP has port 0.
  PlaceMap endpoints_;
  std::vector<Ipv4Place> ipv4_places_;
  size_t ipv4_mask_ = 0;  ///< Their number less one.
  PlaceMap addresses_;
  PlaceMap nat_sources_;
};

}  // namespace sluice::engine::maglev
