// SPDX-License-Identifier: BSD-3-Clause
//
// What an operator says: VIPs, their backends and how to reach them. Plain data, made by the
// application from its configuration file and by tests by hand; tables.h compiles it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/maglev/address.h"
#include "engine/maglev/profile.h"
#include "packet/rewrite.h"

namespace sluice::engine::maglev {

/// How a packet travels to its backend.
enum class Encapsulation : uint8_t {
  kIp,   ///< In IP: IPv4 in IPv4 (RFC 2003), or IPv4 or IPv6 in IPv6 (RFC 2473).
  kGue,  ///< In UDP, variant 1: the inner IP header directly behind UDP (RFC draft, Katran).
  kGre,  ///< In GRE without options (RFC 2784).
  kNat,  ///< Not at all: the destination is rewritten, and answers are rewritten back.
  kMac,  ///< Not at all: the next hop is the backend itself, which serves the VIP's address.
};
/// All of them by name: of configurations and reports.
inline constexpr std::array<std::pair<std::string_view, Encapsulation>, 5> kEncapsulations{
    {{"ip", Encapsulation::kIp},
     {"gue", Encapsulation::kGue},
     {"gre", Encapsulation::kGre},
     {"nat", Encapsulation::kNat},
     {"mac", Encapsulation::kMac}}};
static_assert(
    [] {
      for (size_t i = 0; i < kEncapsulations.size(); ++i) {
        if (static_cast<size_t>(kEncapsulations[i].second) != i) return false;
      }
      return true;
    }(),
    "in the order of their values");
constexpr std::string_view EncapsulationName(Encapsulation encapsulation) {
  return kEncapsulations[static_cast<size_t>(encapsulation)].first;
}
/// Whether packets keep their length and stay where they are: fields are rewritten, nothing is
/// put in front.
constexpr bool RewritesInPlace(Encapsulation encapsulation) {
  return encapsulation == Encapsulation::kNat || encapsulation == Encapsulation::kMac;
}

enum class BackendState : uint8_t {
  kUp,
  kDraining,  ///< Gets no new flows; flows that it has stay until they are idle.
  kDown,      ///< Gets nothing; its flows move at once.
};
/// "up", "draining" or "down".
std::string_view StateName(BackendState state);

struct BackendSetup {
  std::string name;  ///< Unique in its VIP; what the ring hashes.
  IpAddress address;
  uint16_t port = 0;    ///< kNat: rewrites the port; 0: keeps it. Host order.
  uint32_t weight = 1;  ///< 0 … 65535; 0 is drained.
  BackendState state = BackendState::kUp;
  std::optional<packet::MacAddress> mac;  ///< Next hop; else Setup::next_hop. kMac: its own.
  std::vector<uint32_t> quic_ids;         ///< Server ids in QUIC connection ids; none is 0.
};

/// New flows from `prefix` go to `backend` as long as it takes new flows, whatever its weight.
struct SourceSetup {
  IpPrefix prefix;      ///< Of the VIP's family. The longest that has a source counts.
  std::string backend;  ///< Of the VIP, by name.

  friend bool operator==(const SourceSetup&, const SourceSetup&) = default;
};

struct VipSetup {
  std::string name;  ///< Unique.
  IpAddress address;
  uint8_t host_bits = 0;  ///< The VIP is the prefix without so many bits; 0: one address.
  uint16_t port = 0;      ///< Host order; 0: any.
  uint8_t protocol = 6;   ///< TCP or UDP.
  Encapsulation encapsulation = Encapsulation::kIp;
  bool quic = false;        ///< UDP: connection ids choose the backend (docs/maglev-peers.md).
  bool connections = true;  ///< False: every packet by the ring.
  bool destination_port_only = false;  ///< As SlotRule.
  bool no_source_port = false;         ///< As SlotRule.
  std::vector<BackendSetup> backends;
  std::vector<SourceSetup> sources;
  /// For reports alone: no backend passes its checks, and all are used all the same.
  bool failed_open = false;

