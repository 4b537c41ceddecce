// SPDX-License-Identifier: BSD-3-Clause
#include "request.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "workload.h"

namespace sluice::sched {
namespace {

using Bytes = std::vector<uint8_t>;

// The bytes follow the table in request.h.
const Bytes kRequest = {'S',  'L',  'S',  'Q',  1,    1,    0,    1,    0x01, 0x23, 0x45, 0x67,
                        0x89, 0xab, 0xcd, 0xef, 0x00, 0x07, 0xa1, 0x20, 0,    0,    0,    0};
const Bytes kReply = {'S',  'L',  'S',  'A',  1, 7, 0x80, 1, 0x01, 0x23, 0x45, 0x67,
                      0x89, 0xab, 0xcd, 0xef, 0, 0, 1,    2, 0,    0,    3,    4};

Fault FaultOf(Bytes bytes) {
  Request request;
  return Read(std::span<const uint8_t>(bytes), request);
}

Bytes With(size_t at, uint8_t value) {
  Bytes bytes = kRequest;
  bytes[at] = value;
  return bytes;
}

TEST(Request, IsReadAsItsTableSays) {
  Request request;
  ASSERT_EQ(Read(std::span<const uint8_t>(kRequest), request), Fault::kNone);
  EXPECT_EQ(request, (Request{.id = 0x0123456789abcdef,
                              .service_ns = 500'000,
                              .flags = kNoSafePoints,
                              .task_class = 1}));
}

TEST(Request, IsWrittenAsItsTableSays) {
  std::array<uint8_t, kRequestBytes> bytes;
  bytes.fill(0xff);
  Write(
      Request{
          .id = 0x0123456789abcdef, .service_ns = 500'000, .flags = kNoSafePoints, .task_class = 1},
      bytes);
  EXPECT_EQ(Bytes(bytes.begin(), bytes.end()), kRequest);
}

TEST(Reply, IsReadAndWrittenAsItsTableSays) {
  const Reply expected{.id = 0x0123456789abcdef,
                       .ran_ns = 0x102,
                       .waited_ns = 0x304,
                       .flags = kCut | kNoSafePoints,
                       .task_class = 7};
  Reply reply;
  ASSERT_EQ(Read(std::span<const uint8_t>(kReply), reply), Fault::kNone);
  EXPECT_EQ(reply, expected);
  std::array<uint8_t, kReplyBytes> bytes;
  Write(expected, bytes);
  EXPECT_EQ(Bytes(bytes.begin(), bytes.end()), kReply);
}

TEST(Request, CutAtAnyByteIsTooShort) {
  for (size_t length = 0; length < kRequest.size(); ++length) {
    // An allocation of the exact size, so that a sanitizer detects overruns.
    EXPECT_EQ(FaultOf(Bytes(kRequest.begin(), kRequest.begin() + static_cast<long>(length))),
              Fault::kLength)
        << length;
  }
}

TEST(Request, WithBytesBehindItIsTooLong) {
  for (const size_t more : {size_t{1}, size_t{24}, size_t{1400}, size_t{65507}}) {
    Bytes bytes = kRequest;
    bytes.resize(bytes.size() + more);
    EXPECT_EQ(FaultOf(bytes), Fault::kLength);
  }
}

TEST(Request, EachFieldHasItsFault) {
  for (size_t at = 0; at < 4; ++at) EXPECT_EQ(FaultOf(With(at, 0)), Fault::kMagic);
  EXPECT_EQ(FaultOf(With(3, 'A')), Fault::kMagic) << "a reply is no request";
  for (const uint8_t version : {0, 2, 255}) EXPECT_EQ(FaultOf(With(4, version)), Fault::kVersion);
  for (uint8_t task_class = 0; task_class < 8; ++task_class) {
    EXPECT_EQ(FaultOf(With(5, task_class)), Fault::kNone);
  }
  for (const uint8_t task_class : {8, 64, 255}) {
    EXPECT_EQ(FaultOf(With(5, task_class)), Fault::kClass);
  }
  for (const uint8_t flags : {2, 4, 0x80, 0xff}) EXPECT_EQ(FaultOf(With(7, flags)), Fault::kFlags);
  EXPECT_EQ(FaultOf(With(6, 0x80)), Fault::kFlags) << "a reply's flag";
  for (size_t at = 20; at < 24; ++at) EXPECT_EQ(FaultOf(With(at, 1)), Fault::kFlags);
}

TEST(Request, ServiceIsOneSecondAtMost) {
  Bytes bytes = kRequest;
  const std::array<uint8_t, 4> second = {0x3b, 0x9a, 0xca, 0x00};
  std::copy(second.begin(), second.end(), bytes.begin() + 16);
  EXPECT_EQ(FaultOf(bytes), Fault::kNone);
  bytes[19] = 1;
  EXPECT_EQ(FaultOf(bytes), Fault::kService);
  for (size_t i = 16; i < 20; ++i) bytes[i] = 0xff;
  EXPECT_EQ(FaultOf(bytes), Fault::kService);
}

TEST(Request, ThatIsRefusedChangesNothing) {
  Request request{.id = 77};
  const Bytes bytes = With(4, 9);
  EXPECT_EQ(Read(std::span<const uint8_t>(bytes), request), Fault::kVersion);
  EXPECT_EQ(request, Request{.id = 77});
}

TEST(Workload, HasTheSharesAndTheRateThatItWasGiven) {
  WorkloadOptions options;
  options.rate = 1e6;
  options.long_share = 0.1;
  options.runaway_share = 0.5;
  Workload workload(options, 5'000);
  constexpr int kMany = 200'000;
  int longs = 0, runaways = 0;
  uint64_t last = 0;
  for (int i = 0; i < kMany; ++i) {
    ASSERT_GE(workload.due_ns(), last);
    last = workload.due_ns();
    const Request request = workload.Pop();
    ASSERT_EQ(request.id, static_cast<uint64_t>(i));
    const bool is_long = request.task_class == kLongClass;
    longs += is_long;
    runaways += (request.flags & kNoSafePoints) != 0;
    ASSERT_EQ(request.service_ns, is_long ? 500'000u : 5'000u);
    if (!is_long) {
      ASSERT_EQ(request.flags, 0);
    }
  }
  // The bounds are ten standard deviations of the binomial and Poisson counts.
  EXPECT_NEAR(longs, 0.1 * kMany, 10 * std::sqrt(kMany * 0.1 * 0.9));
  EXPECT_NEAR(runaways, longs * 0.5, 10 * std::sqrt(longs * 0.25));
  EXPECT_NEAR(static_cast<double>(last), 1e9 * kMany / 1e6, 10 * 1e3 * std::sqrt(kMany));
}

TEST(Workload, LoadIsTheMeanServiceTimesTheRate) {
  // 0.995 * 5 us + 0.005 * 500 us = 7.475 us.
  EXPECT_NEAR(Load({.rate = 100'000}), 0.7475, 1e-9);
}

TEST(Workload, ComplainsOfWhatMakesNoSense) {
  EXPECT_EQ(WhatIsWrong({}), "");
  for (const double rate : {0.0, -1.0, std::nan(""), 1e9}) {
    EXPECT_NE(WhatIsWrong({.rate = rate}), "");
  }
  EXPECT_NE(WhatIsWrong({.short_us = -1}), "");
  EXPECT_NE(WhatIsWrong({.long_us = 2e6}), "");
  EXPECT_NE(WhatIsWrong({.long_share = 1.1}), "");
  EXPECT_NE(WhatIsWrong({.runaway_share = std::nan("")}), "");
}

}  // namespace
}  // namespace sluice::sched
