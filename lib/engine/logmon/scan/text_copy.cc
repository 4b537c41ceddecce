// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/text_copy.h"

#include <algorithm>
#include <cstddef>

#include "cpu/vector.h"
#include "engine/logmon/scan/line_ends.h"
#include "packet/checksum.h"

namespace sluice::engine::logmon {
namespace {

#ifdef SLUICE_AVX2
constexpr size_t kVectorBytes = sizeof(__m256i);
/// Maximum size of a text whose line ends are counted at once.
constexpr size_t kBlockBytes = 126 * kVectorBytes;

__m256i Load(const char* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }

/// Counts LF and detects CR, which few logs contain. A table lookup yields 1 for LF and the
/// highest bit for CR. Saturation keeps that bit.
class LineFeeds {
 public:
  void Add(__m256i bytes) {
    const __m256i kinds = _mm256_min_epu8(bytes, _mm256_set1_epi8(15));
    const __m256i marks = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, -128, 0, 0));
    counts_ = _mm256_adds_epu8(counts_, _mm256_shuffle_epi8(marks, kinds));
  }
  bool has_cr() const { return _mm256_movemask_epi8(counts_) != 0; }
  /// Returns the number of LF. Valid for at most 127 vectors, and only if they contain no CR.
  uint64_t count() const {
    const __m256i sums = _mm256_sad_epu8(counts_, _mm256_setzero_si256());
    const __m128i half =
        _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return static_cast<uint64_t>(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
  }

 private:
  __m256i counts_ = _mm256_setzero_si256();
};

/// Sums 16-bit words of at most 4095 vectors. The multiplication that adds pairs of words reads
/// them as signed numbers, so 2^15 is subtracted from each word first.
class WordSum {
 public:
  void Add(__m256i bytes) {
    const __m256i words = _mm256_xor_si256(bytes, _mm256_set1_epi16(-0x8000));
    pairs_ = _mm256_add_epi32(pairs_, _mm256_madd_epi16(words, _mm256_set1_epi16(1)));
  }
  /// Returns the sum of `bytes` bytes.
  uint64_t Of(size_t bytes) const {
    __m128i sums =
        _mm_add_epi32(_mm256_castsi256_si128(pairs_), _mm256_extracti128_si256(pairs_, 1));
    sums = _mm_add_epi32(sums, _mm_unpackhi_epi64(sums, sums));
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 1));
    return bytes / 2 * 0x8000 + static_cast<uint64_t>(int64_t{_mm_cvtsi128_si32(sums)});
  }

 private:
  __m256i pairs_ = _mm256_setzero_si256();
};

__m256i CopyVector(const char* from, char* to) {
  const __m256i bytes = Load(from);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
  return bytes;
}

/// Copies whole vectors. This is the hot loop, with eight instructions per vector.
inline uint64_t CopyVectors(const char* from, size_t bytes, char* to, LineFeeds& feeds) {
  constexpr ptrdiff_t kStep = kVectorBytes, kAtOnce = 4 * kStep;
  const char* const end = from + bytes;
  char* const to_end = to + bytes;
  WordSum sum;
  const auto copy = [&](ptrdiff_t at) {
    const __m256i vector = CopyVector(end + at, to_end + at);
    feeds.Add(vector);
    sum.Add(vector);
  };
  auto at = -static_cast<ptrdiff_t>(bytes);
#pragma GCC unroll 1
  for (; at % kAtOnce != 0; at += kStep) copy(at);
#pragma GCC unroll 1
  for (; at != 0; at += kAtOnce) {
#pragma GCC unroll 4
    for (ptrdiff_t i = 0; i < kAtOnce; i += kStep) copy(at + i);
  }
  return sum.Of(bytes);
}

/// Copies the last `left` bytes, fewer than a vector, of a text that ends at `end`. The vector
/// overlaps the previous one.
inline uint64_t CopyRest(const char* end, size_t left, char* to_end, LineFeeds& feeds) {
  alignas(32) static constexpr uint8_t kMask[2 * kVectorBytes] = {
      0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
      0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
      0,    0,    0,    0,    0,    0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const __m256i mask = Load(reinterpret_cast<const char*>(kMask) + left);
  const __m256i bytes =
      _mm256_and_si256(CopyVector(end - kVectorBytes, to_end - kVectorBytes), mask);
  feeds.Add(bytes);
  WordSum sum;
  sum.Add(bytes);
  // If the first new byte is the second of a word, the sum has swapped bytes.
  return left % 2 == 0 ? sum.Of(kVectorBytes)
                       : __builtin_bswap16(packet::FoldSum(sum.Of(kVectorBytes)));
}

/// Copies kVectorBytes … kBlockBytes bytes.
CopiedText CopyBlock(std::string_view text, char* to) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const size_t left = text.size() % kVectorBytes;
  LineFeeds feeds;
  CopiedText copied{.sum = CopyVectors(begin, text.size() - left, to, feeds)};
  if (left != 0) copied.sum += CopyRest(end, left, to + text.size(), feeds);
  copied.line_ends = feeds.has_cr() ? CountLineEnds(begin, end) : feeds.count();
  return copied;
}

[[gnu::noinline]] CopiedText CopyBlocks(std::string_view text, char* to) {
  CopiedText all;
  for (bool after_cr = false; !text.empty();) {
    const std::string_view block = text.substr(0, kBlockBytes);
    const CopiedText copied = CopyText(block, to);
    all.sum += copied.sum;
    // The previous block counted the CR of this pair.
    all.line_ends += copied.line_ends - (after_cr && block.front() == '\n' ? 1 : 0);
    after_cr = block.back() == '\r';
    text.remove_prefix(block.size());
    to += block.size();
  }
  return all;
}
#endif

}  // namespace

CopiedText CopyText(std::string_view text, char* to) {
#ifdef SLUICE_AVX2
  if (text.size() > kBlockBytes) [[unlikely]]
    return CopyBlocks(text, to);
  if (text.size() >= kVectorBytes) return CopyBlock(text, to);
#endif
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  std::copy(begin, end, to);
  return {CountLineEnds(begin, end),
          packet::SumBytes(reinterpret_cast<const uint8_t*>(begin), text.size())};
}

}  // namespace sluice::engine::logmon
