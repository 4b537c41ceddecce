// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/host_mappings.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <iterator>
#include <utility>

namespace sluice::emulator {
namespace {

/// The largest page that memory of a host may consist of: areas keep their offset in it.
constexpr uint64_t kGranule = uint64_t{1} << 30;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t{2} << 20;
/// No process has addresses beyond it.
constexpr uint64_t kMaxBus = uint64_t{1} << 57;

bool IsRange(uint64_t bus, uint64_t bytes) {
  return bytes != 0 && bus % kPage == 0 && bytes % kPage == 0 && bus < kMaxBus && bytes < kMaxBus;
}

bool IsFileOf(int file, uint64_t offset, uint64_t bytes) {
  struct stat info {};
  struct statfs system {};
  if (fstat(file, &info) != 0 || fstatfs(file, &system) != 0) return false;
  // The kernel rounds a mapping of huge pages up, over whatever lies behind it.
  const uint64_t page =
      system.f_type == HUGETLBFS_MAGIC ? static_cast<uint64_t>(system.f_bsize) : kPage;
  return S_ISREG(info.st_mode) && offset % page == 0 && bytes % page == 0 && info.st_size >= 0 && offset <= static_cast<uint64_t>(info.st_size) &&
         bytes <= static_cast<uint64_t>(info.st_size) - offset;
}

void* Reserve(uint64_t bytes) {
  return mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/// Zeroes in place of what was mapped, for a device that was not told to stop.
void Blank(uint8_t* host, uint64_t bytes) {
  mmap(host, bytes, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool MapFile(uint8_t* host, uint64_t bytes, int file, uint64_t offset) {
  return mmap(host, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
              static_cast<off_t>(offset)) != MAP_FAILED;
}

}  // namespace

HostMappings::~HostMappings() {
  for (auto& [bus, area] : areas_) munmap(area.reserved, area.reserved_bytes);
  for (auto& [bus, ring] : rings_) munmap(ring.host, ring.bytes);
  for (auto& [bytes, host] : retired_) munmap(host, bytes);
}

HostMappings::Area* HostMappings::FindArea(uint64_t bus, uint64_t bytes) {
  auto area = areas_.upper_bound(bus);
  if (area == areas_.begin()) return nullptr;
  --area;
  const uint64_t offset = bus - area->first;
  const uint64_t size = area->second.bytes;
  return offset < size && bytes <= size - offset ? &area->second : nullptr;
}

const char* HostMappings::ReserveArea(const Piece& piece) {
  const uint64_t begin = piece.area_bus;
  const auto next = areas_.lower_bound(begin);
  if (next != areas_.end() && next->first < begin + piece.area_bytes) return "areas overlap";
  if (next != areas_.begin()) {
    const auto& [before, area] = *std::prev(next);
    if (before + area.bytes > begin) return "areas overlap";
  }
  if (areas_.size() >= kMaxAreas) return "too many areas of memory";
  const size_t reserved_bytes = piece.area_bytes + kGranule;
  void* const reserved = Reserve(reserved_bytes);
  if (reserved == MAP_FAILED) return "no address space for the host's memory";
  const auto first = reinterpret_cast<uint64_t>(reserved);
  const uint64_t host = first + (begin - first) % kGranule;
  GuardedRange guard(reserved, reserved_bytes);
  if (!guard) {
    munmap(reserved, reserved_bytes);
    return "too many areas of memory";
  }
  areas_.try_emplace(begin, Area{piece.area_bytes, reserved, reserved_bytes, std::move(guard),
                                 MergedRanges(dma_, host - begin)});
  return nullptr;
}

const char* HostMappings::AddMemory(const Piece& piece, int file) {
  if (!IsRange(piece.bus, piece.bytes) || !IsRange(piece.area_bus, piece.area_bytes) ||
      piece.area_bytes > kMaxAreaBytes || piece.bus < piece.area_bus ||
      piece.bytes > piece.area_bytes ||
      piece.bus - piece.area_bus > piece.area_bytes - piece.bytes) {
    return "memory lies outside its area";
  }
  if (!IsFileOf(file, piece.offset, piece.bytes)) return "the file of memory is shorter than it";
  Area* area = FindArea(piece.bus, piece.bytes);
  if (area == nullptr) {
    if (const char* const wrong = ReserveArea(piece)) return wrong;
    area = FindArea(piece.bus, piece.bytes);
  }
  uint8_t* const host = reinterpret_cast<uint8_t*>(piece.bus + area->ranges.distance());
  if (!MapFile(host, piece.bytes, file, piece.offset)) return "memory cannot be mapped";
  return area->ranges.Insert(piece.bus, piece.bus + piece.bytes)
             ? nullptr
             : "memory is in too many pieces; start with larger hugepages, or with --legacy-mem";
}

const char* HostMappings::RemoveMemory(uint64_t bus, uint64_t bytes) {
  if (!IsRange(bus, bytes)) return "no such memory";
  Area* const area = FindArea(bus, bytes);
  if (area == nullptr) return "no such memory";
  area->ranges.Erase(bus, bus + bytes);
  Blank(reinterpret_cast<uint8_t*>(bus + area->ranges.distance()), bytes);
  return nullptr;
}

const char* HostMappings::AddRing(uint64_t bus, uint64_t bytes, int file) {
  if (!IsRange(bus, bytes) || bytes > kMaxRingBytes) return "a ring has no such size";
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || !IsFileOf(file, 0, bytes)) {
    return "a ring's file is shorter than it, or may become so";
  }
  uint8_t* host = nullptr;
  if (const auto former = retired_.find(bytes); former != retired_.end()) {
    host = former->second;
    retired_.erase(former);
  } else {
    const size_t reserved_bytes = bytes + kHugePage;
    void* const reserved = Reserve(reserved_bytes);
    if (reserved == MAP_FAILED) return "no address space for a ring";
    const auto first = reinterpret_cast<uint64_t>(reserved);
    const uint64_t aligned = (first + kHugePage - 1) & ~(kHugePage - 1);
    host = reinterpret_cast<uint8_t*>(aligned);
    if (aligned != first) munmap(reserved, aligned - first);
    munmap(host + bytes, first + reserved_bytes - (aligned + bytes));
  }
  if (!MapFile(host, bytes, file, 0)) {
    retired_.emplace(bytes, host);
    return "a ring cannot be mapped";
  }
  if (!dma_.Add(bus, host, bytes)) {
    Blank(host, bytes);
    retired_.emplace(bytes, host);
    return "a ring overlaps other memory, or there are too many";
  }
  rings_[bus] = {host, bytes};
  return nullptr;
}

const char* HostMappings::RemoveRing(uint64_t bus) {
  const auto ring = rings_.find(bus);
  if (ring == rings_.end()) return "no such ring";
  const Ring old = ring->second;
  rings_.erase(ring);
  dma_.Remove(bus);
  Blank(old.host, old.bytes);
  retired_.emplace(old.bytes, old.host);
  return nullptr;
}

}  // namespace sluice::emulator
