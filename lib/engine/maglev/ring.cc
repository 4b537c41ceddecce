// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/ring.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace sluice::engine::maglev {
namespace {

/// A backend whose weight is not 0.
struct WeightedBackend {
  uint32_t offset;
  uint32_t skip;
  uint32_t weight;
  uint16_t index;
};

/// The backend that claims a slot in each turn, as an index into `backends`. There are as many
/// turns as slots.
using ClaimOrder = std::vector<uint16_t>;

ClaimOrder RoundRobin(size_t backends, uint32_t slots) {
  ClaimOrder turns(slots);
  size_t filled = std::min<size_t>(backends, slots);
  std::iota(turns.begin(), turns.begin() + static_cast<ptrdiff_t>(filled), uint16_t{0});
  while (filled < slots) {  // The first `filled` turns are whole rounds.
    const size_t more = std::min<size_t>(filled, slots - filled);
    std::copy_n(turns.begin(), more, turns.begin() + static_cast<ptrdiff_t>(filled));
    filled += more;
  }
  return turns;
}

/// Katran's second rule: each round adds a backend's weight to its credit, and a claim costs the
/// largest weight. The n-th claim of a backend is thus in round ceil(n · largest / weight). A
/// counting sort orders the claims by round, and by backend within a round.
ClaimOrder InProportion(std::span<const WeightedBackend> backends, uint32_t slots) {
  uint64_t largest = 0;
  uint64_t sum = 0;
  for (const WeightedBackend& backend : backends) {
    largest = std::max<uint64_t>(largest, backend.weight);
    sum += backend.weight;
  }
  // These rounds contain enough claims: each backend's claims fall short of its exact share by less
  // than one, and the backend with the largest weight has one claim per round.
  const uint64_t rounds =
      std::min<uint64_t>(slots, ((slots + backends.size()) * largest + sum - 1) / sum);
  const auto for_each_claim = [&](const auto& visit) {
    for (size_t i = 0; i < backends.size(); ++i) {
      const uint64_t weight = backends[i].weight;
      const uint64_t step = largest / weight;
      const uint64_t step_rest = largest % weight;
      uint64_t rest = 0;  // round + rest / weight = n · largest / weight
      for (uint64_t round = step;; round += step) {
        rest += step_rest;
        if (rest >= weight) {
          rest -= weight;
          ++round;
        }
        if (round + (rest > 0) > rounds) break;
        visit(i, round + (rest > 0) - 1);
      }
    }
  };
  std::vector<uint32_t> place(rounds + 1);
  for_each_claim([&](size_t, uint64_t round) { ++place[round + 1]; });
  for (uint64_t round = 0; round < rounds; ++round) place[round + 1] += place[round];
  ClaimOrder turns(place[rounds]);
  for_each_claim([&](size_t backend, uint64_t round) {
    turns[place[round]++] = static_cast<uint16_t>(backend);
  });
  turns.resize(slots);
  return turns;
}

/// Katran's first rule: each backend claims as many slots as its weight in the first round, and one
/// slot in each later round.
ClaimOrder WeightFirst(std::span<const WeightedBackend> backends, uint32_t slots) {
  ClaimOrder turns;
  turns.reserve(slots);
  for (size_t i = 0; i < backends.size(); ++i) {
    const size_t count = std::min<size_t>(backends[i].weight, slots - turns.size());
    turns.insert(turns.end(), count, static_cast<uint16_t>(i));
  }
  const ClaimOrder equal = RoundRobin(backends.size(), slots - static_cast<uint32_t>(turns.size()));
  turns.insert(turns.end(), equal.begin(), equal.end());
  return turns;
}

/// Cilium's rule: turn n belongs to backend n mod N, or to the next backend that has not had more
/// than its share of n + 1 turns. Such a backend always exists: all shares sum to n + 1 turns, and
/// only n turns were assigned.
ClaimOrder ByCounters(std::span<const WeightedBackend> backends, uint32_t slots) {
  const uint64_t count = backends.size();
  uint64_t sum = 0;
  std::vector<uint64_t> taken;  // Turns of each backend in units of 1 / `sum`.
  for (const WeightedBackend& backend : backends) {
    sum += backend.weight;
    taken.push_back(backend.weight / count);
  }
  ClaimOrder turns(slots);
  for (uint64_t n = 0; n < slots; ++n) {
    uint64_t backend = n % count;
    while ((n + 1) * backends[backend].weight < taken[backend]) {
      if (++backend == count) backend = 0;
    }
    taken[backend] += sum;
    turns[n] = static_cast<uint16_t>(backend);
  }
  return turns;
}

/// If all weights are equal, all rules except Katran's first are a plain round robin. If weights
/// differ, their mean exceeds 1, which is Cilium's condition for using weights.
ClaimOrder MakeClaimOrder(std::span<const WeightedBackend> backends, uint32_t slots,
                          WeightRule rule) {
  const bool equal = std::ranges::all_of(backends, [&](const WeightedBackend& backend) {
    return backend.weight == backends[0].weight;
  });
  switch (rule) {
    case WeightRule::kFirstRound:
      return WeightFirst(backends, slots);
    case WeightRule::kCilium:
      if (!equal) return ByCounters(backends, slots);
      break;
    case WeightRule::kProportional:
      if (!equal) return InProportion(backends, slots);
      break;
  }
  return RoundRobin(backends.size(), slots);
}

/// The set of free slots, one bit each. It fits into a cache even if the ring does not.
class FreeSlots {
 public:
  explicit FreeSlots(uint32_t slots) : words_(slots / 64 + 1, ~uint64_t{0}) {
    words_.back() = (uint64_t{1} << slots % 64) - 1;
  }

