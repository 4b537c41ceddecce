// SPDX-License-Identifier: BSD-3-Clause
//
// Key and placement of an entry in the Ensō NIC's flow table. The model of the NIC and the driver's
// mirror of the table share these hardware properties.
#pragma once

#include <cstdint>

#include "regs/enso.h"

namespace sluice::regs::enso {

/// The fields that the NIC compares, in host order. The protocol is not compared.
struct FlowKey {
  uint32_t dst_ip = 0;
  uint32_t src_ip = 0;
  uint16_t dst_port = 0;
  uint16_t src_port = 0;

  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

/// Returns the 32-bit hash for sub-table `index` (0 … 3). The low 11 bits are the row. The hash is
/// the final mix of Bob Jenkins' lookup3 (2006, public domain) over three words. `ports` contains
/// the source port in its high half and the destination port in its low half. `Word` is uint32_t or
/// a vector of them.
template <typename Word>
constexpr Word FlowHash(Word dst_ip, Word src_ip, Word ports, uint32_t index) {
  const auto rotl = [](Word word, int bits) { return word << bits | word >> (32 - bits); };
  const uint32_t seed = kHashSeed + index;
  Word a = (dst_ip << 16 | (ports & 0xffffu)) + seed;
  Word b = ((ports & 0xffff'0000u) | dst_ip >> 16) + seed;
  Word c = src_ip + seed;
  c = (c ^ b) - rotl(b, 14);
  a = (a ^ c) - rotl(c, 11);
  b = (b ^ a) - rotl(a, 25);
  c = (c ^ b) - rotl(b, 16);
  a = (a ^ c) - rotl(c, 4);
  b = (b ^ a) - rotl(a, 14);
  c = (c ^ b) - rotl(b, 24);
  return c;
}

constexpr uint32_t FlowHash(const FlowKey& key, uint32_t index) {
  return FlowHash(key.dst_ip, key.src_ip, uint32_t{key.src_port} << 16 | key.dst_port, index);
}

/// Returns the row of `key` in sub-table `index`.
constexpr uint32_t FlowRow(const FlowKey& key, uint32_t index) {
  return FlowHash(key, index) % kSubTableRows;
}

}  // namespace sluice::regs::enso
