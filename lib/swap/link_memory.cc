// SPDX-License-Identifier: BSD-3-Clause
#include "swap/link_memory.h"

#include <atomic>
#include <bit>

#include "bar/load_once.h"

namespace sluice::swap {

LinkMemory LinkMemory::Format(std::span<uint8_t> memory, const Geometry& geometry) {
  LinkMemory link;
  link.header_ = reinterpret_cast<LinkHeader*>(memory.data());
  link.geometry_ = geometry;
  link.header_->geometry = geometry;
  link.header_->owners = 1;
  std::atomic_ref(link.header_->magic).store(kLinkMagic, std::memory_order_release);
  return link;
}

namespace {

Geometry LoadGeometry(const Geometry& shared) {
  return {bar::LoadOnce(shared.regions), bar::LoadOnce(shared.region_bytes),
          bar::LoadOnce(shared.max_frames), bar::LoadOnce(shared.headroom_bytes)};
}

}  // namespace

LinkMemory LinkMemory::Find(std::span<uint8_t> memory) {
  LinkMemory link;
  constexpr uintptr_t kAlignment = alignof(LinkHeader);
  if (memory.size() < kRegionsOffset) return link;
  if (reinterpret_cast<uintptr_t>(memory.data()) % kAlignment != 0) return link;
  auto* const header = reinterpret_cast<LinkHeader*>(memory.data());
  if (std::atomic_ref(header->magic).load(std::memory_order_acquire) != kLinkMagic) return link;
  const Geometry geometry = LoadGeometry(header->geometry);
  if (geometry.Error() != nullptr || BytesFor(geometry) > memory.size()) return link;
  link.header_ = header;
  link.geometry_ = geometry;
  return link;
}

uint64_t LinkMemory::RecordedOwners() const {
  return std::atomic_ref(header_->owners).load(std::memory_order_acquire);
}

void LinkMemory::RecordOwners(uint64_t owners) {
  std::atomic_ref(header_->owners).store(owners, std::memory_order_release);
}

uint64_t LinkMemory::Owners() const {
  bar::Line line;
  bar::ReadLine(header_->host_line, line);
  const Message host = Decode(line);
  bar::ReadLine(header_->nic_line, line);
  const Message nic = Decode(line);
  // The owners word is read after the host's line, because the host posts its next line only after
  // it has recorded the previous outcome.
  const uint64_t owners = RecordedOwners();
  return OwnersAfter(owners, host, nic, geometry_);
}

}  // namespace sluice::swap