  bool Has(uint32_t slot) const { return words_[slot / 64] >> slot % 64 & 1; }
  /// `slot` must be free.
  void Remove(uint32_t slot) { words_[slot / 64] ^= uint64_t{1} << slot % 64; }
  std::vector<uint32_t> List() const {
    std::vector<uint32_t> list;
    for (uint32_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
        list.push_back(i * 64 + static_cast<uint32_t>(std::countr_zero(word)));
      }
    }
    return list;
  }

 private:
  std::vector<uint64_t> words_;
};

/// Positions of the backends in their permutations. A walk tests many slots at once and buffers the
/// free ones, without a branch per slot: whether a slot is free cannot be predicted, and one
/// misprediction costs more than the rest of a claim.
class Walks {
 public:
  Walks(std::span<const WeightedBackend> backends, uint32_t slots)
      : slots_(slots),
        ahead_(SlotsAhead(backends.size(), slots)),
        notes_(backends.size() * ahead_) {
    walks_.reserve(backends.size());
    for (const WeightedBackend& backend : backends) {
      walks_.push_back({backend.offset, backend.skip, notes_.data(), notes_.data()});
    }
  }

  /// Returns the next free slot of the backend's permutation. At least one slot must be free, and
  /// the caller must claim the returned one.
  uint32_t Next(uint16_t backend, const FreeSlots& free) {
    Walk& walk = walks_[backend];
    for (;;) {
      while (walk.next == walk.end) LookAhead(backend, free);
      const uint32_t slot = *walk.next++;
      // Another backend may have claimed the slot after it was buffered.
      if (free.Has(slot)) [[likely]]
        return slot;
    }
  }

 private:
  static constexpr size_t kMinAhead = 4;
  static constexpr size_t kMaxAhead = 128;
  struct Walk {
    uint32_t position;  ///< The slot to test next.
    uint32_t skip;
    const uint32_t* next;  ///< Buffered slots from here to `end` are unused.
    const uint32_t* end;
  };

  /// Returns the number of slots that a walk tests at once. All buffers together are at most a
  /// quarter of the ring, unless there are very many backends: with larger buffers, other backends
  /// claim more slots while they are buffered.
  static uint32_t SlotsAhead(size_t backends, uint32_t slots) {
    const size_t share = std::clamp<size_t>(slots / backends / 4, kMinAhead, kMaxAhead);
    return static_cast<uint32_t>(std::bit_floor(share));
  }

  /// Refills the buffer of a walk, which must be empty. Not inlined, because Next needs the
  /// registers.
  [[gnu::noinline]] void LookAhead(uint16_t backend, const FreeSlots& free) {
    Walk& walk = walks_[backend];
    const uint32_t slots = slots_;
    const uint32_t ahead = ahead_;
    // Returns (from + by) mod slots. If from + by is below `slots`, the second argument of std::min
    // wraps around and is the larger one.
    const auto step = [slots](uint32_t from, uint32_t by) {
      return std::min(from + by, from + by - slots);
    };
    uint32_t path[kMaxAhead];
    path[0] = walk.position;
    uint32_t stride = walk.skip;  // Distance from path[0] to the slot after the path.
    for (uint32_t length = 1; length < ahead; length *= 2) {
      for (uint32_t i = 0; i < length; ++i) path[length + i] = step(path[i], stride);
      stride = step(stride, stride);
    }
    walk.position = step(walk.position, stride);
    uint32_t* const notes = &notes_[size_t{backend} * ahead];
    uint32_t* end = notes;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < ahead; ++i) {
      *end = path[i];
      end += free.Has(path[i]);
    }
    walk.next = notes;
    walk.end = end;
  }

  uint32_t slots_;
  uint32_t ahead_;               ///< Number of slots that a walk tests at once; a power of two.
  std::vector<uint32_t> notes_;  ///< Buffers, `ahead_` slots per walk.
  std::vector<Walk> walks_;
};

