// SPDX-License-Identifier: BSD-3-Clause
//
// 16-byte vectors. The C++ operators +, -, & and | work on them as on numbers. All other operations
// are defined here twice: with x86 intrinsics, and with GCC's vector extensions for other
// processors. tests/cpu compares the two. A file that is compiled with SLUICE_PORTABLE uses the
// latter on every processor.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#if defined(__SSE4_1__) && !defined(SLUICE_PORTABLE)
#define SLUICE_X86_VECTORS 1
#include <immintrin.h>
#ifdef __AVX2__
/// Enables 32-byte vectors, for algorithms that have two complete implementations.
#define SLUICE_AVX2 1
#endif
#endif

namespace sluice::cpu {

/// Lane 0 has the lowest address.
using Words [[gnu::vector_size(16)]] = uint32_t;
using Longs [[gnu::vector_size(16)]] = uint64_t;
using Bytes [[gnu::vector_size(16)]] = uint8_t;

inline Words AllOf(uint32_t word) { return Words{word, word, word, word}; }
/// Returns `low` in lanes 0 and 1 and `high` in lanes 2 and 3.
inline Words FromLongs(uint64_t low, uint64_t high) {
  return reinterpret_cast<Words>(Longs{low, high});
}
/// Adds the 64-bit halves.
inline Words AddLongs(Words a, Words b) {
  return reinterpret_cast<Words>(reinterpret_cast<Longs>(a) + reinterpret_cast<Longs>(b));
}

namespace portable {

/// Load and Store accept any address. The Aligned functions require an address that is a multiple
/// of 16, and use a single access on processors that support this.
inline Words Load(const void* from) {
  Words vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}
inline void Store(void* to, Words vector) { std::memcpy(to, &vector, sizeof(vector)); }
inline Words LoadAligned(const void* from) { return Load(__builtin_assume_aligned(from, 16)); }
inline void StoreAligned(void* to, Words vector) {
  Store(__builtin_assume_aligned(to, 16), vector);
}

inline uint64_t LowHalf(Words a) { return reinterpret_cast<Longs>(a)[0]; }
inline uint64_t HighHalf(Words a) { return reinterpret_cast<Longs>(a)[1]; }
/// Returns {low half of a, low half of b}.
inline Words LowHalves(Words a, Words b) { return __builtin_shufflevector(a, b, 0, 1, 4, 5); }
inline Words HighHalves(Words a, Words b) { return __builtin_shufflevector(a, b, 2, 3, 6, 7); }
/// Returns {a2, b2, a3, b3}.
inline Words InterleaveHigh(Words a, Words b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }

/// Returns a vector with byte i equal to byte kFrom[i] of `a`, or 0 if kFrom[i] is -1.
template <int... kFrom>
Words PickBytes(Words a) {
  static_assert(sizeof...(kFrom) == sizeof(Words) && ((kFrom >= -1 && kFrom < 16) && ...));
  return reinterpret_cast<Words>(
      __builtin_shufflevector(reinterpret_cast<Bytes>(a), Bytes{}, (kFrom < 0 ? 16 : kFrom)...));
}
/// Returns the first six bytes of `first` and the other bytes of `rest`.
inline Words FirstSixOf(Words first, Words rest) {
  return reinterpret_cast<Words>(
      __builtin_shufflevector(reinterpret_cast<Bytes>(first), reinterpret_cast<Bytes>(rest), 0, 1,
                              2, 3, 4, 5, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31));
}

/// Returns the minimum of each lane, compared as unsigned numbers.
inline Words Least(Words a, Words b) {
  const auto less = reinterpret_cast<Words>(a < b);
  return (a & less) | (b & ~less);
}
/// Returns all ones in lanes that are equal and zeros in the others.
inline Words EqualLanes(Words a, Words b) { return reinterpret_cast<Words>(a == b); }
inline Words Doubled(Words a) { return a << 1; }
/// Returns bit 31 of each lane; lane 0 in bit 0.
inline uint32_t SignBits(Words a) {
  const Words bits = (a >> 31) << Words{0, 1, 2, 3};
  return (bits[0] | bits[1]) | (bits[2] | bits[3]);
}
/// Returns whether bit 31 is set in every lane of `b` in which it is set in `a`.
inline bool SignsWithin(Words a, Words b) { return SignBits(a & ~b) == 0; }
/// Returns whether a bit is set in both vectors.
inline bool AnyInCommon(Words a, Words b) {
  const auto common = reinterpret_cast<Longs>(a & b);
  return (common[0] | common[1]) != 0;
}
/// Returns the sum of the four lanes.
inline uint32_t Sum(Words a) { return (a[0] + a[1]) + (a[2] + a[3]); }

// ---- several words in memory at once; the group of words must be naturally aligned

/// Returns a bit mask of the four words that equal `value`.
inline uint32_t EqualOf4(const uint64_t* words, uint64_t value) {
  uint32_t equal = 0;
  for (uint32_t i = 0; i < 4; ++i) equal |= static_cast<uint32_t>(words[i] == value) << i;
  return equal;
}
/// Returns a bit mask of the eight words with upper 16 bits equal to `value`. Each word is read
/// once, with an atomic load, because other threads may be writing it.
inline uint32_t TopsEqualOf8(const uint64_t* words, uint16_t value) {
  uint32_t equal = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    const uint64_t word = __atomic_load_n(words + i, __ATOMIC_RELAXED);
    equal |= static_cast<uint32_t>(word >> 48 == value) << i;
  }
  return equal;
}

/// Returns whether the 32 bytes at `a` and those at `b` are equal in the bits that are set in the
/// 32 bytes at `mask`. Accepts any addresses.
inline bool EqualUnder(const void* a, const void* b, const void* mask) {
  const auto differ = [&](size_t at) {
    const auto load = [at](const void* from) { return Load(static_cast<const char*>(from) + at); };
    return (load(a) ^ load(b)) & load(mask);
  };
  const Words either = differ(0) | differ(16);
  return !AnyInCommon(either, either);
}

}  // namespace portable

