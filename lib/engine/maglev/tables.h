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
#include "engine/maglev/prefix_map.h"
#include "engine/maglev/profile.h"
#include "engine/maglev/setup.h"
#include "engine/maglev/vip_index.h"
#include "packet/flow_key.h"

namespace sluice::engine::maglev {

inline constexpr uint16_t kNobody = 0xffff;

/// A backend, for the data path. Its index is stable: the same name in the same VIP keeps
/// index and generation from one epoch to the next; a removed or downed one loses both.
struct Backend {
  Outer outer;  ///< What is put in front; if RewritesInPlace only the next hop.
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
  uint8_t host_bits = 0;  ///< As VipSetup.
  uint16_t port_be = 0;   ///< 0: any.
  uint8_t protocol = 0;
  Encapsulation encapsulation = Encapsulation::kIp;
  bool in_use = false;
  bool quic = false;
  bool connections = true;
  /// Bytes of the longest packet that leaves by the plain path; 0: none, since more than the
  /// connection table and the ring decides.
  uint32_t plain_bytes = 0;
  SlotRule rule;
  /// The backend index of each slot; empty: nobody has weight.
  std::vector<uint16_t> ring;
  /// Backend index by QUIC server id, ascending by id.
  std::vector<std::pair<uint32_t, uint16_t>> quic_ids;
  PrefixMap sources;  ///< Backend index by the source of new flows.
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
  /// generations. Rings of VIPs whose backends did not change are not built again, and VIPs with
  /// equal pools cost one ring. `rings`: of tables built before.
  static std::unique_ptr<const Tables> Build(const Setup& setup, const Tables* previous,
                                             RingCache* rings);
  static std::unique_ptr<const Tables> Build(const Setup& setup, const Tables* previous) {
    RingCache rings;
    return Build(setup, previous, &rings);
  }

  uint64_t epoch() const { return epoch_; }  ///< 1, 2, …
  const Setup& setup() const { return setup_; }

  /// Finds VIPs.
  const VipIndex& index() const { return index_; }
  /// Bytes of the longest inner packet that goes into an outer header of so many bytes.
  uint32_t MaxInner(uint32_t outer_bytes) const { return std::min(mtu_ - outer_bytes, max_inner_); }

  /// By index; null generation: a hole.
  const std::vector<Backend>& backends() const { return backends_; }
  const std::vector<Vip>& vips() const { return vips_; }
  /// By backend index.
  const std::vector<PlainOuter>& plain_outers() const { return plain_outers_; }
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
  /// The backend that VipSetup::sources gives a new flow, if it takes new flows; or kNobody.
  uint16_t BackendBySource(const Vip& vip, const packet::FlowKey& flow) const;

 private:
  Tables() = default;
  void AddBackend(const Setup& setup, const VipSetup& vip, uint16_t vip_index,
                  const BackendSetup& backend, uint16_t index, const std::string& key,
                  const Tables& before);
  void AddPeers(const Setup& setup);
  void AddVip(const Setup& setup, const VipSetup& vip, uint16_t index,
              const std::vector<uint16_t>& members);
  /// The ring of `vip`, whose backends have the indices `members`.
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
  std::vector<std::string> backend_keys_;  ///< VIP and name: what makes an index stable.
  std::vector<uint16_t> last_generation_;  ///< By backend index, holes included.
  uint32_t mtu_ = 0;                       ///< Of the path.
  uint32_t max_inner_ = 0;                 ///< Whatever the outer header.
  VipIndex index_;
};

}  // namespace sluice::engine::maglev
