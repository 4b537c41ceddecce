// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/gate.h"

#include <algorithm>
#include <bit>

#include "packet/host_address.h"

namespace sluice::engine::kv {

static_assert(std::endian::native == std::endian::little,
              "the gate assumes little-endian byte order in loaded words");

Gate::Gate(const GateOptions& options) : options_(options), mac_(0) {
  std::copy(options.own.mac().begin(), options.own.mac().end(), reinterpret_cast<uint8_t*>(&mac_));
  // Prevents the empty entry 0 from matching source 0.0.0.0 and destination 0.0.0.0. All ones can
  // never match in entry 0, because a source of all ones belongs to entry 255.
  known_[0] = ~uint64_t{0};
  Close(0);
}

void Gate::Close(uint32_t port) {
  const uint32_t bit = __builtin_bswap16(static_cast<uint16_t>(port));
  closed_[bit / 64] |= uint64_t{1} << bit % 64;
}

template <typename Address>
Refusal Gate::CheckIp(const Address& from, const Address& to) const {
  const packet::OwnAddresses& own = options_.own;
  const bool ours = own.empty() ? packet::IsHost(to) : own.Owns(to);
  if (!ours && !options_.any_destination) return Refusal::kNotOurs;
  return packet::IsHost(from) && from != to && !own.Owns(from) ? Refusal::kNone
                                                               : Refusal::kBadSource;
}

Refusal Gate::CheckAll(const uint8_t* frame, const packet::Datagram& datagram) {
  const Refusal refusal = CheckAddresses(frame, datagram);
  if (refusal != Refusal::kNone) return refusal;
  if (IsClosed(frame + datagram.l4())) return Refusal::kBadPort;
  if (datagram.payload == packet::Datagram::kPlainPayload) {
    const uint8_t* const addresses = frame + kPlainSource;
    known_[addresses[3]] = packet::Load<uint64_t>(addresses);
  }
  return refusal;
}

Refusal Gate::CheckAddresses(const uint8_t* frame, const packet::Datagram& datagram) {
  using packet::Ipv4Address;
  using packet::Ipv6Address;
  if (!options_.any_destination && !options_.own.IsOurMac(frame)) return Refusal::kNotOurs;
  if (!packet::IsHostMac(frame + 6)) return Refusal::kBadSource;
  const uint8_t* const ip = frame + datagram.l3;
  if (datagram.ipv6) {
    return CheckIp(packet::Load<Ipv6Address>(ip + 8), packet::Load<Ipv6Address>(ip + 24));
  }
  return CheckIp(packet::Load<Ipv4Address>(ip + 12), packet::Load<Ipv4Address>(ip + 16));
}

}  // namespace sluice::engine::kv
