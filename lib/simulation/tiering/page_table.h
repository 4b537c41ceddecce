// SPDX-License-Identifier: BSD-3-Clause
//
// The host's authoritative state of two memory tiers: the mapped pages, their tier, their accesses
// since the last scan, and the generation of each page's last change. Its invariants hold whatever
// an agent requests: the fast tier never exceeds its capacity, and a page that has changed since
// the generation known to the agent is not moved.
//
// The code uses no clock and no lock, and allocates only in the constructor. Used by one thread at
// a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "simulation/tiering/abi.h"

namespace sluice::simulation::tiering {

/// Result of an Element.
enum class ElementStatus : uint8_t {
  kDone,
  /// The kind, tier or arm is invalid; the range is empty, too long, or extends beyond the table.
  kMalformed,
  kNotMapped,  ///< A page is not mapped.
  kStale,      ///< A page changed after the agent's generation, or an earlier element moves it.
  kAlready,    ///< All pages are already in the tier.
  kNoRoom,     ///< The fast tier has too few free pages.
};
inline constexpr uint32_t kElementStatuses = 6;

class PageTable {
 public:
  /// `pages` is limited to 1 … kMaxPages and rounded up to whole regions.
  PageTable(uint32_t pages, uint32_t fast_capacity);

  uint32_t pages() const { return pages_; }
  uint32_t regions() const { return static_cast<uint32_t>(state_.size()); }
  uint32_t fast_capacity() const { return fast_capacity_; }
  uint32_t fast_used() const { return fast_used_; }
  uint32_t mapped() const { return mapped_; }
  Generation generation() const { return clock_; }
  /// Return the total numbers of pages moved to the fast tier and to the slow tier, respectively.
  uint64_t promoted() const { return moved_[0]; }
  uint64_t demoted() const { return moved_[1]; }

  // Actions by programs. `page` must be below pages().

  /// Accesses a page. If the page is not mapped, maps it first: to the fast tier if there is room,
  /// otherwise to the slow tier. Returns the page's tier.
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
  /// Frees the page. Returns false if it was not mapped.
  bool Unmap(Vpn page);
  /// Replaces the page's contents with those of another page, in the same tier. Returns false if it
  /// was not mapped.
  bool Remap(Vpn page);

  bool IsMapped(Vpn page) const { return Bit(page, &RegionState::mapped); }
  Tier TierOf(Vpn page) const { return Bit(page, &RegionState::fast) ? Tier::kFast : Tier::kSlow; }
  Generation GenerationOf(Vpn page) const { return changed_[page]; }
  uint64_t accesses(Tier tier) const { return accesses_[static_cast<uint32_t>(tier)]; }

  // Actions by the host on behalf of an agent.

  /// Reads a region and clears its access bits.
  ScanRecord Scan(Region region, uint32_t ticks);
  /// Computes the results that `elements` would have if they were applied in order, without
  /// changing anything. There may be at most kMaxElements elements, and statuses.size() must be at
  /// least elements.size().
  void Check(std::span<const Element> elements, std::span<ElementStatus> statuses) const;
  /// Moves the pages of a migration for which Check has just returned kDone. Must be called in the
  /// order of the elements. Returns the number of pages moved.
  uint32_t Migrate(const Element& element);

  /// For tests: returns the first violated invariant, or null. The fast tier must not exceed its
  /// capacity, only mapped pages may be in it or accessed, and the counts must be correct.
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
  std::vector<Generation> changed_;  ///< Indexed by page.
};

}  // namespace sluice::simulation::tiering
