// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/hashes.h"

#include <bit>
#include <cassert>
#include <cstring>

#include "packet/bytes.h"

namespace sluice::engine::maglev {
namespace {

using packet::Load;

struct Jenkins {
  uint32_t a, b, c;

  void Mix() {
    a -= c;
    a ^= std::rotl(c, 4);
    c += b;
    b -= a;
    b ^= std::rotl(a, 6);
    a += c;
    c -= b;
    c ^= std::rotl(b, 8);
    b += a;
    a -= c;
    a ^= std::rotl(c, 16);
    c += b;
    b -= a;
    b ^= std::rotl(a, 19);
    a += c;
    c -= b;
    c ^= std::rotl(b, 4);
    b += a;
  }

  void Finish() {
    c ^= b;
    c -= std::rotl(b, 14);
    a ^= c;
    a -= std::rotl(c, 11);
    b ^= a;
    b -= std::rotl(a, 25);
    c ^= b;
    c -= std::rotl(b, 16);
    a ^= c;
    a -= std::rotl(c, 4);
    b ^= a;
    b -= std::rotl(a, 14);
    c ^= b;
    c -= std::rotl(b, 24);
  }
};
constexpr uint32_t kJenkinsStart = 0xdeadbeef;

uint64_t MurmurAvalanche(uint64_t word) {
  word ^= word >> 33;
  word *= 0xff51afd7ed558ccd;
  word ^= word >> 33;
  word *= 0xc4ceb9fe1a85ec53;
  return word ^ word >> 33;
}

uint64_t MurmurFirst(uint64_t word) {
  return std::rotl(word * 0x87c37b91114253d5, 31) * 0x4cf5ad432745937f;
}

uint64_t MurmurSecond(uint64_t word) {
  return std::rotl(word * 0x4cf5ad432745937f, 33) * 0x87c37b91114253d5;
}

struct Spooky {
  uint64_t a, b, c, d;

  static void Step(uint64_t& x, int bits, uint64_t y, uint64_t& z) {
    x = std::rotl(x, bits) + y;
    z ^= x;
  }

  void Mix() {
    Step(c, 50, d, a), Step(d, 52, a, b), Step(a, 30, b, c), Step(b, 41, c, d);
    Step(c, 54, d, a), Step(d, 48, a, b), Step(a, 38, b, c), Step(b, 37, c, d);
    Step(c, 62, d, a), Step(d, 34, a, b), Step(a, 5, b, c), Step(b, 36, c, d);
  }

  static void EndStep(uint64_t& x, uint64_t& y, int bits) {
    x ^= y;
    y = std::rotl(y, bits);
    x += y;
  }

  void Finish() {
    EndStep(d, c, 15), EndStep(a, d, 52), EndStep(b, a, 26), EndStep(c, b, 51);
    EndStep(d, c, 28), EndStep(a, d, 9), EndStep(b, a, 47), EndStep(c, b, 54);
    EndStep(d, c, 32), EndStep(a, d, 25), EndStep(b, a, 63);
  }
};
constexpr uint64_t kSpookyStart = 0xdeadbeefdeadbeef;

/// Returns the last bytes of a message, fewer than 16, padded with zeros, as two words.
std::pair<uint64_t, uint64_t> TailWords(std::span<const uint8_t> tail) {
  uint8_t padded[16]{};
  if (!tail.empty()) std::memcpy(padded, tail.data(), tail.size());
  return {Load<uint64_t>(padded), Load<uint64_t>(padded + 8)};
}

}  // namespace

uint32_t Jhash2Words(uint32_t a, uint32_t b, uint32_t seed) {
  const uint32_t start = seed + kJenkinsStart + 8;
  Jenkins state{a + start, b + start, start};
  state.Finish();
  return state.c;
}

uint32_t Jhash(std::span<const uint8_t> bytes, uint32_t seed) {
  const uint32_t start = kJenkinsStart + static_cast<uint32_t>(bytes.size()) + seed;
  Jenkins state{start, start, start};
  while (bytes.size() > 12) {
    state.a += Load<uint32_t>(bytes.data());
    state.b += Load<uint32_t>(bytes.data() + 4);
    state.c += Load<uint32_t>(bytes.data() + 8);
    state.Mix();
    bytes = bytes.subspan(12);
  }
  if (bytes.empty()) return state.c;
  const auto [low, high] = TailWords(bytes);
  state.a += static_cast<uint32_t>(low);
  state.b += static_cast<uint32_t>(low >> 32);
  state.c += static_cast<uint32_t>(high);
  state.Finish();
  return state.c;
}

std::pair<uint64_t, uint64_t> Murmur3(std::span<const uint8_t> bytes, uint64_t seed_low,
                                      uint64_t seed_high) {
  const uint64_t length = bytes.size();
  uint64_t low = seed_low;
  uint64_t high = seed_high;
  for (; bytes.size() >= 16; bytes = bytes.subspan(16)) {
    low ^= MurmurFirst(Load<uint64_t>(bytes.data()));
    low = (std::rotl(low, 27) + high) * 5 + 0x52dce729;
    high ^= MurmurSecond(Load<uint64_t>(bytes.data() + 8));
    high = (std::rotl(high, 31) + low) * 5 + 0x38495ab5;
  }
  const auto [tail_low, tail_high] = TailWords(bytes);
  low ^= MurmurFirst(tail_low) ^ length;
  high ^= MurmurSecond(tail_high) ^ length;
  low += high;
  high += low;
  low = MurmurAvalanche(low);
  high = MurmurAvalanche(high);
  low += high;
  return {low, high + low};
}

uint32_t Fnv32(std::span<const uint8_t> bytes) {
  uint32_t hash = 2166136261;
  for (const uint8_t byte : bytes) hash = hash * 16777619 ^ byte;
  return hash;
}

std::pair<uint64_t, uint64_t> SpookyShort(std::span<const uint8_t> bytes, uint64_t seed1,
                                          uint64_t seed2) {
  assert(bytes.size() < 192);
  const uint64_t length = bytes.size();
  Spooky state{seed1, seed2, kSpookyStart, kSpookyStart};
  for (; bytes.size() >= 16; bytes = bytes.subspan(16)) {
    state.c += Load<uint64_t>(bytes.data());
    state.d += Load<uint64_t>(bytes.data() + 8);
    state.Mix();
    if (bytes.size() < 32) continue;
    bytes = bytes.subspan(16);
    state.a += Load<uint64_t>(bytes.data());
    state.b += Load<uint64_t>(bytes.data() + 8);
  }
  state.d += length << 56;
  const auto [tail_low, tail_high] = TailWords(bytes);
  state.c += bytes.empty() ? kSpookyStart : tail_low;
  state.d += bytes.empty() ? kSpookyStart : tail_high;
  state.Finish();
  return {state.a, state.b};
}

uint64_t CityMix(uint64_t upper, uint64_t lower) {
  constexpr uint64_t kMultiplier = 0x9ddfea08eb382d69;
  uint64_t a = (lower ^ upper) * kMultiplier;
  a ^= a >> 47;
  uint64_t b = (upper ^ a) * kMultiplier;
  b ^= b >> 47;
  return b * kMultiplier;
}

}  // namespace sluice::engine::maglev
