// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/line_ends.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

namespace sluice::engine::logmon {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kLows = 0x7f7f7f7f7f7f7f7f;

uint64_t Word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

/// The high bit of each byte that is zero, and no other bit.
uint64_t Zeros(uint64_t word) { return ~(((word & kLows) + kLows) | word | kLows); }

/// The high bit of each byte that is CR or LF.
uint64_t LineEnds(uint64_t word) { return Zeros(word ^ kOnes * '\n') | Zeros(word ^ kOnes * '\r'); }

bool IsLineEnd(char byte) { return byte == '\n' || byte == '\r'; }

/// Vectors whatever the processor's are.
constexpr int kBlockBytes = 32;
using Block __attribute__((vector_size(kBlockBytes))) = uint8_t;
/// Blocks after which the count in a byte of a block may be full.
constexpr ptrdiff_t kBlocksPerSum = 255;

uint64_t Sum(const Block& counts) {
  uint64_t sum = 0;
  for (int i = 0; i < kBlockBytes; ++i) sum += counts[i];
  return sum;
}

/// Sums `count(at)`, a block of zeros and ones, over the whole blocks of [begin, end), and
/// `count_byte(at)` over the bytes behind them.
template <typename CountBlock, typename CountByte>
uint64_t CountAll(const char* begin, const char* end, CountBlock&& count, CountByte&& count_byte) {
  uint64_t sum = 0;
  const char* at = begin;
  while (end - at >= kBlockBytes) {
    const char* const stop =
        at + std::min(kBlocksPerSum, (end - at) / kBlockBytes) * kBlockBytes;
    Block counts{};
    for (; at != stop; at += kBlockBytes) count(at, &counts);
    sum += Sum(counts);
  }
  for (; at != end; ++at) sum += count_byte(at);
  return sum;
}

/// CRs that no LF follows.
uint64_t CountLoneCrs(const char* begin, const char* end) {
  if (begin == end) return 0;
  // The last byte has none behind it.
  const char* const last = end - 1;
  return (*last == '\r') +
         CountAll(
             begin, last,
             [](const char* at, Block* counts) {
               Block here, next;
               std::memcpy(&here, at, sizeof(here));
               std::memcpy(&next, at + 1, sizeof(next));
               *counts -= reinterpret_cast<Block>((here == '\r') & (next != '\n'));
             },
             [](const char* at) { return *at == '\r' && at[1] != '\n'; });
}

}  // namespace

const char* FindLineEnd(const char* at, const char* end) {
  for (; end - at >= 8; at += 8) {
    if (const uint64_t found = LineEnds(Word(at))) return at + std::countr_zero(found) / 8;
  }
  while (at != end && !IsLineEnd(*at)) ++at;
  return at;
}

const char* BehindLastLineEnd(const char* begin, const char* end) {
  for (; end - begin >= 8; end -= 8) {
    if (const uint64_t found = LineEnds(Word(end - 8))) return end - std::countl_zero(found) / 8;
  }
  while (end != begin && !IsLineEnd(end[-1])) --end;
  return end;
}

uint64_t CountLineEnds(const char* begin, const char* end) {
  Block any_cr{};
  bool cr_behind = false;
  const uint64_t lfs = CountAll(
      begin, end,
      [&](const char* at, Block* counts) {
        Block here;
        std::memcpy(&here, at, sizeof(here));
        *counts -= reinterpret_cast<Block>(here == '\n');
        any_cr |= reinterpret_cast<Block>(here == '\r');
      },
      [&](const char* at) {
        cr_behind |= *at == '\r';
        return *at == '\n';
      });
  // Most texts have no CR at all.
  uint64_t words[kBlockBytes / 8];
  std::memcpy(words, &any_cr, sizeof(words));
  const bool has_cr = cr_behind || (words[0] | words[1] | words[2] | words[3]) != 0;
  return lfs + (has_cr ? CountLoneCrs(begin, end) : 0);
}

}  // namespace sluice::engine::logmon
