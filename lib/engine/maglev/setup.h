// SPDX-License-Identifier: BSD-3-Clause
//
// The balancer's configuration: VIPs, their backends and how to reach them. Plain data that the
// application fills from its configuration file and tests fill directly; tables.h compiles it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counter_rows.h"
#include "engine/maglev/address.h"
#include "engine/maglev/profile.h"
#include "packet/ethernet.h"
#include "packet/rewrite.h"

namespace sluice::engine::maglev {

/// How packets are sent to a backend.
enum class Encapsulation : uint8_t {
  kIp,   ///< IPv4 in IPv4 (RFC 2003), or IPv4 or IPv6 in IPv6 (RFC 2473).
  kGue,  ///< UDP, variant 1: the inner IP header follows UDP (RFC draft, Katran).
  kGre,  ///< GRE without options (RFC 2784).
  kNat,  ///< Not encapsulated: rewrites the destination, and the source of answers.
  kMac,  ///< Not encapsulated: the backend is the next hop and has the VIP's address.
};
struct EncapsulationRow {
  Encapsulation id;
  std::string_view name;  ///< In configurations and reports.
  uint8_t protocol = 0;   ///< Protocol in the outer IP header; 0: that of the inner header.
  uint8_t bytes = 0;      ///< Header between the outer and the inner IP header.
};
inline constexpr std::array<EncapsulationRow, 5> kEncapsulations{
    {{Encapsulation::kIp, "ip"},
     {Encapsulation::kGue, "gue", packet::kProtocolUdp, packet::kUdpHeaderBytes},
     {Encapsulation::kGre, "gre", 47, 4},
     {Encapsulation::kNat, "nat"},
     {Encapsulation::kMac, "mac"}}};
static_assert(base::InOrder(kEncapsulations));
/// Returns the properties of an encapsulation.
constexpr const EncapsulationRow& RowOf(Encapsulation encapsulation) {
  return kEncapsulations[static_cast<size_t>(encapsulation)];
}
constexpr std::string_view EncapsulationName(Encapsulation encapsulation) {
  return RowOf(encapsulation).name;
}
/// Returns whether packets are changed in place: fields are rewritten, no header is prepended, and
/// the length is unchanged.
constexpr bool RewritesInPlace(Encapsulation encapsulation) {
  return encapsulation == Encapsulation::kNat || encapsulation == Encapsulation::kMac;
}
/// Returns the number of bytes that are prepended to the inner packet.
constexpr uint32_t OuterBytes(Encapsulation encapsulation, bool ipv6) {
  const uint32_t ip = ipv6 ? packet::kIpv6HeaderBytes : packet::kIpv4MinHeaderBytes;
  return RewritesInPlace(encapsulation) ? 0 : ip + RowOf(encapsulation).bytes;
}

enum class BackendState : uint8_t {
  kUp,
  kDraining,  ///< Receives no new flows; its flows stay until they are idle.
  kDown,      ///< Receives no packets; its flows move immediately.
};
/// Returns "up", "draining" or "down".
std::string_view StateName(BackendState state);

struct BackendSetup {
  std::string name;  ///< Unique in its VIP; input to the ring's hash.
  IpAddress address;
  uint16_t port = 0;    ///< kNat: rewrites the port; 0: unchanged. Host order.
  uint32_t weight = 1;  ///< 0 … 65535; 0 drains the backend.
  BackendState state = BackendState::kUp;
  std::optional<packet::MacAddress> mac;  ///< Next hop, default Setup::next_hop. Required by kMac.
  std::vector<uint32_t> quic_ids;         ///< Server ids in QUIC connection ids; not 0.
};

/// New flows from `prefix` go to `backend`, regardless of the backend's weight, as long as the
/// backend accepts new flows.
struct SourceSetup {
  IpPrefix prefix;      ///< Has the VIP's family. The longest matching prefix wins.
  std::string backend;  ///< Name of a backend of the VIP.

  friend bool operator==(const SourceSetup&, const SourceSetup&) = default;
};

struct VipSetup {
  std::string name;  ///< Unique.
  IpAddress address;
  uint8_t host_bits = 0;  ///< Number of host bits if the VIP is a prefix; 0: one address.
  uint16_t port = 0;      ///< Host order; 0: any.
  uint8_t protocol = 6;   ///< TCP or UDP.
  Encapsulation encapsulation = Encapsulation::kIp;
  bool quic = false;        ///< UDP only: connection ids choose the backend (docs/maglev-peers.md).
  bool connections = true;  ///< False: source prefix or ring chooses each packet's backend.
  bool destination_port_only = false;  ///< See SlotRule.
  bool no_source_port = false;         ///< See SlotRule.
  std::vector<BackendSetup> backends;
  std::vector<SourceSetup> sources;
  /// For reports only: no backend passes its checks, so all of them are used.
  bool failed_open = false;

