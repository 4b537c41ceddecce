// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/flow_tags.h"

#include "packet/bytes.h"

namespace sluice::engine::maglev {
namespace {

// Derives the second key from the seed: splitmix64.
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

}  // namespace

FlowTags::FlowTags(uint64_t seed) : seed_(Mix(seed)), key_(Mix(seed_) | 1) {}

uint64_t FlowTags::Of(const packet::FlowKey& flow) const {
  const uint32_t ports = uint32_t{__builtin_bswap16(flow.destination_port)} << 16 |
                         __builtin_bswap16(flow.source_port);
  const auto source = packet::Load<uint64_t>(flow.source.data());
  const auto destination = packet::Load<uint64_t>(flow.destination.data());
  if (flow.ip_version == 4) {
    return Of(destination << 32 | static_cast<uint32_t>(source), ports, flow.protocol);
  }
  const uint64_t ends =
      packet::FoldProduct(packet::Load<uint64_t>(flow.source.data() + 8) ^ seed_,
                          packet::Load<uint64_t>(flow.destination.data() + 8) ^ key_);
  return Of(packet::FoldProduct(source ^ seed_, destination ^ key_) ^ ends, ports,
            flow.protocol | 0x80);
}

}  // namespace sluice::engine::maglev
