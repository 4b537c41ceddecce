// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/record.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "packet/fixtures.h"

namespace sluice::rpc {
namespace {

using State = RecordReader::State;
using test::Bytes;
using test::FromHex;

constexpr uint32_t kMax = 16;

/// Returns the records in `stream` as text, or "?" after an error. Passes `step` bytes at a time.
std::vector<std::string> Records(const Bytes& stream, size_t step) {
  RecordReader reader(kMax);
  std::vector<std::string> records;
  for (size_t at = 0; at < stream.size(); at += step) {
    const test::ExactBuffer part({stream.data() + at, std::min(step, stream.size() - at)});
    std::span<const uint8_t> bytes(part.data(), part.size());
    while (!bytes.empty()) {
      const State state = reader.Consume(&bytes);
      EXPECT_LE(reader.record().size(), kMax);
      if (state == State::kMore) break;
      if (state == State::kTooLong) {
        records.push_back("?");
        return records;
      }
      records.emplace_back(reader.record().begin(), reader.record().end());
    }
  }
  return records;
}

// RFC 5531 section 11: the highest bit of the four bytes marks the last fragment; the other 31 bits
// are its length.
TEST(Record, IsPutTogetherHoweverItsBytesCome) {
  const struct {
    const char* name;
    const char* stream;
    std::vector<std::string> records;
  } kCases[] = {
      {"one fragment",
       "8000000361626380000002"
       "6465",
       {"abc", "de"}},
      {"three fragments",
       "00000001610000000262638000000164"
       "8000000165",
       {"abcd", "e"}},
      {"empty fragments",
       "000000000000000080000000"
       "8000000161",
       {"", "a"}},
      {"the longest",
       "80000010"
       "30313233343536373839303132333435",
       {"0123456789012345"}},
      {"longer", "80000011", {"?"}},
      {"longer by its second fragment",
       "000000083031323334353637"
       "80000009",
       {"?"}},
      {"a wrong length", "ffffffff", {"?"}},
      {"one that is none", "7fffffff", {"?"}},
      {"half of one",
       "80000003"
       "6162",
       {}},
      {"half of a mark", "800000", {}},
  };
  for (const auto& c : kCases) {
    const Bytes stream = FromHex(c.stream);
    for (size_t step = 1; step <= stream.size(); ++step) {
      EXPECT_EQ(Records(stream, step), c.records) << c.name << ", by " << step;
    }
  }
}

TEST(Record, IsMarkedAsTheLastFragment) {
  Bytes mark(4);
  WriteMark(mark.data(), 0x1234);
  EXPECT_EQ(mark, FromHex("80001234"));
}

}  // namespace
}  // namespace sluice::rpc
