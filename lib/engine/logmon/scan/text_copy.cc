// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/text_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu/vector.h"
#include "packet/checksum.h"

namespace sluice::engine::logmon {
namespace {

struct Counts {
  uint64_t lf = 0, cr = 0, sum = 0;

  Counts operator+(const Counts& more) const {
    return {lf + more.lf, cr + more.cr, sum + more.sum};
  }
};

Counts CountBytes(const char* at, const char* end) {
  Counts counts;
  counts.sum =
      packet::SumBytes(reinterpret_cast<const uint8_t*>(at), static_cast<size_t>(end - at));
  for (; at != end; ++at) {
    counts.lf += *at == '\n';
    counts.cr += *at == '\r';
  }
  return counts;
}

#ifdef SLUICE_AVX2
constexpr ptrdiff_t kVectorBytes = sizeof(__m256i);

__m256i Load(const char* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }

/// Counts line ends and sums words of vectors.
class VectorCounter {
 public:
  /// Maximum number of vectors between calls of Fold, and before counts().
  static constexpr ptrdiff_t kMostUnfolded = 15, kMost = 240;

  /// The hot loop: six instructions per 32 bytes. A table lookup yields 1 in the low half of a byte
  /// for LF and in the high half for CR; hence the limit of fifteen. Words are summed modulo 2^16,
  /// and their high bytes separately, which yields the carries.
  void Count(__m256i bytes) {
    const __m256i kinds = _mm256_min_epu8(bytes, fifteen_);
    halves_ = _mm256_add_epi8(halves_, _mm256_shuffle_epi8(ones_, kinds));
    words_ = _mm256_add_epi16(words_, bytes);
    highs_ = _mm256_add_epi16(highs_, _mm256_srli_epi16(bytes, 8));
  }
  void Fold() {
    const __m256i lf = _mm256_and_si256(halves_, fifteen_);
    const __m256i cr = _mm256_andnot_si256(fifteen_, halves_);
    lf_ = _mm256_add_epi64(lf_, _mm256_sad_epu8(lf, zero_));
    cr_ = _mm256_add_epi64(cr_, _mm256_sad_epu8(cr, zero_));
    halves_ = zero_;
  }
  /// Call it after Fold.
  Counts counts() const {
    // For at most kMost vectors the sum of the low bytes is below 2^16, and so is that of the high
    // bytes.
    const __m256i lows = _mm256_sub_epi16(words_, _mm256_slli_epi16(highs_, 8));
    return {Sum64(lf_), Sum64(cr_) / 16, SumWords(lows) + (SumWords(highs_) << 8)};
  }

 private:
  static uint64_t Sum64(__m256i words) {
    const __m128i half =
        _mm_add_epi64(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return static_cast<uint64_t>(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
  }
  uint64_t SumWords(__m256i words) const {
    const __m256i even = _mm256_blend_epi16(words, zero_, 0xaa);
    const __m256i pairs = _mm256_add_epi32(even, _mm256_srli_epi32(words, 16));
    return Sum64(
        _mm256_add_epi64(_mm256_blend_epi32(pairs, zero_, 0xaa), _mm256_srli_epi64(pairs, 32)));
  }

  const __m256i zero_ = _mm256_setzero_si256();
  const __m256i fifteen_ = _mm256_set1_epi8(15);
  const __m256i ones_ = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0, 0, 0x10, 0, 0));
  __m256i halves_ = zero_, words_ = zero_, highs_ = zero_, lf_ = zero_, cr_ = zero_;
};

__m256i CopyVector(const char* from, char* to) {
  const __m256i bytes = Load(from);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
  return bytes;
}

/// Copies and counts 1 … VectorCounter::kMost vectors.
Counts CopyVectors(const char* at, ptrdiff_t vectors, char* to) {
  constexpr ptrdiff_t kAtOnce = 3;
  static_assert(VectorCounter::kMostUnfolded % kAtOnce == 0);
  VectorCounter counter;
  while (vectors >= VectorCounter::kMostUnfolded) {
    // Less unrolling needs more instructions, full unrolling more registers than there are.
#pragma GCC unroll 1
    for (ptrdiff_t i = 0; i < VectorCounter::kMostUnfolded / kAtOnce; ++i) {
#pragma GCC unroll 3
      for (ptrdiff_t j = 0; j < kAtOnce; ++j) {
        counter.Count(CopyVector(at + j * kVectorBytes, to + j * kVectorBytes));
      }
      at += kAtOnce * kVectorBytes;
      to += kAtOnce * kVectorBytes;
    }
    counter.Fold();
    vectors -= VectorCounter::kMostUnfolded;
  }
#pragma GCC unroll 1
  for (; vectors > 0; --vectors, at += kVectorBytes, to += kVectorBytes) {
    counter.Count(CopyVector(at, to));
  }
  counter.Fold();
  return counter.counts();
}

/// Copies and counts a text of at least one vector.
inline Counts CopyAndCount(const char* at, const char* end, char* to) {
  Counts before;
  while (end - at >= kVectorBytes) {
    const ptrdiff_t vectors = std::min((end - at) / kVectorBytes, VectorCounter::kMost);
    before = before + CopyVectors(at, vectors, to);
    at += vectors * kVectorBytes;
    to += vectors * kVectorBytes;
  }
  const ptrdiff_t left = end - at;
  if (left == 0) return before;
  // The last vector overlaps the previous one. If its first new byte is the second of a word, the
  // sum has swapped bytes.
  alignas(32) static constexpr uint8_t kMask[2 * kVectorBytes] = {
      0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
      0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
      0,    0,    0,    0,    0,    0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const __m256i last = CopyVector(end - kVectorBytes, to + left - kVectorBytes);
  VectorCounter counter;
  counter.Count(_mm256_and_si256(last, Load(reinterpret_cast<const char*>(kMask) + left)));
  counter.Fold();
  Counts after = counter.counts();
  if (left % 2 != 0) after.sum = __builtin_bswap16(packet::FoldSum(after.sum));
  return before + after;
}
#else
constexpr ptrdiff_t kVectorBytes = 1;

Counts CopyAndCount(const char* at, const char* end, char* to) {
  std::memcpy(to, at, static_cast<size_t>(end - at));
  return CountBytes(at, end);
}
#endif

uint64_t CountPairs(const char* at, const char* end) {
  uint64_t pairs = 0;
  for (; end - at > 1; ++at) pairs += at[0] == '\r' && at[1] == '\n';
  return pairs;
}

}  // namespace

CopiedText CopyText(std::string_view text, char* to) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  Counts counts;
  if (kVectorBytes == 1 || end - begin >= kVectorBytes) {
    counts = CopyAndCount(begin, end, to);
  } else {
    std::copy(begin, end, to);
    counts = CountBytes(begin, end);
  }
  return {counts.lf + counts.cr - (counts.cr == 0 ? 0 : CountPairs(begin, end)), counts.sum};
}

}  // namespace sluice::engine::logmon