/// Executes all turns except the last ones, for which ClaimLast is faster.
void ClaimFirst(std::span<const WeightedBackend> backends, std::span<const uint16_t> turns,
                FreeSlots& free, std::vector<uint16_t>& ring) {
  Walks walks(backends, static_cast<uint32_t>(ring.size()));
  for (const uint16_t turn : turns) {
    const uint32_t slot = walks.Next(turn, free);
    free.Remove(slot);
    ring[slot] = backends[turn].index;
  }
}

/// Returns 1 / number modulo a prime: number^(prime - 2), by Fermat's little theorem.
uint64_t Inverse(uint64_t number, uint64_t prime) {
  uint64_t result = 1;
  for (uint64_t exponent = prime - 2; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * number % prime;
    number = number * number % prime;
  }
  return result;
}

/// Executes the last turns, in which a walk would pass slots / free.size() claimed slots before it
/// finds a free one. Computes the rank of each free slot in the backend's permutation instead:
/// (slot - offset) / skip modulo the number of slots. The backend claims the slot with the lowest
/// rank.
void ClaimLast(std::span<const WeightedBackend> backends, std::span<const uint16_t> turns,
               std::vector<uint32_t> free, std::vector<uint16_t>& ring) {
  const auto slots = static_cast<uint32_t>(ring.size());
  std::vector<uint32_t> inverses(backends.size());  // 1 / skip; 0: not computed yet.
  for (const uint16_t turn : turns) {
    const WeightedBackend& backend = backends[turn];
    uint32_t& inverse = inverses[turn];
    if (inverse == 0) inverse = static_cast<uint32_t>(Inverse(backend.skip, slots));
    // For a distance below 2^25, the upper 32 bits of distance * ratio are distance * inverse /
    // slots, rounded down, or one less (Shoup's modular multiplication).
    const auto ratio = static_cast<uint32_t>((uint64_t{inverse} << 32) / slots);
    uint32_t lowest = slots;
    for (const uint32_t slot : free) {
      const uint32_t distance = slot + slots - backend.offset;
      const auto quotient = static_cast<uint32_t>(uint64_t{distance} * ratio >> 32);
      const uint32_t rest = distance * inverse - quotient * slots;
      lowest = std::min(lowest, std::min(rest, rest - slots));
    }
    const uint64_t next = (backend.offset + uint64_t{lowest} * backend.skip) % slots;
    ring[next] = backend.index;
    *std::ranges::find(free, next) = free.back();
    free.pop_back();
  }
}

std::vector<uint16_t> Claim(std::span<const WeightedBackend> backends,
                            std::span<const uint16_t> turns, uint32_t slots) {
  std::vector<uint16_t> ring(slots);
  FreeSlots free(slots);
  // If n slots are free, a claim costs slots / n steps of a walk or n ranks. The ranks are cheaper
  // if n is below the square root of `slots`.
  size_t last = 1;
  while (last * last < slots) ++last;
  ClaimFirst(backends, turns.first(slots - last), free, ring);
  ClaimLast(backends, turns.subspan(slots - last), free.List(), ring);
  return ring;
}

}  // namespace

bool IsPrime(uint32_t number) {
  if (number < 4) return number > 1;
  if (number % 2 == 0) return false;
  for (uint64_t divisor = 3; divisor * divisor <= number; divisor += 2) {
    if (number % divisor == 0) return false;
  }
  return true;
}

std::vector<uint16_t> FillRing(std::span<const Permutation> permutations, uint32_t slots,
                               WeightRule rule) {
  if (permutations.size() > kMaxRingBackends || slots >= kMaxRingSlots || !IsPrime(slots))
    return {};
  std::vector<WeightedBackend> backends;
  for (size_t i = 0; i < permutations.size(); ++i) {
    const Permutation& permutation = permutations[i];
    if (permutation.offset >= slots || permutation.skip == 0 || permutation.skip >= slots)
      return {};
    if (permutation.weight == 0) continue;
    backends.push_back(
        {permutation.offset, permutation.skip, permutation.weight, static_cast<uint16_t>(i)});
  }
  if (backends.empty()) return {};

  return Claim(backends, MakeClaimOrder(backends, slots, rule), slots);
}

}  // namespace sluice::engine::maglev
