// SPDX-License-Identifier: BSD-3-Clause
#include "packet/fragmenter.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "packet/bytes.h"
#include "packet/checksum.h"

namespace sluice::packet {
namespace {

constexpr uint32_t kLeastIpv4Mtu = 68;
constexpr uint32_t kMostIpv4HeaderBytes = 60;
constexpr uint32_t kFragmentHeaderBytes = 8;
constexpr uint8_t kFragmentHeader = 44;
constexpr uint16_t kMoreFragments = 0x2000;

/// Returns the identification of the next datagram. Identifications of datagrams between the same
/// hosts must differ (RFC 6864 section 4.3), so all threads share one counter.
uint32_t NextIdentification() {
  static std::atomic<uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Fragmenter::Fragmenter(uint32_t mtu)
    : mtu_(std::clamp(mtu, kLeastIpv4Mtu, kUnlimited)), piece_(kLongestDatagramFrame) {}

Fragmenter::Plan Fragmenter::Begin(const uint8_t* frame, uint32_t length, uint32_t l3) {
  const uint8_t* const ip = frame + l3;
  Plan plan{};
  plan.l3 = l3;
  plan.ipv6 = ip[0] >> 4 == 6;
  const uint32_t ip_bytes = plan.ipv6 ? kIpv6HeaderBytes : (ip[0] & 0xf) * 4u;
  plan.headers = l3 + ip_bytes + (plan.ipv6 ? kFragmentHeaderBytes : 0);
  plan.payload = ip + ip_bytes;
  plan.payload_bytes = length - l3 - ip_bytes;
  // Every IPv6 link must support packets of 1280 bytes.
  const uint32_t mtu = plan.ipv6 ? std::max(mtu_, kLeastMtu) : mtu_;
  plan.step = (mtu - (plan.headers - l3)) & ~7u;
  static_assert(kLeastIpv4Mtu >= kMostIpv4HeaderBytes + 8);
  uint8_t* const made = piece_.data();
  std::memcpy(made, frame, l3 + ip_bytes);
  const uint32_t identification = NextIdentification();
  if (plan.ipv6) {
    uint8_t* const extension = made + l3 + ip_bytes;
    extension[0] = std::exchange(made[l3 + 6], kFragmentHeader);
    extension[1] = 0;
    StoreBe32(extension + 4, identification);
  } else {
    StoreBe16(made + l3 + 4, static_cast<uint16_t>(identification));
  }
  return plan;
}

uint32_t Fragmenter::Write(const Plan& plan, uint32_t offset) {
  const uint32_t bytes = std::min(plan.step, plan.payload_bytes - offset);
  const bool more = offset + bytes < plan.payload_bytes;
  uint8_t* const ip = piece_.data() + plan.l3;
  const uint32_t ip_bytes = plan.headers - plan.l3;
  if (plan.ipv6) {
    StoreBe16(ip + 4, static_cast<uint16_t>(kFragmentHeaderBytes + bytes));
    StoreBe16(ip + kIpv6HeaderBytes + 2, static_cast<uint16_t>(offset | (more ? 1 : 0)));
  } else {
    StoreBe16(ip + 2, static_cast<uint16_t>(ip_bytes + bytes));
    StoreBe16(ip + 6, static_cast<uint16_t>(offset / 8 | (more ? kMoreFragments : 0)));
    Store<uint16_t>(ip + 10, 0);
    Store(ip + 10, FinishChecksum(SumBytes(ip, ip_bytes)));
  }
  std::memcpy(piece_.data() + plan.headers, plan.payload + offset, bytes);
  return plan.headers + bytes;
}

}  // namespace sluice::packet
