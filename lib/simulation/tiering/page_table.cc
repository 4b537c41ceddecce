// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/tiering/page_table.h"

#include <algorithm>
#include <bit>

namespace sluice::simulation::tiering {

PageTable::PageTable(uint32_t pages, uint32_t fast_capacity)
    : pages_((std::clamp(pages, 1u, kMaxPages) + kRegionPages - 1) / kRegionPages * kRegionPages),
      fast_capacity_(std::min(fast_capacity, pages_)),
      state_(pages_ / kRegionPages),
      changed_(pages_) {}

void PageTable::Changed(Vpn page, RegionState& region, uint64_t bit) {
  changed_[page] = ++clock_;
  region.fresh |= bit;
}

void PageTable::Map(Vpn page) {
  RegionState& r = state_[page / kRegionPages];
  const uint64_t bit = uint64_t{1} << page % kRegionPages;
  r.mapped |= bit;
  ++mapped_;
  if (fast_used_ < fast_capacity_) {
    r.fast |= bit;
    ++fast_used_;
  }
  Changed(page, r, bit);
}

bool PageTable::Unmap(Vpn page) {
  RegionState& r = state_[page / kRegionPages];
  const uint64_t bit = uint64_t{1} << page % kRegionPages;
  if ((r.mapped & bit) == 0) return false;
  if ((r.fast & bit) != 0) --fast_used_;
  --mapped_;
  r.mapped &= ~bit;
  r.fast &= ~bit;
  r.accessed &= ~bit;
  Changed(page, r, bit);
  return true;
}

bool PageTable::Remap(Vpn page) {
  RegionState& r = state_[page / kRegionPages];
  const uint64_t bit = uint64_t{1} << page % kRegionPages;
  if ((r.mapped & bit) == 0) return false;
  r.accessed &= ~bit;
  Changed(page, r, bit);
  return true;
}

ScanRecord PageTable::Scan(Region region, uint32_t ticks) {
  RegionState& r = state_[region];
  const ScanRecord record{.region = region,
                          .ticks = ticks,
                          .generation = clock_,
                          .accessed = r.accessed,
                          .mapped = r.mapped,
                          .fast = r.fast,
                          .fresh = r.fresh};
  r.accessed = 0;
  r.fresh = 0;
  return record;
}

ElementStatus PageTable::CheckMigration(const Element& element, uint32_t fast_used,
                                        uint32_t& moves) const {
  const uint64_t end = uint64_t{element.first} + element.count;
  if (element.count == 0 || element.count > kMaxRangePages || end > pages_ ||
      element.value > static_cast<uint8_t>(Tier::kSlow)) {
    return ElementStatus::kMalformed;
  }
  const auto target = static_cast<Tier>(element.value);
  moves = 0;
  for (Vpn page = element.first; page != end; ++page) {
    if (!IsMapped(page)) return ElementStatus::kNotMapped;
    if (changed_[page] > element.generation) return ElementStatus::kStale;
    if (TierOf(page) != target) ++moves;
  }
  if (moves == 0) return ElementStatus::kAlready;
  if (target == Tier::kFast && moves > fast_capacity_ - fast_used) return ElementStatus::kNoRoom;
  return ElementStatus::kDone;
}

void PageTable::Check(std::span<const Element> elements, std::span<ElementStatus> statuses) const {
  uint32_t fast_used = fast_used_;
  for (size_t i = 0; i != elements.size(); ++i) {
    const Element& e = elements[i];
    if (e.kind == Element::kScanPeriod) {
      const bool sound =
          e.count != 0 && uint64_t{e.first} + e.count <= regions() && e.value < kArms;
      statuses[i] = sound ? ElementStatus::kDone : ElementStatus::kMalformed;
      continue;
    }
    if (e.kind != Element::kMigrate) {
      statuses[i] = ElementStatus::kMalformed;
      continue;
    }
    uint32_t moves = 0;
    statuses[i] = CheckMigration(e, fast_used, moves);
    if (statuses[i] != ElementStatus::kDone) continue;
    // If both elements contain a page, the earlier migration of the batch changes it.
    for (size_t k = 0; k != i && statuses[i] == ElementStatus::kDone; ++k) {
      const Element& o = elements[k];
      if (o.kind == Element::kMigrate && statuses[k] == ElementStatus::kDone &&
          e.first < o.first + o.count && o.first < e.first + e.count) {
        statuses[i] = ElementStatus::kStale;
      }
    }
    if (statuses[i] != ElementStatus::kDone) continue;
    fast_used += e.value == static_cast<uint8_t>(Tier::kFast) ? moves : -moves;
  }
}

uint32_t PageTable::Migrate(const Element& element) {
  const auto target = static_cast<Tier>(element.value);
  uint32_t moves = 0;
  ++clock_;
  for (Vpn page = element.first; page != element.first + element.count; ++page) {
    if (TierOf(page) == target) continue;
    state_[page / kRegionPages].fast ^= uint64_t{1} << page % kRegionPages;
    changed_[page] = clock_;
    ++moves;
  }
  fast_used_ += target == Tier::kFast ? moves : -moves;
  moved_[element.value] += moves;
  return moves;
}

const char* PageTable::Violation() const {
  uint64_t fast = 0, mapped = 0;
  for (const RegionState& r : state_) {
    if ((r.fast & ~r.mapped) != 0) return "a page that is not mapped is in the fast tier";
    if ((r.accessed & ~r.mapped) != 0) return "a page that is not mapped was accessed";
    fast += std::popcount(r.fast);
    mapped += std::popcount(r.mapped);
  }
  if (fast != fast_used_ || mapped != mapped_) return "a count is wrong";
  if (fast > fast_capacity_) return "the fast tier exceeds its capacity";
  return nullptr;
}

}  // namespace sluice::simulation::tiering
