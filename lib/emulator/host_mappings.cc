// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/host_mappings.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <iterator>
#include <new>
#include <utility>

namespace sluice::emulator {
namespace {

/// The largest page size that host memory can have. Areas keep their offset within a page of this
/// size.
constexpr uint64_t kGranule = uint64_t{1} << 30;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t{2} << 20;

constexpr const char* kTooManyPieces =
    "memory has too many segments; use larger hugepages or --legacy-mem";

/// Returns whether the range is valid for a ring. Bus address 0 means "none" in messages.
bool IsRingRange(uint64_t bus, uint64_t bytes) {
  return bus != 0 && HostMappings::IsRange(bus, bytes) && bytes <= HostMappings::kMaxRingBytes;
}

/// Returns null and sets `*page` to the file's page size if the file has all of `seals` and
/// contains `bytes` bytes at `offset`; both values must be multiples of kPage. Otherwise returns
/// the reason.
const char* WhyNoPart(int file, uint64_t offset, uint64_t bytes, int seals, uint64_t* page) {
  // Only memory files support seals, so this check avoids waiting for a file system.
  const int sealed = fcntl(file, F_GET_SEALS);
  if (sealed < 0) return "the memory's file is on a disk: use hugepages or a memfd";
  if ((sealed & seals) != seals)
    return "the file of a ring may be truncated: seal it with F_SEAL_SHRINK";
  struct stat info {};
  struct statfs system {};
  if (fstat(file, &info) != 0 || fstatfs(file, &system) != 0) return "the file cannot be examined";
  if ((offset | bytes) % kPage != 0) return "memory is not page-aligned";
  *page = system.f_type == HUGETLBFS_MAGIC ? static_cast<uint64_t>(system.f_bsize) : kPage;
  const auto size = static_cast<uint64_t>(info.st_size);
  const bool inside =
      S_ISREG(info.st_mode) && info.st_size >= 0 && offset <= size && bytes <= size - offset;
  return inside ? nullptr : "the memory's file is shorter than the memory";
}

uint64_t AlignedDown(uint64_t value, uint64_t unit) { return value / unit * unit; }
uint64_t Aligned(uint64_t value, uint64_t unit) { return AlignedDown(value + unit - 1, unit); }

}  // namespace

ReservedSpace::ReservedSpace(size_t bytes) {
  void* const area =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) return;
  begin_ = static_cast<uint8_t*>(area);
  bytes_ = bytes;
}

