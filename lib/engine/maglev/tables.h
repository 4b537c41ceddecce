// SPDX-License-Identifier: BSD-3-Clause
//
// A compiled configuration: VIPs, rings and backends for the data path. Immutable once built, so
// workers share it and a new one replaces it completely. `epoch` identifies the configuration that
// made a decision.
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
#include "engine/maglev/prefix_map.h"
#include "engine/maglev/profile.h"
#include "engine/maglev/setup.h"
#include "engine/maglev/vip_index.h"
#include "packet/flow_key.h"

namespace sluice::engine::maglev {

inline constexpr uint16_t kNobody = 0xffff;

/// A backend for the data path. It keeps its index across epochs while its name is configured in
/// its VIP. It also keeps its generation while it is not down and its address does not change.
struct Backend {
  Outer outer;  ///< Headers to prepend; only the next hop if RewritesInPlace.
  IpAddress address;
  uint16_t generation = 0;  ///< 0: unused.
  uint16_t vip = 0;
  uint16_t nat_port_be = 0;  ///< Network order; 0: unchanged.
  BackendState state = BackendState::kDown;
};

/// A VIP for the data path.
struct Vip {
  uint16_t index = 0;  ///< Index into Tables::vips(), stable while the VIP is configured.
  IpAddress address;
  uint8_t host_bits = 0;  ///< See VipSetup.
  uint16_t port_be = 0;   ///< Network order; 0: any.
  uint8_t protocol = 0;
  Encapsulation encapsulation = Encapsulation::kIp;
  bool in_use = false;
  bool quic = false;
  bool connections = true;
  /// Size in bytes of the longest packet that PlainPath handles. 0 if PlainPath does not handle any
  /// packet of the VIP, because the VIP does not use the connection table, reads QUIC ids, or sets
  /// destination_port_only.
  uint32_t plain_bytes = 0;
  SlotRule rule;
  /// Backend index of each slot; empty if all weights are 0.
  std::vector<uint16_t> ring;
  /// Backend indices by QUIC server id, sorted by id.
  std::vector<std::pair<uint32_t, uint16_t>> quic_ids;
  PrefixMap sources;  ///< Backend index by the source of new flows.
};

/// A balancer that receives redirected fragments.
struct Peer {
  IpAddress address;
  Outer outer;
  bool self = false;
};

class Tables {
 public:
  /// Compiles `setup`, which must have passed Check. The indices and generations of `previous`,
  /// which may be null, are kept. Rings of VIPs whose backends did not change are copied, and VIPs
  /// with equal pools share the cost of one ring. `rings` caches rings of earlier tables.
  static std::unique_ptr<const Tables> Build(const Setup& setup, const Tables* previous,
                                             RingCache* rings);
  static std::unique_ptr<const Tables> Build(const Setup& setup, const Tables* previous) {
    RingCache rings;
    return Build(setup, previous, &rings);
  }

  uint64_t epoch() const { return epoch_; }  ///< 1, 2, …
  const Setup& setup() const { return setup_; }

  /// Finds the VIP of a packet.
  const VipIndex& index() const { return index_; }
  /// Returns the size in bytes of the longest inner packet after an outer header of `outer_bytes`.
  uint32_t MaxInner(uint32_t outer_bytes) const { return std::min(mtu_ - outer_bytes, max_inner_); }

  /// Returns the backends by index; unused indices have generation 0.
  const std::vector<Backend>& backends() const { return backends_; }
  const std::vector<Vip>& vips() const { return vips_; }
  /// Returns the compact outer headers, indexed by backend. Contains at least one element, so that
  /// a BackendRef without a backend can be looked up, too.
  const std::vector<PlainOuter>& plain_outers() const { return plain_outers_; }
  /// Returns all balancers, in the same order on each of them; empty if fragments are not
  /// redirected.
  const std::vector<Peer>& peers() const { return peers_; }
  /// Returns whether a connection of the VIP at index `vip` may stay with `ref`, a backend of this
  /// or an earlier epoch: the backend still has this generation, is not down, and belongs to this
  /// VIP. (The number of indices never decreases.)
  bool Serves(BackendRef ref, uint16_t vip) const {
    const Backend& backend = backends_[ref.index];
    return backend.generation == ref.generation && backend.vip == vip;
  }
  /// Return the name of the VIP or backend at `index`, for reports and counters; "" if the index is
  /// unused.
  const std::string& VipName(uint16_t index) const;
  const std::string& BackendName(uint16_t index) const;
  /// Returns the backend index that the ring yields for a flow, or kNobody. Stores the slot in
  /// `slot`.
  uint16_t BackendOf(const Vip& vip, const packet::FlowKey& flow, uint32_t* slot) const;
  /// Returns the backend that VipSetup::sources specifies for a new flow, or kNobody if there is
  /// none or if it does not accept new flows.
  uint16_t BackendBySource(const Vip& vip, const packet::FlowKey& flow) const;

 private:
  Tables() = default;
  void AddBackend(const Setup& setup, const VipSetup& vip, uint16_t vip_index,
                  const BackendSetup& backend, uint16_t index, const std::string& key,
                  const Tables& before);
  void AddPeers(const Setup& setup);
  void AddVip(const Setup& setup, const VipSetup& vip, uint16_t index,
              const std::vector<uint16_t>& members);
  /// Returns the ring of `vip`, whose backends have the indices `members`.
  static std::vector<uint16_t> Ring(const Setup& setup, const VipSetup& vip,
                                    const std::vector<uint16_t>& members, RingCache* rings);

  Setup setup_;
  uint64_t epoch_ = 1;
  std::vector<Vip> vips_;
  std::vector<Backend> backends_;
  std::vector<PlainOuter> plain_outers_;
  std::vector<Peer> peers_;
  std::vector<std::string> vip_names_;
  std::vector<std::string> backend_names_;
  std::vector<std::string> backend_keys_;  ///< Names of VIP and backend; indexed by backend.
  std::vector<uint16_t> last_generation_;  ///< Indexed by backend, unused indices included.
  uint32_t mtu_ = 0;                       ///< MTU of the path to the backends.
  uint32_t max_inner_ = 0;                 ///< Maximum inner packet size for any outer header.
  VipIndex index_;
};

}  // namespace sluice::engine::maglev
