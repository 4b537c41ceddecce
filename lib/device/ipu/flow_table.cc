// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/flow_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::device::ipu {
namespace {

using namespace regs::ipu;  // NOLINT: the flow registers' names

constexpr uint64_t kEtherAddress = (uint64_t{1} << 48) - 1;
constexpr uint32_t kMatchPorts = kFlowMatchSourcePort | kFlowMatchDestinationPort;

/// Returns a key that contains only the given `fields` of `full`, and the IP version.
FlowKey Select(const FlowKey& full, uint32_t fields) {
  FlowKey key{};
  key.fields = fields;
  key.protocol = full.protocol & (fields & kFlowMatchProtocol ? 0xffffu : 0xff00u);
  if (fields & kFlowMatchSourcePort) key.ports |= full.ports & 0xffff'0000u;
  if (fields & kFlowMatchDestinationPort) key.ports |= full.ports & 0xffffu;
  if (fields & kFlowMatchSource) key.source = full.source;
  if (fields & kFlowMatchDestination) key.destination = full.destination;
  if (fields & kFlowMatchTags) key.shape |= full.shape & kFlowShapeTags;
  if (fields & kFlowMatchVlan) key.shape |= full.shape & kFlowShapeVlan;
  if (fields & kFlowMatchFragment) key.shape |= full.shape & kFlowShapeFragment;
  if (fields & kFlowMatchEtherSource) key.ether_source = full.ether_source & kEtherAddress;
  if (fields & kFlowMatchEtherDestination) {
    key.ether_destination = full.ether_destination & kEtherAddress;
  }
  return key;
}

/// Returns the shape of a frame that has an IP header.
uint32_t ShapeOf(const WireFrame& frame, const Headers& headers) {
  constexpr uint32_t kLinkClass = 0x00f;
  uint32_t shape = 0;
  const uint32_t link = headers.packet_class & kLinkClass;
  if (link == kClassVlan || link == kClassQinq) {
    shape = (frame.data[14] << 8 | frame.data[15]) & kFlowShapeVlan;
    shape |= ((headers.ip_offset - kMinFrameBytes) / 4) << kFlowShapeTagsShift;
  }
  const bool fragment = (headers.packet_class & kClassTransport) == kClassFragment;
  return fragment ? shape | kFlowShapeFragment : shape;
}

FlowKey KeyOf(const WireFrame& frame, const Headers& headers) {
  FlowKey key{};
  const uint8_t* ip = frame.data + headers.ip_offset;
  key.protocol = headers.ip_version << 8 | headers.protocol;
  if (headers.ip_version == 4) {
    std::memcpy(key.source.data(), ip + 12, 4);
    std::memcpy(key.destination.data(), ip + 16, 4);
  } else {
    std::memcpy(key.source.data(), ip + 8, 16);
    std::memcpy(key.destination.data(), ip + 24, 16);
  }
  if (headers.has_ports) {
    uint32_t ports_be;
    std::memcpy(&ports_be, frame.data + headers.l4_offset, 4);
    key.ports = __builtin_bswap32(ports_be);
  }
  key.shape = ShapeOf(frame, headers);
  std::memcpy(&key.ether_destination, frame.data, 6);
  std::memcpy(&key.ether_source, frame.data + 6, 6);
  return key;
}

}  // namespace

size_t FlowTable::KeyHash::operator()(const FlowKey& key) const {
  constexpr uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
  uint64_t words[6] = {0,
                       0,
                       0,
                       0,
                       key.ether_source + (uint64_t{key.shape} << 48),
                       key.ether_destination + (uint64_t{key.shape} << 32)};
  std::memcpy(words, key.source.data(), 16);
  std::memcpy(words + 2, key.destination.data(), 16);
  uint64_t hash = key.ports + (uint64_t{key.fields} << 32) + (uint64_t{key.protocol} << 40);
  for (const uint64_t word : words) hash = std::rotl((hash ^ word) * kOdd, 29);
  return hash ^ hash >> 32;
}

FlowStatus FlowTable::Add(FlowKey key, FlowEntry entry, FlowAge age, uint64_t now_ns) {
  key = Select(key, key.fields);
  if (rules_.contains(key)) return FlowStatus::kExists;
  if (rules_.size() == kMaxFlows) return FlowStatus::kFull;
  FlowEntry& rule = rules_.emplace(key, entry).first->second;
  if (age.patience_ns != 0) ages_.Add(rule.use, age.cookie, age.patience_ns, now_ns);
  const auto same = [&](const Profile& p) { return p.fields == key.fields; };
  if (auto it = std::find_if(profiles_.begin(), profiles_.end(), same); it != profiles_.end()) {
    ++it->rules;
    return FlowStatus::kOk;
  }
  profiles_.push_back({key.fields, 1});
  std::sort(profiles_.begin(), profiles_.end(), [](const Profile& a, const Profile& b) {
    const int a_fields = std::popcount(a.fields);
    const int b_fields = std::popcount(b.fields);
    return a_fields != b_fields ? a_fields > b_fields : a.fields > b.fields;
  });
  return FlowStatus::kOk;
}

FlowStatus FlowTable::Remove(FlowKey key, FlowEntry* removed) {
  key = Select(key, key.fields);
  const auto rule = rules_.find(key);
  if (rule == rules_.end()) return FlowStatus::kAbsent;
  ages_.Remove(rule->second.use);
  *removed = rule->second;
  rules_.erase(rule);
  const auto it = std::find_if(profiles_.begin(), profiles_.end(),
                               [&](const Profile& p) { return p.fields == key.fields; });
  if (--it->rules == 0) profiles_.erase(it);
  return FlowStatus::kOk;
}

FlowEntry* FlowTable::Find(FlowKey key) {
  const auto it = rules_.find(Select(key, key.fields));
  return it == rules_.end() ? nullptr : &it->second;
}

void FlowTable::Clear() {
  ages_.Clear();
  rules_.clear();
  profiles_.clear();
}

FlowEntry* FlowTable::Lookup(const WireFrame& frame, const Headers& headers) {
  if (headers.ip_version == 0) return nullptr;
  const FlowKey full = KeyOf(frame, headers);
  for (const Profile& profile : profiles_) {
    if (profile.fields & kMatchPorts && !headers.has_ports) continue;
    const auto it = rules_.find(Select(full, profile.fields));
    if (it != rules_.end()) return &it->second;
  }
  return nullptr;
}

}  // namespace sluice::device::ipu