  IpPrefix prefix() const { return {address, host_bits}; }
};

/// Seconds without a packet after which a connection is forgotten.
struct Timeouts {
  uint32_t tcp_s = 900;
  uint32_t tcp_opening_s = 30;  ///< One packet seen, or SYNs alone.
  uint32_t tcp_closing_s = 15;  ///< FIN or RST seen.
  uint32_t udp_s = 30;
  uint32_t fragment_s = 30;
};

struct Setup {
  Profile profile = Profile::kSluice;
  uint32_t slots = 0;                     ///< Prime; 0: the profile's.
  std::optional<WeightRule> weight_rule;  ///< Else the profile's.
  /// Of the path to the backends: bytes of the outer IP packet; not set: see MtuOf.
  std::optional<uint32_t> mtu;
  std::optional<packet::MacAddress> next_hop;  ///< Router towards backends without `mac`.
  /// Outer source addresses; not set: as Katran makes them, from the flow (172.16/16, 100::/8).
  std::optional<IpAddress> source_ipv4, source_ipv6;
  uint16_t gue_port = 6080;
  bool decrement_ttl = true;       ///< Of the inner packet, as a router does; Katran does not.
  uint32_t connections = 1 << 21;  ///< Of each worker's table, 16 bytes each; 0: none.
  uint32_t fragments = 1 << 14;    ///< Of each worker's first-fragment table.
  /// New connections a second and worker above which none is recorded; 0: never.
  uint32_t flood_rate = 0;
  Timeouts timeouts;
  /// All balancers, this one among them: fragments are redirected once, to the owner of
  /// their 3-tuple. Empty: this one handles all that it sees.
  std::vector<IpAddress> balancers;
  std::optional<IpAddress> own_address;
  std::vector<VipSetup> vips;
};

/// Bytes of the longest packet that the balancer sends on: what its port must receive.
uint32_t LongestPacket(const Setup& setup);
/// Bytes of the outer IP packet that the path carries: Setup::mtu, else 1500; of kKatran
/// MaxInnerBytes and the longest outer header.
uint32_t MtuOf(const Setup& setup);
/// Bytes of the longest inner packet, whatever the outer header: 1500 in kKatran, which takes
/// frames of 1514 bytes; else kMaxMtu.
uint32_t MaxInnerBytes(Profile profile);

/// Where in a setup something is wrong.
struct Place {
  static constexpr size_t kWhole = SIZE_MAX;
  size_t vip = kWhole;      ///< Index into Setup::vips; kWhole: the setup itself.
  size_t backend = kWhole;  ///< Index into VipSetup::backends; kWhole: the VIP itself.
};

/// Something that Check finds wrong.
struct Fault {
  std::string text;  ///< One line, which names VIP and backend.
  Place at;
  Place other;  ///< If two parts of the setup contradict each other: the one that comes first.
};

/// All that Check finds, with its places.
std::vector<Fault> FindFaults(const Setup& setup, size_t most = SIZE_MAX);

/// What is wrong, the first `most` of it, a line each, naming the VIP and backend: duplicate or
/// conflicting VIPs, names twice, sources without a backend, families that cannot meet (an IPv6
/// VIP in IPv4), slots that are not prime, weights out of range, no next hop, limits. An empty pool
/// and a pool whose weights are all 0 are no errors: such a VIP drops under a counter.
std::vector<std::string> Check(const Setup& setup, size_t most = SIZE_MAX);

/// Settings that differ and cannot change while balancers work, as they are built with them; "" if
/// there are none.
std::string FixedDifference(const Setup& now, const Setup& next);

/// Limits.
inline constexpr uint32_t kMaxVips = 4096;
inline constexpr uint32_t kMaxBackends = 65535;   ///< Of all VIPs together.
inline constexpr uint32_t kMaxSources = 1 << 18;  ///< Of all VIPs together.
inline constexpr uint32_t kMaxNameBytes = 255;    ///< Printable ASCII without " and \.
inline constexpr uint32_t kMaxConnections = 1 << 28;
inline constexpr uint32_t kMaxFragments = 1 << 24;
inline constexpr uint32_t kMaxTimeoutSeconds = 32767;
/// The path must carry what every host must accept: RFC 791's 576 bytes, RFC 8200's 1280, of
/// the inner packet of an IPv6 VIP without the outer headers.
inline constexpr uint32_t kMinMtu = 576;
inline constexpr uint32_t kMinIpv6Mtu = 1280;
inline constexpr uint32_t kMaxMtu = 65535;

}  // namespace sluice::engine::maglev
