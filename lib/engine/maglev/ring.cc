// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/ring.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace sluice::engine::maglev {
namespace {

/// A seat that has weight.
struct Walker {
  uint32_t offset;
  uint32_t skip;
  uint32_t weight;
  uint16_t seat;
};

/// Who claims a slot, turn by turn: indices of walkers, `slots` of them.
using Turns = std::vector<uint16_t>;

Turns TakeTurns(size_t walkers, uint32_t slots) {
  Turns turns(slots);
  size_t filled = std::min<size_t>(walkers, slots);
  std::iota(turns.begin(), turns.begin() + static_cast<ptrdiff_t>(filled), uint16_t{0});
  while (filled < slots) {  // The first `filled` turns are whole rounds.
    const size_t more = std::min<size_t>(filled, slots - filled);
    std::copy_n(turns.begin(), more, turns.begin() + static_cast<ptrdiff_t>(filled));
    filled += more;
  }
  return turns;
}

/// Katran's second rule: in each round a walker earns its weight, and claims a slot for as
/// much as the largest weight. Its n-th claim is thus in round ceil(n · largest / weight);
/// a counting sort brings all claims in the order of rounds, and of walkers within a round.
Turns InProportion(std::span<const Walker> walkers, uint32_t slots) {
  uint64_t largest = 0;
  uint64_t sum = 0;
  for (const Walker& walker : walkers) {
    largest = std::max<uint64_t>(largest, walker.weight);
    sum += walker.weight;
  }
  // Enough: a walker has fewer claims than its exact share by less than one. And the one of
  // the largest weight has a claim each round.
  const uint64_t rounds =
      std::min<uint64_t>(slots, ((slots + walkers.size()) * largest + sum - 1) / sum);
  const auto for_each_claim = [&](const auto& visit) {
    for (size_t i = 0; i < walkers.size(); ++i) {
      const uint64_t weight = walkers[i].weight;
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
  Turns turns(place[rounds]);
  for_each_claim([&](size_t walker, uint64_t round) {
    turns[place[round]++] = static_cast<uint16_t>(walker);
  });
  turns.resize(slots);
  return turns;
}

/// Katran's first rule: as many slots as its weight in the first round, then one each.
Turns WeightFirst(std::span<const Walker> walkers, uint32_t slots) {
  Turns turns;
  turns.reserve(slots);
  for (size_t i = 0; i < walkers.size(); ++i) {
    const size_t count = std::min<size_t>(walkers[i].weight, slots - turns.size());
    turns.insert(turns.end(), count, static_cast<uint16_t>(i));
  }
  const Turns equal = TakeTurns(walkers.size(), slots - static_cast<uint32_t>(turns.size()));
  turns.insert(turns.end(), equal.begin(), equal.end());
  return turns;
}

/// Cilium's rule: turn n belongs to walker n mod N or to the next one that has not yet had
/// more than its share of n + 1 turns. Somebody always has not: all shares are n + 1 turns
/// together, and n were taken.
Turns ByCounters(std::span<const Walker> walkers, uint32_t slots) {
  const uint64_t count = walkers.size();
  uint64_t sum = 0;
  std::vector<uint64_t> taken;  // In units of 1 / sum of a turn.
  for (const Walker& walker : walkers) {
    sum += walker.weight;
    taken.push_back(walker.weight / count);
  }
  Turns turns(slots);
  for (uint64_t n = 0; n < slots; ++n) {
    uint64_t walker = n % count;
    while ((n + 1) * walkers[walker].weight < taken[walker]) {
      if (++walker == count) walker = 0;
    }
    taken[walker] += sum;
    turns[n] = static_cast<uint16_t>(walker);
  }
  return turns;
}

/// Equal weights make every rule but Katran's first a plain round; so Cilium's condition, a mean
/// weight above 1, is met whenever weights are looked at.
Turns MakeTurns(std::span<const Walker> walkers, uint32_t slots, WeightRule rule) {
  const bool equal = std::ranges::all_of(
      walkers, [&](const Walker& walker) { return walker.weight == walkers[0].weight; });
  switch (rule) {
    case WeightRule::kFirstRound:
      return WeightFirst(walkers, slots);
    case WeightRule::kCilium:
      if (!equal) return ByCounters(walkers, slots);
      break;
    case WeightRule::kProportional:
      if (!equal) return InProportion(walkers, slots);
      break;
  }
  return TakeTurns(walkers.size(), slots);
}

/// The free slots, one bit each: the set stays in the cache where the ring would not.
class FreeSlots {
 public:
  explicit FreeSlots(uint32_t slots) : words_(slots / 64 + 1, ~uint64_t{0}) {
    words_.back() = (uint64_t{1} << slots % 64) - 1;
  }

  bool Has(uint32_t slot) const { return words_[slot / 64] >> slot % 64 & 1; }
  /// The slot must be free.
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

/// The walks of all walkers. A walk looks at many slots at once and notes the free ones, without a
/// branch per slot: whether a slot is free cannot be predicted, and one misprediction costs more
/// than the rest of a claim.
class Walks {
 public:
  Walks(std::span<const Walker> walkers, uint32_t slots)
      : slots_(slots), ahead_(SlotsAhead(walkers.size(), slots)), notes_(walkers.size() * ahead_) {
    walks_.reserve(walkers.size());
    for (const Walker& walker : walkers) {
      walks_.push_back({walker.offset, walker.skip, notes_.data(), notes_.data()});
    }
  }

  /// The first free slot on the rest of the walk. There must be one, and the caller claims it.
  uint32_t Next(uint16_t walker, const FreeSlots& free) {
    Walk& walk = walks_[walker];
    for (;;) {
      while (walk.next == walk.end) LookAhead(walker, free);
      const uint32_t slot = *walk.next++;
      // Another walker may have claimed it since it was noted.
      if (free.Has(slot)) [[likely]]
        return slot;
    }
  }

 private:
  static constexpr size_t kMinAhead = 4;
  static constexpr size_t kMaxAhead = 128;
  struct Walk {
    uint32_t position;  ///< The slot to look at next.
    uint32_t skip;
    const uint32_t* next;  ///< Notes from here to `end` are unused.
    const uint32_t* end;
  };

  /// All notes together are a quarter of the ring at most, unless walkers are very many: the more
  /// are kept, the more slots are claimed by others meanwhile.
  static uint32_t SlotsAhead(size_t walkers, uint32_t slots) {
    const size_t share = std::clamp<size_t>(slots / walkers / 4, kMinAhead, kMaxAhead);
    return static_cast<uint32_t>(std::bit_floor(share));
  }

  /// Replaces the notes of a walk, all of which were used. Not inlined: Next needs the registers.
  [[gnu::noinline]] void LookAhead(uint16_t walker, const FreeSlots& free) {
    Walk& walk = walks_[walker];
    const uint32_t slots = slots_;
    const uint32_t ahead = ahead_;
    // (from + by) mod slots: of the two, one is not below `slots`, or wrapped around.
    const auto step = [slots](uint32_t from, uint32_t by) {
      return std::min(from + by, from + by - slots);
    };
    uint32_t path[kMaxAhead];
    path[0] = walk.position;
    uint32_t stride = walk.skip;  // From the first slot of the path to the one behind its last.
    for (uint32_t length = 1; length < ahead; length *= 2) {
      for (uint32_t i = 0; i < length; ++i) path[length + i] = step(path[i], stride);
      stride = step(stride, stride);
    }
    walk.position = step(walk.position, stride);
    uint32_t* const notes = &notes_[size_t{walker} * ahead];
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
  uint32_t ahead_;               ///< Slots that a walk looks at together; a power of two.
  std::vector<uint32_t> notes_;  ///< `ahead_` of each walk.
  std::vector<Walk> walks_;
};

/// All turns but the last.
void ClaimFirst(std::span<const Walker> walkers, std::span<const uint16_t> turns, FreeSlots& free,
                std::vector<uint16_t>& ring) {
  Walks walks(walkers, static_cast<uint32_t>(ring.size()));
  for (const uint16_t turn : turns) {
    const uint32_t slot = walks.Next(turn, free);
    free.Remove(slot);
    ring[slot] = walkers[turn].seat;
  }
}

/// 1 / number modulo a prime: number^(prime - 2), by Fermat's little theorem.
uint64_t Inverse(uint64_t number, uint64_t prime) {
  uint64_t result = 1;
  for (uint64_t exponent = prime - 2; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * number % prime;
    number = number * number % prime;
  }
  return result;
}

/// The last turns, where a walk would pass slots / free.size() taken slots before it finds a free
/// one: computes the rank of each free slot in the walker's permutation, which is (slot - offset) /
/// skip modulo the slots. All slots of lower ranks than the next claim's are taken.
void ClaimLast(std::span<const Walker> walkers, std::span<const uint16_t> turns,
               std::vector<uint32_t> free, std::vector<uint16_t>& ring) {
  const auto slots = static_cast<uint32_t>(ring.size());
  std::vector<uint32_t> inverses(walkers.size());  // 1 / skip; 0: not computed yet.
  for (const uint16_t turn : turns) {
    const Walker& walker = walkers[turn];
    uint32_t& inverse = inverses[turn];
    if (inverse == 0) inverse = static_cast<uint32_t>(Inverse(walker.skip, slots));
    // Multiplied by a distance below 2^25, its upper half is the quotient or one less (Shoup's
    // modular multiplication).
    const auto ratio = static_cast<uint32_t>((uint64_t{inverse} << 32) / slots);
    uint32_t lowest = slots;
    for (const uint32_t slot : free) {
      const uint32_t distance = slot + slots - walker.offset;
      const auto quotient = static_cast<uint32_t>(uint64_t{distance} * ratio >> 32);
      const uint32_t rest = distance * inverse - quotient * slots;
      lowest = std::min(lowest, std::min(rest, rest - slots));
    }
    const uint64_t next = (walker.offset + uint64_t{lowest} * walker.skip) % slots;
    ring[next] = walker.seat;
    *std::ranges::find(free, next) = free.back();
    free.pop_back();
  }
}

std::vector<uint16_t> Claim(std::span<const Walker> walkers, std::span<const uint16_t> turns,
                            uint32_t slots) {
  std::vector<uint16_t> ring(slots);
  FreeSlots free(slots);
  // Where a walk begins to cost more than computing ranks: slots / n steps or n ranks.
  size_t last = 1;
  while (last * last < slots) ++last;
  ClaimFirst(walkers, turns.first(slots - last), free, ring);
  ClaimLast(walkers, turns.subspan(slots - last), free.List(), ring);
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

std::vector<uint16_t> FillRing(std::span<const Seat> seats, uint32_t slots, WeightRule rule) {
  if (seats.size() > kMaxSeats || slots >= kMaxRingSlots || !IsPrime(slots)) return {};
  std::vector<Walker> walkers;
  for (size_t i = 0; i < seats.size(); ++i) {
    const Seat& seat = seats[i];
    if (seat.offset >= slots || seat.skip == 0 || seat.skip >= slots) return {};
    if (seat.weight == 0) continue;
    walkers.push_back({seat.offset, seat.skip, seat.weight, static_cast<uint16_t>(i)});
  }
  if (walkers.empty()) return {};

  return Claim(walkers, MakeTurns(walkers, slots, rule), slots);
}

}  // namespace sluice::engine::maglev
