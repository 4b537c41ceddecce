// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/line_ends.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sluice::engine::logmon {
namespace {

static_assert(std::endian::native == std::endian::little);

/// Eight bytes. Where bytes are marked, each has its bits in the mask, and only the highest of
/// them may be set.
struct Word {
  static constexpr int kBytes = 8;
  static constexpr int kBitsPerByte = 8;
  using Mask = uint64_t;

  static Mask Marked(const char* at, char byte) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    word ^= kOnes * static_cast<uint8_t>(byte);
    return ~(((word & kLows) + kLows) | word | kLows);
  }

 private:
  static constexpr uint64_t kOnes = 0x0101010101010101;
  static constexpr uint64_t kLows = 0x7f7f7f7f7f7f7f7f;
};

#if defined(__AVX2__)
/// 32 bytes, in the same way.
struct Vector {
  static constexpr int kBytes = 32;
  static constexpr int kBitsPerByte = 1;
  using Mask = uint32_t;

  static __m256i Load(const char* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  }
  static void Store(char* to, __m256i bytes) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
  }
  static Mask Marked(const char* at, char byte) {
    return static_cast<Mask>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(Load(at), _mm256_set1_epi8(byte))));
  }
};
#else
using Vector = Word;
#endif

template <typename Block>
typename Block::Mask AnyMarked(const char* at) {
  return Block::Marked(at, '\n') | Block::Marked(at, '\r');
}

// Texts of at least a block are looked at by blocks; the last one overlaps the one before, which
// costs less than a loop over single bytes. Shorter texts are looked at by smaller blocks.

template <typename Block>
const char* FindIn(const char* at, const char* end) {
  for (; end - at >= Block::kBytes; at += Block::kBytes) {
    if (const auto found = AnyMarked<Block>(at)) {
      return at + std::countr_zero(found) / Block::kBitsPerByte;
    }
  }
  if (at == end) return end;
  // Those marked in the overlap are none.
  const auto found = AnyMarked<Block>(end - Block::kBytes);
  return found ? end - Block::kBytes + std::countr_zero(found) / Block::kBitsPerByte : end;
}

template <typename Block>
const char* BehindLastIn(const char* begin, const char* end) {
  for (; end - begin >= Block::kBytes; end -= Block::kBytes) {
    if (const auto found = AnyMarked<Block>(end - Block::kBytes)) {
      return end - std::countl_zero(found) / Block::kBitsPerByte;
    }
  }
  if (begin == end) return begin;
  const auto found = AnyMarked<Block>(begin);
  return found ? begin + Block::kBytes - std::countl_zero(found) / Block::kBitsPerByte : begin;
}

struct Counts {
  uint64_t lf = 0, cr = 0;

  Counts operator+(const Counts& more) const { return {lf + more.lf, cr + more.cr}; }
};

/// In one block, but for its first bytes.
template <typename Block>
Counts CountBlock(const char* at, int without = 0) {
  const int bits = without * Block::kBitsPerByte;
  return {static_cast<uint64_t>(std::popcount(Block::Marked(at, '\n') >> bits)),
          static_cast<uint64_t>(std::popcount(Block::Marked(at, '\r') >> bits))};
}

/// In `blocks` blocks.
template <typename Block>
Counts CountBlocks(const char* at, size_t blocks) {
  Counts counts;
  for (; blocks > 0; --blocks, at += Block::kBytes) counts = counts + CountBlock<Block>(at);
  return counts;
}

#if defined(__AVX2__)
/// Counts in vectors, many at once.
class VectorCounter {
 public:
  static constexpr int kVectors = 15;

  /// In kVectors vectors, which are copied to `to` unless that is null. Every byte of text comes
  /// through here: three instructions for 32 of them. What a byte counts is looked up: LF in the
  /// low half of a byte, CR in the high half, which is why there are fifteen.
  void Add(const char* at, char* to = nullptr) {
    const __m256i fifteen = _mm256_set1_epi8(15);
    const __m256i ones = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0, 0, 0x10, 0, 0));
    const __m256i zero = _mm256_setzero_si256();
    __m256i halves = zero;
