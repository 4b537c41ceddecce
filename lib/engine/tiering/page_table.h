// SPDX-License-Identifier: BSD-3-Clause
//
// The host's truth about two tiers of memory: which pages there are, in which tier, whether they
// were accessed since the last scan, and when each last changed. What it enforces is right
// whatever an agent wishes: the fast tier holds no more than it can, and a page that changed since
// the agent looked is left alone.
//
// Pure: no clock, no lock; memory is taken when it is made. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/tiering/abi.h"

namespace sluice::engine::tiering {

/// What a wish came to.
enum class ElementStatus : uint8_t {
  kDone,
  kMalformed,  ///< No such kind, tier, arm; nothing or too much of it; beyond the table.
  kNotMapped,  ///< A page was freed.
  kStale,      ///< A page changed since the agent looked.
  kAlready,    ///< Every page is there.
  kNoRoom,     ///< The fast tier is full.
};
inline constexpr uint32_t kElementStatuses = 6;

class PageTable {
 public:
  /// `pages` is rounded up to whole regions: 1 … kMaxPages.
  PageTable(uint32_t pages, uint32_t fast_capacity);

  uint32_t pages() const { return pages_; }
  uint32_t regions() const { return static_cast<uint32_t>(state_.size()); }
  uint32_t fast_capacity() const { return fast_capacity_; }
  uint32_t fast_used() const { return fast_used_; }
  uint32_t mapped() const { return mapped_; }
  Generation generation() const { return clock_; }
  /// Pages moved to the fast and to the slow tier, ever.
  uint64_t promoted() const { return moved_[0]; }
  uint64_t demoted() const { return moved_[1]; }

  // What programs do. Only with a page below pages().

  /// A page is accessed, and mapped first if it is not: into the fast tier while there is room.
  Tier Touch(Vpn page, uint32_t times = 1) {
    RegionState& r = state_[page / kRegionPages];
    const uint64_t bit = uint64_t{1} << page % kRegionPages;
    if ((r.mapped & bit) == 0) [[unlikely]]
      Map(page);
    r.accessed |= bit;
    const Tier tier = (r.fast & bit) != 0 ? Tier::kFast : Tier::kSlow;
    accesses_[static_cast<uint32_t>(tier)] += times;
    return tier;
  }
  /// The page is freed. False: it was not mapped.
  bool Unmap(Vpn page);
  /// Another page takes its place, in the same tier. False: it was not mapped.
  bool Remap(Vpn page);

  bool IsMapped(Vpn page) const { return Bit(page, &RegionState::mapped); }
  Tier TierOf(Vpn page) const { return Bit(page, &RegionState::fast) ? Tier::kFast : Tier::kSlow; }
  Generation GenerationOf(Vpn page) const { return changed_[page]; }
  /// Accesses to a tier, ever.
  uint64_t accesses(Tier tier) const { return accesses_[static_cast<uint32_t>(tier)]; }

  // What the host does for an agent.

  /// Reads a region and clears its access bits.
  ScanRecord Scan(Region region, uint32_t ticks);
  /// What each of `elements`, one after the other, would come to; changes nothing.
  /// statuses.size() >= elements.size(), and that is at most kMaxElements.
  void Check(std::span<const Element> elements, std::span<ElementStatus> statuses) const;
  /// Moves the pages of a migration that Check just called kDone, in the order of its elements.
  /// Returns how many moved.
  uint32_t Migrate(const Element& element);

  /// The first of these that does not hold, or null (for tests): the fast tier holds no more than
  /// it can, only mapped pages are in it or accessed, and the counts are right.
  const char* Violation() const;

 private:
  struct RegionState {
    uint64_t mapped = 0;
    uint64_t fast = 0;
    uint64_t accessed = 0;
    uint64_t fresh = 0;
  };

  bool Bit(Vpn page, uint64_t RegionState::*word) const {
    return (state_[page / kRegionPages].*word >> page % kRegionPages & 1) != 0;
  }
  void Map(Vpn page);
  void Changed(Vpn page, RegionState& region, uint64_t bit);
  ElementStatus CheckMigration(const Element& element, uint32_t fast_used, uint32_t& moves) const;

  uint32_t pages_;
  uint32_t fast_capacity_;
  uint32_t fast_used_ = 0;
  uint32_t mapped_ = 0;
  Generation clock_ = 0;
  std::array<uint64_t, 2> accesses_{};
  std::array<uint64_t, 2> moved_{};
  std::vector<RegionState> state_;
  std::vector<Generation> changed_;  ///< By page.
};

}  // namespace sluice::engine::tiering
