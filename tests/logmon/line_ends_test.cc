// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/line_ends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

#include "engine/logmon/scan/text_copy.h"

namespace sluice::engine::logmon {
namespace {

/// The expected results, computed byte by byte.
struct Expected {
  explicit Expected(std::string_view text) {
    first = std::min(text.find_first_of("\r\n"), text.size());
    after_last = text.find_last_of("\r\n") + 1;
    for (size_t i = 0; i < text.size(); ++i) {
      const bool of_a_pair = text[i] == '\n' && i > 0 && text[i - 1] == '\r';
      count += (text[i] == '\r' || text[i] == '\n') && !of_a_pair;
      // RFC 1071 in little-endian byte order.
      sum += uint64_t{static_cast<uint8_t>(text[i])} << i % 2 * 8;
    }
  }
  size_t first, after_last, count = 0;
  uint64_t sum = 0;
};

void ExpectRight(const std::vector<char>& bytes) {
  const char* const begin = bytes.data();
  const char* const end = begin + bytes.size();
  const Expected expected({begin, bytes.size()});
  ASSERT_EQ(FindLineEnd(begin, end), begin + expected.first);
  ASSERT_EQ(AfterLastLineEnd(begin, end), begin + expected.after_last);
  // The bytes before and after the copy must stay unchanged.
  std::vector<char> copy(bytes.size() + 2, '?'), same{'?'};
  same.insert(same.end(), bytes.begin(), bytes.end());
  same.push_back('?');
  const CopiedText copied = CopyText({begin, bytes.size()}, &copy[1]);
  ASSERT_EQ(copy, same);
  ASSERT_EQ(copied.line_ends, expected.count);
  ASSERT_EQ(copied.sum % 0xffff, expected.sum % 0xffff);
  ASSERT_EQ(copied.sum == 0, expected.sum == 0);
}

TEST(LineEnds, AreFoundAtEveryPlaceOfTextsOfEveryLength) {
  for (size_t size = 0; size <= 200; ++size) {
    ExpectRight(std::vector<char>(size, 'x'));
    for (size_t at = 0; at < size; ++at) {
      for (const char byte : {'\n', '\r'}) {
        std::vector<char> bytes(size, 'x');
        bytes[at] = byte;
        ExpectRight(bytes);
        if (at + 1 < size) bytes[at + 1] = '\n';
        ExpectRight(bytes);
      }
    }
  }
}

TEST(LineEnds, AreToldFromAllOtherBytes) {
  for (int value = 0; value < 256; ++value) {
    for (const size_t size : {7, 31, 64, 2000}) {
      ExpectRight(std::vector<char>(size, static_cast<char>(value)));
    }
  }
}

TEST(LineEnds, AreCountedInTextsOfAllMixtures) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    const uint64_t density = 1 + random() % 60;
    std::vector<char> bytes(random() % (round % 10 ? 300 : 20000));
    for (char& byte : bytes) {
      byte = random() % density ? static_cast<char>(random()) : "\r\n"[random() % 2];
    }
    ExpectRight(bytes);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace sluice::engine::logmon
