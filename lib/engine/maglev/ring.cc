// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/ring.h"

#include <algorithm>

namespace sluice::engine::maglev {
namespace {

/// A seat that has weight, on its walk.
struct Walker {
  uint32_t position;  ///< The slot that it looks at next.
  uint32_t skip;
  uint32_t weight;
  uint16_t seat;
};

/// Who claims a slot, turn by turn: indices of walkers, `slots` of them.
using Turns = std::vector<uint16_t>;

Turns TakeTurns(size_t walkers, uint32_t slots) {
  Turns turns(slots);
  uint32_t walker = 0;
  for (uint16_t& turn : turns) {
    turn = static_cast<uint16_t>(walker);
    if (++walker == walkers) walker = 0;
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

/// 1 / number modulo a prime: number^(prime - 2), by Fermat's little theorem.
uint64_t Inverse(uint64_t number, uint64_t prime) {
  uint64_t result = 1;
  for (uint64_t exponent = prime - 2; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * number % prime;
    number = number * number % prime;
  }
  return result;
}

/// The last turns, where a walk would pass slots / free.size() taken ones before it finds a
/// free one: computes instead how far each free one is.
void ClaimLast(std::span<const Walker> walkers, std::span<const uint16_t> turns,
               std::vector<uint32_t> free, std::vector<uint16_t>& ring) {
  const auto slots = static_cast<uint32_t>(ring.size());
  for (const uint16_t turn : turns) {
    const Walker& walker = walkers[turn];
    const uint64_t inverse = Inverse(walker.skip, slots);
    const auto steps = [&](uint32_t slot) {
      return (slot + slots - walker.position) * inverse % slots;
    };
    const auto nearest = std::ranges::min_element(free, {}, steps);
    ring[*nearest] = walker.seat;
    *nearest = free.back();
    free.pop_back();
  }
}

std::vector<uint16_t> Claim(std::vector<Walker>& walkers, std::span<const uint16_t> turns,
                            uint32_t slots) {
  std::vector<uint16_t> ring(slots);
  // A bit a slot stays in the cache where the ring would not.
  std::vector<uint64_t> is_taken(slots / 64 + 1);
  // Where a walk begins to cost more than computing distances: slots / n steps or n distances.
  size_t last = 1;
  while (last * last * 4 < slots) ++last;
  for (const uint16_t turn : turns.first(slots - last)) {
    Walker& walker = walkers[turn];
    uint32_t slot = walker.position;
    const auto next = [&] {
      const uint32_t beyond = slot + walker.skip;
      return beyond < slots ? beyond : beyond - slots;
    };
    while (is_taken[slot / 64] >> slot % 64 & 1) slot = next();
    is_taken[slot / 64] |= uint64_t{1} << slot % 64;
    ring[slot] = walker.seat;
    walker.position = next();
  }
  std::vector<uint32_t> free;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    if ((is_taken[slot / 64] >> slot % 64 & 1) == 0) free.push_back(slot);
  }
  ClaimLast(walkers, turns.subspan(slots - last), std::move(free), ring);
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