ReservedSpace::ReservedSpace(ReservedSpace&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

ReservedSpace::~ReservedSpace() {
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

bool ReservedSpace::MapFile(uint8_t* at, size_t bytes, int file, uint64_t offset) {
  // Maps at another address first, because a failed mapping over an existing one may remove the
  // existing mapping.
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  const auto position = static_cast<off_t>(offset);
  void* const aside = mmap(nullptr, bytes, kAccess, MAP_SHARED, file, position);
  if (aside == MAP_FAILED) return false;
  if (mremap(aside, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED) return true;
  // Linux before 5.16 cannot move huge pages. `aside` keeps them allocated for this mapping.
  const bool mapped =
      mmap(at, bytes, kAccess, MAP_SHARED | MAP_FIXED, file, position) != MAP_FAILED;
  munmap(aside, bytes);
  if (!mapped) Blank(at, bytes);
  return mapped;
}

void ReservedSpace::Blank(uint8_t* at, size_t bytes) { Cover(at, bytes, PROT_READ | PROT_WRITE); }

void ReservedSpace::Vacate(uint8_t* at, size_t bytes) { Cover(at, bytes, PROT_NONE); }

void ReservedSpace::Cover(uint8_t* at, size_t bytes, int access) {
  if (mmap(at, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    throw std::bad_alloc();
  }
}

bool HostMappings::IsRange(uint64_t bus, uint64_t bytes) {
  return bytes != 0 && bus % kPage == 0 && bytes % kPage == 0 && bus < kMaxBus &&
         bytes <= kMaxBus - bus;
}

HostMappings::Area* HostMappings::FindArea(uint64_t bus, uint64_t bytes) {
  auto area = areas_.upper_bound(bus);
  if (area == areas_.begin()) return nullptr;
  --area;
  const uint64_t offset = bus - area->first;
  const uint64_t size = area->second.bytes;
  return offset < size && bytes <= size - offset ? &area->second : nullptr;
}

size_t HostMappings::Mappings() const {
  size_t mappings = rings_.size() + parts_.size();
  for (const auto& [bus, area] : areas_) mappings += area.pieces.size() + area.former.size();
  return mappings;
}

const char* HostMappings::ReserveArea(const Piece& piece) {
  const uint64_t begin = piece.area_bus;
  const auto next = areas_.lower_bound(begin);
  if (next != areas_.end() && next->first < begin + piece.area_bytes)
    return "areas of memory overlap";
  if (next != areas_.begin()) {
    const auto& [before, area] = *std::prev(next);
    if (before + area.bytes > begin) return "areas of memory overlap";
  }
  if (areas_.size() >= kMaxAreas) return "too many areas of memory";
  ReservedSpace space(piece.area_bytes + kGranule);
  if (!space) return "no address space for the host's memory";
  const auto first = reinterpret_cast<uint64_t>(space.begin());
  const uint64_t host = first + (begin - first) % kGranule;
  GuardedRange guard(space.begin(), space.bytes(), GuardedRange::Loss::kRange, alarm_);
  if (!guard) return "too many areas of memory";
  const MergedRanges ranges(dma_, host - begin);
  areas_.try_emplace(
      begin, Area{piece.area_bytes, std::move(space), std::move(guard), ranges, ranges, {}, {}});
  return nullptr;
}

const char* HostMappings::AddMemory(const Piece& piece, int file) {
  if (!IsRange(piece.bus, piece.bytes) || !IsRange(piece.area_bus, piece.area_bytes) ||
      piece.area_bytes > kMaxAreaBytes || piece.bus < piece.area_bus ||
      piece.bytes > piece.area_bytes ||
      piece.bus - piece.area_bus > piece.area_bytes - piece.bytes) {
    return "memory is outside its area";
  }
  uint64_t page = 0;
  if (const char* const wrong = WhyNoPart(file, piece.offset, piece.bytes, 0, &page)) return wrong;
  if ((piece.bus | piece.offset | piece.bytes) % page != 0) {
    return AddPlace(parts_, piece.bus, piece.bytes, piece.offset, page, file);
  }
  Area* area = FindArea(piece.bus, piece.bytes);
  if (area == nullptr) {
    if (const char* const wrong = ReserveArea(piece)) return wrong;
    area = FindArea(piece.bus, piece.bytes);
  }
  const uint64_t end = piece.bus + piece.bytes;
  if (area->pieces.Overlaps(piece.bus, end)) return "memory is mapped twice";
  // A piece in the middle of former memory splits the former memory in two.
  if (Mappings() + 2 > kMaxMappings) return kTooManyPieces;
  if (!area->space.MapFile(area->Host(piece.bus), piece.bytes, file, piece.offset)) {
    area->former.Merge(piece.bus, end);  // Memory that could not be mapped is also counted as a
                                         // mapping.
    return "memory cannot be mapped";
  }
  area->pieces.Add(piece.bus, end);
  area->former.Erase(piece.bus, end);
  MergedRanges& ranges = piece.stand_in ? area->stand_ins : area->ranges;
  return ranges.Insert(piece.bus, end) ? nullptr : kTooManyPieces;
}

const char* HostMappings::RemoveMemory(uint64_t bus, uint64_t bytes) {
  if (!IsRange(bus, bytes)) return "no memory is mapped at this address";
  Area* const area = FindArea(bus, bytes);
  const uint64_t end = bus + bytes;
  bool removed = false;
  auto part = parts_.lower_bound(bus);
  if (part != parts_.begin() && std::prev(part)->first + std::prev(part)->second.bytes > bus)
    --part;
  for (; part != parts_.end() && part->first < end; removed = true)
    part = RemovePlace(parts_, part);
  if (area == nullptr || !area->pieces.Overlaps(bus, end)) {
    return removed ? nullptr : "no memory is mapped at this address";
  }
  area->ranges.Erase(bus, end);
  area->stand_ins.Erase(bus, end);
  // Removing part of a piece splits the piece in two.
  if (!area->pieces.Has(bus, end) && Mappings() + 2 > kMaxMappings) return kTooManyPieces;
  area->space.Blank(area->Host(bus), bytes);
  area->pieces.Erase(bus, end);
  area->former.Merge(bus, end);
  return nullptr;
}

void HostMappings::ForgetFormer() {
  for (auto& [bus, area] : areas_) {
    for (const auto& [begin, end] : area.former.map()) {
      area.space.Vacate(area.Host(begin), end - begin);
    }
    area.former = {};
  }
}

const char* HostMappings::ReservePlaces() {
  ReservedSpace space(kPlacesBytes);
  if (!space) return "no address space for rings";
  GuardedRange guard(space.begin(), space.bytes(), GuardedRange::Loss::kRange, alarm_);
  if (!guard) return "too many areas of memory";
  Intervals free;
  const auto begin = reinterpret_cast<uint64_t>(space.begin());
  free.Add(Aligned(begin, kHugePage), begin + space.bytes());
  place_space_.emplace(PlaceSpace{std::move(space), std::move(guard), std::move(free)});
  return nullptr;
}

uint8_t* HostMappings::AllocatePlaceSpace(uint64_t bytes) {
  for (const auto& [begin, end] : place_space_->free.map()) {
    if (end - begin < bytes) continue;
    const uint64_t host = begin;
    place_space_->free.Erase(host, host + bytes);
    return reinterpret_cast<uint8_t*>(host);
  }
  return nullptr;
}

const char* HostMappings::AddRing(uint64_t bus, uint64_t bytes, int file) {
  uint64_t page = 0;
  if (!IsRingRange(bus, bytes)) return "the size of a ring is invalid";
  if (const char* const wrong = WhyNoPart(file, 0, bytes, F_SEAL_SHRINK, &page)) return wrong;
  return AddPlace(rings_, bus, bytes, 0, page, file);
}

const char* HostMappings::AddExternal(uint64_t bus, uint64_t bytes, uint64_t offset, int file) {
  uint64_t page = 0;
  if (!IsRingRange(bus, bytes)) return "the size of external memory is invalid";
  if (const char* const wrong = WhyNoPart(file, offset, bytes, 0, &page)) return wrong;
  return AddPlace(rings_, bus, bytes, offset, page, file);
}

const char* HostMappings::AddPlace(Places& places, uint64_t bus, uint64_t bytes, uint64_t offset,
                                   uint64_t page, int file) {
  if (Mappings() + 1 > kMaxMappings) return kTooManyPieces;
  if (!place_space_) {
    if (const char* const wrong = ReservePlaces()) return wrong;
  }
  const uint64_t first = AlignedDown(offset, page);
  const uint64_t hull = Aligned(offset + bytes, page) - first;
  // Free ranges begin at a multiple of kHugePage. Larger pages need additional space for alignment.
  const uint64_t taken = Aligned(hull, kHugePage) + (page > kHugePage ? page : 0);
  uint8_t* const space = AllocatePlaceSpace(taken);
  if (space == nullptr) return "not enough address space for the memory";
  auto* const host = reinterpret_cast<uint8_t*>(Aligned(reinterpret_cast<uint64_t>(space), page));
  const char* wrong = nullptr;
  if (!place_space_->space.MapFile(host, hull, file, first)) {
    wrong = "memory cannot be mapped";
  } else if (!dma_.Add(bus, host + (offset - first), bytes)) {
    wrong = "memory overlaps other memory, or too many ranges are mapped";
  }
  const Place place{bytes, space, taken};
  if (wrong == nullptr) {
    places.emplace(bus, place);
  } else {
    GiveSpaceBack(place);
  }
  return wrong;
}

HostMappings::Places::iterator HostMappings::RemovePlace(Places& places, Places::iterator place) {
  dma_.Remove(place->first);
  GiveSpaceBack(place->second);
  return places.erase(place);
}

void HostMappings::GiveSpaceBack(const Place& place) {
  place_space_->space.Blank(place.host, place.taken);
  const auto first = reinterpret_cast<uint64_t>(place.host);
  place_space_->free.Merge(first, first + place.taken);
}

const char* HostMappings::RemoveRing(uint64_t bus) {
  const auto ring = rings_.find(bus);
  if (ring == rings_.end()) return "no ring is mapped at this address";
  RemovePlace(rings_, ring);
  return nullptr;
}

}  // namespace sluice::emulator
