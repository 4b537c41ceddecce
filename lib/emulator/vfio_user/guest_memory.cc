// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/guest_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace sluice::emulator::vfio_user {
namespace {

constexpr const char* kNoRange = "no mapping has this address and size";

uint64_t AreaOf(uint64_t address) { return address / GuestMemory::kAreaBytes; }
uint64_t AreaEnd(uint64_t address) { return (AreaOf(address) + 1) * GuestMemory::kAreaBytes; }

}  // namespace

bool GuestMemory::Overlaps(uint64_t begin, uint64_t end) const {
  const auto above = maps_.lower_bound(end);
  if (above == maps_.begin()) return false;
  const auto& [address, entry] = *std::prev(above);
  return address + entry.bytes > begin;
}

const char* GuestMemory::Map(const DmaMap& map, const base::OwnedFd& file) {
  if (!HostMappings::IsRange(map.address, map.bytes)) return kNoRange;
  if (Overlaps(map.address, map.address + map.bytes)) return "maps overlap";
  if (maps_.size() >= kMaxMaps) return "too many mappings";
  constexpr uint32_t kBoth = kDmaReadable | kDmaWritable;
  const bool reachable = (map.flags & kBoth) == kBoth;
  if (reachable && file) {
    if (const char* const wrong = Reach(map, file, false)) {
      Withdraw(map.address, map.address + map.bytes);
      return wrong;
    }
  } else if (reachable) {
    if (!copies_) {
      copies_ = base::OwnedFd(memfd_create("sluice-guest", MFD_CLOEXEC | MFD_ALLOW_SEALING));
      if (ftruncate(copies_.fd(), static_cast<off_t>(HostMappings::kMaxBus)) != 0) {
        copies_ = base::OwnedFd();
        return "no file can be created for mappings without one";
      }
    }
    DmaMap copy = map;
    copy.offset = map.address;
    if (const char* const wrong = Reach(copy, copies_, true)) {
      Withdraw(map.address, map.address + map.bytes);
      return wrong;
    }
    AddCopies(map);
  }
  maps_[map.address] = {map.bytes, reachable, reachable && !file};
  return nullptr;
}

void GuestMemory::AddCopies(const DmaMap& map) {
  const uint64_t end = map.address + map.bytes;
  for (uint64_t at = map.address; at < end; at = AreaEnd(at)) {
    messages_.Add(dma_.Translate(at, 1), at, std::min(end, AreaEnd(at)) - at);
  }
  dma_.SetRemote(&messages_);
}

void GuestMemory::ForgetCopies() {
  messages_.Forget();
  messages_.GivenBack();
  if (copies_) {
    fallocate(copies_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              static_cast<off_t>(HostMappings::kMaxBus));
  }
}

const char* GuestMemory::Reach(const DmaMap& map, const base::OwnedFd& file, bool stand_in) {
  const uint64_t end = map.address + map.bytes;
  for (uint64_t at = map.address; at < end; at = AreaEnd(at)) {
    const uint64_t area = AreaOf(at);
    if (!areas_.contains(area) && areas_.size() >= kMaxAreas)
      return "the addresses of mappings are too far apart";
    areas_.insert(area);
    const HostMappings::Piece piece = {.bus = at,
                                       .bytes = std::min(end, AreaEnd(at)) - at,
                                       .offset = map.offset + (at - map.address),
                                       .area_bus = area * kAreaBytes,
                                       .area_bytes = kAreaBytes,
                                       .stand_in = stand_in};
    if (const char* const wrong = mappings_.AddMemory(piece, file.fd())) return wrong;
  }
  return nullptr;
}

void GuestMemory::Withdraw(uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end; at = AreaEnd(at)) {
    if (!areas_.contains(AreaOf(at))) return;
    mappings_.RemoveMemory(at, std::min(end, AreaEnd(at)) - at);
  }
}

const char* GuestMemory::WhyNotUnmap(const DmaUnmap& unmap) const {
  if ((unmap.flags & kUnmapAll) != 0) {
    return unmap.address == 0 && unmap.bytes == 0
               ? nullptr
               : "a request to unmap all mappings must have address 0 and size 0";
  }
  if (!HostMappings::IsRange(unmap.address, unmap.bytes)) return kNoRange;
  const uint64_t end = unmap.address + unmap.bytes;
  const auto cuts = [this](uint64_t at) {
    const auto next = maps_.lower_bound(at);
    if (next == maps_.begin()) return false;
    const auto& [address, entry] = *std::prev(next);
    return address + entry.bytes > at;
  };
  return cuts(unmap.address) || cuts(end) ? "a part of a mapping cannot be unmapped" : nullptr;
}

void GuestMemory::Unmap(const DmaUnmap& unmap) {
  const bool all = (unmap.flags & kUnmapAll) != 0;
  const auto first = all ? maps_.begin() : maps_.lower_bound(unmap.address);
  const auto last = all ? maps_.end() : maps_.lower_bound(unmap.address + unmap.bytes);
  for (auto map = first; map != last; ++map) {
    const auto& [address, entry] = *map;
    const uint64_t end = address + entry.bytes;
    for (uint64_t at = address; entry.copied && at < end; at = AreaEnd(at)) {
      messages_.Remove(dma_.Translate(at, 1));
      fallocate(copies_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                static_cast<off_t>(std::min(end, AreaEnd(at)) - at));
    }
    if (entry.reachable) Withdraw(address, end);
  }
  maps_.erase(first, last);
  mappings_.ForgetFormer();
  if (messages_.empty()) dma_.SetRemote(nullptr);
}

}  // namespace sluice::emulator::vfio_user