#pragma GCC unroll 15
    for (int i = 0; i < kVectors; ++i) {
      const __m256i bytes = Vector::Load(at + i * Vector::kBytes);
      if (to != nullptr) Vector::Store(to + i * Vector::kBytes, bytes);
      const __m256i kinds = _mm256_min_epu8(bytes, fifteen);
      halves = _mm256_add_epi8(halves, _mm256_shuffle_epi8(ones, kinds));
    }
    lf_ = _mm256_add_epi64(lf_, _mm256_sad_epu8(_mm256_and_si256(halves, fifteen), zero));
    cr_ = _mm256_add_epi64(cr_, _mm256_sad_epu8(_mm256_andnot_si256(fifteen, halves), zero));
  }
  Counts counts() const { return {Sum(lf_), Sum(cr_) / 16}; }

 private:
  static uint64_t Sum(__m256i words) {
    const __m128i half =
        _mm_add_epi64(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return static_cast<uint64_t>(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
  }

  __m256i lf_ = _mm256_setzero_si256();
  __m256i cr_ = _mm256_setzero_si256();
};

template <>
Counts CountBlocks<Vector>(const char* at, size_t blocks) {
  Counts counts;
  if (blocks >= VectorCounter::kVectors) {
    VectorCounter counter;
    for (; blocks >= VectorCounter::kVectors; blocks -= VectorCounter::kVectors) {
      counter.Add(at);
      at += VectorCounter::kVectors * Vector::kBytes;
    }
    counts = counter.counts();
  }
  for (; blocks > 0; --blocks, at += Vector::kBytes) counts = counts + CountBlock<Vector>(at);
  return counts;
}
#endif

/// In a text of at least a block.
template <typename Block>
Counts CountIn(const char* at, const char* end) {
  const size_t blocks = static_cast<size_t>(end - at) / Block::kBytes;
  const int left = static_cast<int>(static_cast<size_t>(end - at) % Block::kBytes);
  const Counts counts = CountBlocks<Block>(at, blocks);
  return left == 0 ? counts
                   : counts + CountBlock<Block>(end - Block::kBytes, Block::kBytes - left);
}

Counts CountBytes(const char* at, const char* end) {
  Counts counts;
  for (; at != end; ++at) {
    counts.lf += *at == '\n';
    counts.cr += *at == '\r';
  }
  return counts;
}

/// CR LF in [begin, end).
uint64_t CountPairs(const char* begin, const char* end) {
  uint64_t pairs = 0;
  const char* at = begin;
  for (; end - at > Vector::kBytes; at += Vector::kBytes) {
    pairs += std::popcount(Vector::Marked(at, '\r') & Vector::Marked(at + 1, '\n'));
  }
  for (; end - at > 1; ++at) pairs += at[0] == '\r' && at[1] == '\n';
  return pairs;
}

/// In a text of any length.
Counts CountAny(const char* begin, const char* end) {
  if (end - begin >= Vector::kBytes) return CountIn<Vector>(begin, end);
  return end - begin >= Word::kBytes ? CountIn<Word>(begin, end) : CountBytes(begin, end);
}

/// In [begin, end), which has `counts`.
uint64_t LineEndsOf(const Counts& counts, const char* begin, const char* end) {
  return counts.lf + counts.cr - (counts.cr == 0 ? 0 : CountPairs(begin, end));
}

}  // namespace

const char* FindLineEnd(const char* at, const char* end) {
  if (end - at >= Vector::kBytes) return FindIn<Vector>(at, end);
  if (end - at >= Word::kBytes) return FindIn<Word>(at, end);
  return std::find_if(at, end, [](char byte) { return byte == '\n' || byte == '\r'; });
}

const char* BehindLastLineEnd(const char* begin, const char* end) {
  if (end - begin >= Vector::kBytes) return BehindLastIn<Vector>(begin, end);
  if (end - begin >= Word::kBytes) return BehindLastIn<Word>(begin, end);
  while (end != begin && end[-1] != '\n' && end[-1] != '\r') --end;
  return end;
}

uint64_t CountLineEnds(const char* begin, const char* end) {
  return LineEndsOf(CountAny(begin, end), begin, end);
}

uint64_t CopyAndCountLineEnds(const char* begin, const char* end, char* to) {
  Counts counts;
  const char* at = begin;
#if defined(__AVX2__)
  constexpr ptrdiff_t kAtOnce = VectorCounter::kVectors * Vector::kBytes;
  if (end - at >= kAtOnce) {
    VectorCounter counter;
    for (; end - at >= kAtOnce; at += kAtOnce, to += kAtOnce) counter.Add(at, to);
    counts = counter.counts();
  }
#endif
  std::memcpy(to, at, static_cast<size_t>(end - at));
  return LineEndsOf(counts + CountAny(at, end), begin, end);
}

}  // namespace sluice::engine::logmon
