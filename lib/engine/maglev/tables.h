// SPDX-License-Identifier: BSD-3-Clause
//
// A compiled configuration: VIPs, rings and backends as the data path reads them. Immutable
// once built, so that workers share it and a new one replaces it whole; `epoch` tells which
// one decided.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/maglev/connections.h"
#include "engine/maglev/outer.h"
#include "engine/maglev/profile.h"
#include "engine/maglev/setup.h"
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
  uint8_t protocol = 0;
  Encapsulation encapsulation = Encapsulation::kIp;
  bool in_use = false;
  bool quic = false;
  bool connections = true;
  SlotRule rule;
  /// The backend index of each slot; empty: nobody has weight.
  std::vector<uint16_t> ring;
  /// Backend index by QUIC server id, ascending by id.
  std::vector<std::pair<uint32_t, uint16_t>> quic_ids;
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
  const Vip* FindIpv4(uint32_t address_be, uint16_t port_be, uint8_t protocol) const;
  /// Whether any VIP has this address: for ICMP and fragments.
  bool IsVipAddress(const packet::Ipv6Address& address, bool ipv6) const;
  /// kNat: the VIP that a backend's answers come from, or null.
  const Vip* FindNatSource(const packet::Ipv6Address& address, bool ipv6, uint16_t port_be,
                           uint8_t protocol) const;

  /// By index; null generation: a hole.
  const std::vector<Backend>& backends() const { return backends_; }
  const std::vector<Vip>& vips() const { return vips_; }
  /// Whether a connection may stay with `ref`: it exists, of this generation, not down.
  bool Serves(BackendRef ref) const {
    return ref.index < backends_.size() && ref.generation != 0 &&
           backends_[ref.index].generation == ref.generation;
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
    const Place* Find(const Place& wanted) const;

   private:
    std::vector<Place> slots_;
  };

  Tables() = default;

  Setup setup_;
  uint64_t epoch_ = 1;
  std::vector<Vip> vips_;
  std::vector<Backend> backends_;
  std::vector<std::string> vip_names_;
  std::vector<std::string> backend_names_;
  std::vector<uint16_t> last_generation_;  ///< By backend index, holes included.
  PlaceMap endpoints_;
  PlaceMap addresses_;
  PlaceMap nat_sources_;
};

}  // namespace sluice::engine::maglev
