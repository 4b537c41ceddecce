// SPDX-License-Identifier: BSD-3-Clause
#include "nic/transport_unit.h"

#include <rte_errno.h>
#include <rte_memzone.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "net_enso/rte_pmd_enso.h"
#include "net_ipu/rte_pmd_ipu.h"
#include "nic/eth_port.h"

namespace sluice::nic {
namespace {

using regs::transport::Configuration;
using regs::transport::RingsOf;

/// The configuration comes first in the memory, and the rings begin at the next page.
constexpr size_t kRingsOffset = 4096;
static_assert(sizeof(Configuration) <= kRingsOffset);

int Configure(uint16_t port, const void* configuration) {
  if (rte_pmd_enso_supported(port)) return rte_pmd_enso_transport(port, configuration);
  return rte_pmd_ipu_transport(port, configuration);
}

/// Returns a locally administered unicast address, first octet in the lowest byte.
uint64_t RandomMac() {
  std::random_device random;
  return ((uint64_t{random()} << 32 | random()) & 0xffff'ffff'fffc) | 2;
}

int IsActive(uint16_t port) {
  if (rte_pmd_enso_supported(port)) return rte_pmd_enso_transport_active(port);
  return rte_pmd_ipu_transport_active(port);
}

}  // namespace

std::unique_ptr<TransportUnit> TransportUnit::Open(uint16_t port, Configuration configuration,
                                                   std::string* error) {
  const size_t bytes = kRingsOffset + RingsOf(configuration.connections, configuration.ring_bytes);
  const std::string name = "sluice_transport_" + std::to_string(port);
  const rte_memzone* const memory =
      rte_memzone_reserve_aligned(name.c_str(), bytes, SOCKET_ID_ANY, 0, kRingsOffset);
  if (memory == nullptr) {
    *error = "cannot allocate " + std::to_string(bytes >> 20) +
             " MiB for the rings of connections (" + rte_strerror(rte_errno) +
             "): give fewer --tcp_connections or a smaller --tcp_ring";
    return nullptr;
  }
  std::unique_ptr<TransportUnit> unit(new TransportUnit(port, memory));
  configuration.rings = reinterpret_cast<uint64_t>(unit->rings());
  std::memcpy(memory->addr, &configuration, sizeof(configuration));
  switch (unit->Start()) {
    case 0:
      return unit;
    case -ENOTSUP:
      *error = PortText(port) + " has no transport unit; only models of NICs have one: omit " +
               "--tcp_on=nic";
      break;
    case -EINVAL:
      *error = PortText(port) + ": its transport unit rejects the configuration";
      break;
    default:
      *error = PortText(port) + " does not respond";
  }
  return nullptr;
}

TransportUnit::~TransportUnit() {
  Configure(port_, nullptr);
  rte_memzone_free(memory_);
}

int TransportUnit::Start() {
  const uint64_t mac = RandomMac();
  // First, so that workers know the unit's address before it opens connections.
  unit_mac_.store(mac, std::memory_order_release);
  Configuration configuration;
  std::memcpy(&configuration, memory_->addr, sizeof(configuration));
  std::memcpy(configuration.unit_mac.data(), &mac, configuration.unit_mac.size());
  std::memcpy(memory_->addr, &configuration, sizeof(configuration));
  return Configure(port_, memory_->addr);
}

void TransportUnit::Watch() {
  const int active = IsActive(port_);
  if (active == 0) {
    Start();
  } else if (active < 0 && !gone_) {
    // Workers end the connections now.
    unit_mac_.store(RandomMac(), std::memory_order_release);
  }
  gone_ = active < 0;
}

uint8_t* TransportUnit::rings() const {
  return static_cast<uint8_t*>(memory_->addr) + kRingsOffset;
}

}  // namespace sluice::nic