  IpPrefix prefix() const { return {address, host_bits}; }
};

/// Seconds without a packet after which a connection is removed.
struct Timeouts {
  uint32_t tcp_s = 900;
  uint32_t tcp_opening_s = 30;  ///< Only one packet or only SYNs were seen.
  uint32_t tcp_closing_s = 15;  ///< FIN or RST seen.
  uint32_t udp_s = 30;
  uint32_t fragment_s = 30;
};

struct Setup {
  Profile profile = Profile::kSluice;
  uint32_t slots = 0;                     ///< Ring size, prime; 0: the profile's default.
  std::optional<WeightRule> weight_rule;  ///< Default: the profile's.
  /// Path MTU to the backends in bytes of the outer IP packet. Default: see MtuOf.
  std::optional<uint32_t> mtu;
  std::optional<packet::MacAddress> next_hop;  ///< Router towards backends without `mac`.
  /// Outer source addresses. Default: derived from the flow as in Katran (172.16/16, 100::/64).
  std::optional<IpAddress> source_ipv4, source_ipv6;
  uint16_t gue_port = 6080;
  bool decrement_ttl = true;       ///< Decrements the inner TTL as a router does; Katran does not.
  uint32_t connections = 1 << 21;  ///< Flows in each worker's connection table; 0: no table.
  uint32_t fragments = 1 << 14;    ///< Entries of each worker's fragment table.
  /// Maximum number of new connections that each worker records per second; 0: unlimited.
  uint32_t flood_rate = 0;
  Timeouts timeouts;
  /// All balancers, including this one. Fragments are redirected once, to the owner of their
  /// 3-tuple. Empty: this balancer handles all fragments that it receives.
  std::vector<IpAddress> balancers;
  std::optional<IpAddress> own_address;
  std::vector<VipSetup> vips;
};

/// Returns the length in bytes of the longest packet that the balancer forwards. The port must be
/// able to receive packets of this length.
uint32_t LongestPacket(const Setup& setup);
/// Returns the size in bytes of the largest outer IP packet on the path: Setup::mtu if it is set;
/// otherwise 1500 or, in profile kKatran, MaxInnerBytes plus the longest outer header.
uint32_t MtuOf(const Setup& setup);
/// Returns the size in bytes of the longest inner packet, regardless of the outer header: 1500 in
/// profile kKatran, which accepts frames of 1514 bytes; otherwise kMaxMtu.
uint32_t MaxInnerBytes(Profile profile);

/// The part of a setup that contains a fault.
struct Place {
  static constexpr size_t kWhole = SIZE_MAX;
  size_t vip = kWhole;      ///< Index into Setup::vips; kWhole: the setup itself.
  size_t backend = kWhole;  ///< Index into VipSetup::backends; kWhole: the VIP itself.
};

/// A fault that FindFaults found.
struct Fault {
  std::string text;  ///< One line that names VIP and backend.
  Place at;
  Place other;  ///< The earlier of two parts that contradict each other.
};

/// Returns the first `most` faults of a setup with their places.
std::vector<Fault> FindFaults(const Setup& setup, size_t most = SIZE_MAX);

/// Returns one line for each of the first `most` faults. The line names the VIP and the backend.
/// Faults are duplicate or conflicting VIPs, duplicate names, sources without a backend,
/// incompatible families (an IPv6 VIP tunneled over IPv4), slots that are not prime, weights out of
/// range, a missing next hop, exceeded limits. An empty pool and a pool with only weights of 0 are
/// valid: such a VIP drops its packets and counts the drops.
std::vector<std::string> Check(const Setup& setup, size_t most = SIZE_MAX);

/// Returns the settings that differ between `now` and `next` but cannot change while balancers run,
/// because the balancers are built with them. Returns "" if nothing differs.
std::string FixedDifference(const Setup& now, const Setup& next);

inline constexpr uint32_t kMaxVips = 4096;
inline constexpr uint32_t kMaxBackends = 65535;   ///< Sum over all VIPs.
inline constexpr uint32_t kMaxSources = 1 << 18;  ///< Sum over all VIPs.
inline constexpr uint32_t kMaxNameBytes = 255;    ///< Printable ASCII without " and \.
inline constexpr uint32_t kMaxConnections = 1 << 28;
inline constexpr uint32_t kMaxFragments = 1 << 24;
inline constexpr uint32_t kMaxTimeoutSeconds = 32767;
/// Minimum sizes of inner packets, without the outer headers, that the path must carry: every host
/// must accept 576 bytes over IPv4 (RFC 791) and 1280 bytes over IPv6 (RFC 8200). kMinMtu is also
/// the minimum of MtuOf.
inline constexpr uint32_t kMinMtu = 576;
inline constexpr uint32_t kMinIpv6Mtu = 1280;
inline constexpr uint32_t kMaxMtu = 65535;

}  // namespace sluice::engine::maglev
