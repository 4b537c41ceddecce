// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/line_ends.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cpu/vector.h"

namespace sluice::engine::logmon {
namespace {

static_assert(std::endian::native == std::endian::little);

/// A block of eight bytes. In a mask, a marked byte has only its highest bit set.
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

#ifdef SLUICE_AVX2
/// A block of 32 bytes, with the same interface as Word.
struct Vector {
  static constexpr int kBytes = 32;
  static constexpr int kBitsPerByte = 1;
  using Mask = uint32_t;

  static __m256i Load(const char* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
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

// Texts of at least one block are searched block by block. The last block overlaps the previous
// one, which costs less than a loop over single bytes. Shorter texts use smaller blocks.

template <typename Block>
const char* FindIn(const char* at, const char* end) {
  for (; end - at >= Block::kBytes; at += Block::kBytes) {
    if (const auto found = AnyMarked<Block>(at)) {
      return at + std::countr_zero(found) / Block::kBitsPerByte;
    }
  }
  if (at == end) return end;
  // The overlap contains no marked byte.
  const auto found = AnyMarked<Block>(end - Block::kBytes);
  return found ? end - Block::kBytes + std::countr_zero(found) / Block::kBitsPerByte : end;
}

template <typename Block>
const char* AfterLastIn(const char* begin, const char* end) {
  for (; end - begin >= Block::kBytes; end -= Block::kBytes) {
    if (const auto found = AnyMarked<Block>(end - Block::kBytes)) {
      return end - std::countl_zero(found) / Block::kBitsPerByte;
    }
  }
  if (begin == end) return begin;
  const auto found = AnyMarked<Block>(begin);
  return found ? begin + Block::kBytes - std::countl_zero(found) / Block::kBitsPerByte : begin;
}

/// Counts the line ends in the blocks from `at` on and moves `at` past these blocks. `after_cr`, 0
/// or 1, states whether a CR precedes `at`.
template <typename Block>
uint64_t CountIn(const char*& at, const char* end, uint64_t& after_cr) {
  using Mask = typename Block::Mask;
  constexpr int kFirst = Block::kBitsPerByte - 1, kMaskBits = Block::kBytes * Block::kBitsPerByte;
  uint64_t count = 0;
  for (; end - at >= Block::kBytes; at += Block::kBytes) {
    const Mask lf = Block::Marked(at, '\n'), cr = Block::Marked(at, '\r');
    const Mask paired = lf & (cr << Block::kBitsPerByte | static_cast<Mask>(after_cr << kFirst));
    count += static_cast<uint64_t>(std::popcount(lf) + std::popcount(cr) - std::popcount(paired));
    after_cr = cr >> (kMaskBits - 1);
  }
  return count;
}

#ifdef SLUICE_AVX2
/// Returns a mask with one bit for each of the 64 bytes at `at`; bits of CR and LF are set.
uint64_t AnyMarkedIn64(const char* at) {
  return AnyMarked<Vector>(at) | uint64_t{AnyMarked<Vector>(at + Vector::kBytes)} << 32;
}

/// Like AfterLastIn, for a text of at least 128 bytes. Most lines end in the last 128 bytes, so
/// the half with the line end is selected without a branch.
const char* AfterLastInLong(const char* begin, const char* end) {
  const uint64_t near = AnyMarkedIn64(end - 64), far = AnyMarkedIn64(end - 128);
  const uint64_t found = near != 0 ? near : far;
  if (found == 0) [[unlikely]]
    return AfterLastIn<Vector>(begin, end - 96);
  return (near != 0 ? end : end - 64) - std::countl_zero(found);
}
#endif

}  // namespace

const char* FindLineEnd(const char* at, const char* end) {
  if (end - at >= Vector::kBytes) return FindIn<Vector>(at, end);
  if (end - at >= Word::kBytes) return FindIn<Word>(at, end);
  return std::find_if(at, end, [](char byte) { return byte == '\n' || byte == '\r'; });
}

uint64_t CountLineEnds(const char* begin, const char* end) {
  const char* at = begin;
  uint64_t after_cr = 0;
  uint64_t count = CountIn<Vector>(at, end, after_cr);
  count += CountIn<Word>(at, end, after_cr);
  for (; at != end; ++at) {
    count += *at == '\r' || (*at == '\n' && after_cr == 0);
    after_cr = *at == '\r';
  }
  return count;
}

const char* AfterLastLineEnd(const char* begin, const char* end) {
#ifdef SLUICE_AVX2
  if (end - begin >= 128) return AfterLastInLong(begin, end);
#endif
  if (end - begin >= Vector::kBytes) return AfterLastIn<Vector>(begin, end);
  if (end - begin >= Word::kBytes) return AfterLastIn<Word>(begin, end);
  while (end != begin && end[-1] != '\n' && end[-1] != '\r') --end;
  return end;
}

}  // namespace sluice::engine::logmon