#ifdef SLUICE_X86_VECTORS
namespace x86 {

inline __m128i Raw(Words a) { return reinterpret_cast<__m128i>(a); }
inline Words Of(__m128i a) { return reinterpret_cast<Words>(a); }

inline Words Load(const void* from) {
  return Of(_mm_loadu_si128(static_cast<const __m128i*>(from)));
}
inline void Store(void* to, Words vector) {
  _mm_storeu_si128(static_cast<__m128i*>(to), Raw(vector));
}
inline Words LoadAligned(const void* from) {
  return Of(_mm_load_si128(static_cast<const __m128i*>(from)));
}
inline void StoreAligned(void* to, Words vector) {
  _mm_store_si128(static_cast<__m128i*>(to), Raw(vector));
}
inline uint64_t LowHalf(Words a) { return static_cast<uint64_t>(_mm_cvtsi128_si64(Raw(a))); }
inline uint64_t HighHalf(Words a) { return static_cast<uint64_t>(_mm_extract_epi64(Raw(a), 1)); }
inline Words LowHalves(Words a, Words b) { return Of(_mm_unpacklo_epi64(Raw(a), Raw(b))); }
inline Words HighHalves(Words a, Words b) { return Of(_mm_unpackhi_epi64(Raw(a), Raw(b))); }
inline Words InterleaveHigh(Words a, Words b) { return Of(_mm_unpackhi_epi32(Raw(a), Raw(b))); }
template <int... kFrom>
Words PickBytes(Words a) {
  return Of(_mm_shuffle_epi8(Raw(a), _mm_setr_epi8(kFrom...)));
}
inline Words FirstSixOf(Words first, Words rest) {
  return Of(_mm_blend_epi16(Raw(rest), Raw(first), 0x07));
}
inline Words Least(Words a, Words b) { return Of(_mm_min_epu32(Raw(a), Raw(b))); }
inline Words EqualLanes(Words a, Words b) { return Of(_mm_cmpeq_epi32(Raw(a), Raw(b))); }
inline Words Doubled(Words a) { return Of(_mm_slli_epi32(Raw(a), 1)); }
inline uint32_t SignBits(Words a) {
  return static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(Raw(a))));
}
inline bool SignsWithin(Words a, Words b) {
#ifdef __AVX__
  return _mm_testc_ps(_mm_castsi128_ps(Raw(b)), _mm_castsi128_ps(Raw(a))) != 0;
#else
  return SignBits(a & ~b) == 0;
#endif
}
inline bool AnyInCommon(Words a, Words b) { return !_mm_testz_si128(Raw(a), Raw(b)); }
inline uint32_t Sum(Words a) {
  const __m128i pairs = _mm_hadd_epi32(Raw(a), Raw(a));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_hadd_epi32(pairs, pairs)));
}
inline uint32_t EqualOf4(const uint64_t* words, uint64_t value) {
#ifdef SLUICE_AVX2
  const __m256i wanted = _mm256_set1_epi64x(static_cast<int64_t>(value));
  const __m256i found =
      _mm256_cmpeq_epi64(_mm256_load_si256(reinterpret_cast<const __m256i*>(words)), wanted);
  return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(found)));
#else
  const auto* const pairs = reinterpret_cast<const __m128i*>(words);
  const __m128i wanted = _mm_set1_epi64x(static_cast<int64_t>(value));
  const __m128i low = _mm_cmpeq_epi64(_mm_load_si128(pairs), wanted);
  const __m128i high = _mm_cmpeq_epi64(_mm_load_si128(pairs + 1), wanted);
  return static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(_mm_packs_epi32(low, high))));
#endif
}
#ifdef SLUICE_AVX2
inline bool EqualUnder(const void* a, const void* b, const void* mask) {
  const auto load = [](const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  };
  return _mm256_testz_si256(_mm256_xor_si256(load(a), load(b)), load(mask)) != 0;
}
#else
using portable::EqualUnder;
#endif
// ThreadSanitizer reports a race if other threads write to the vector.
#if defined(SLUICE_AVX2) && !defined(__SANITIZE_THREAD__)
inline uint32_t TopsEqualOf8(const uint64_t* words, uint16_t value) {
  const auto* const halves = reinterpret_cast<const __m256i*>(words);
  const __m256i wanted = _mm256_set1_epi16(static_cast<int16_t>(value));
  // The sign of each word is the result for its upper 16 bits.
  const auto equal = [&](const __m256i* half) {
    const __m256i equals = _mm256_cmpeq_epi16(_mm256_load_si256(half), wanted);
    return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(equals)));
  };
  return equal(halves) | equal(halves + 1) << 4;
}
#else
using portable::TopsEqualOf8;
#endif

}  // namespace x86
using namespace x86;
#else
using namespace portable;
#endif

}  // namespace sluice::cpu
