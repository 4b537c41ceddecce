// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/client.h"

#include <gtest/gtest.h>

#include <string>

#include "packet/fixtures.h"

namespace sluice::rpc {
namespace {

using test::Bytes;
using test::FromHex;

TEST(Client, CallsAsTheRfcSays) {
  Bytes message(kCallBytes, 0xee);
  EXPECT_EQ(WriteCall(message.data(), 0x2a, 100000, 2, 4), message.size());
  EXPECT_EQ(message, FromHex("0000002a0000000000000002000186a00000000200000004"
                             "00000000000000000000000000000000"));
}

TEST(Client, ReadsEveryReplyAndNothingBeyond) {
  const std::string accepted = "0000002a00000001000000000000000000000000";
  const std::string denied = "0000002a0000000100000001";
  const Reply none{.xid = 0x2a};
  const auto with = [&](auto change) {
    Reply reply = none;
    change(reply);
    return reply;
  };
  const struct {
    const char* name;
    std::string hex;
    Reply reply;
    uint32_t needed;  ///< Number of bytes that the reader needs; a shorter message is truncated.
  } kCases[] = {
      {"success", accepted + "0000000000000007", with([](Reply& r) { r.result_bytes = 4; }), 24},
      {"a verifier",
       "0000002a00000001000000000000000100000005"
       "0000000000000000"
       "00000000",
       none, 32},
      {"no program", accepted + "00000001",
       with([](Reply& r) { r.accept = AcceptStat::kProgUnavail; }), 24},
      {"no version", accepted + "000000020000000200000004", with([](Reply& r) {
         r.accept = AcceptStat::kProgMismatch;
         r.low = 2, r.high = 4;
       }),
       32},
      {"system error", accepted + "00000005",
       with([](Reply& r) { r.accept = AcceptStat::kSystemErr; }), 24},
      {"RPC version", denied + "000000000000000200000002", with([](Reply& r) {
         r.stat = ReplyStat::kDenied;
         r.low = r.high = 2;
       }),
       24},
      {"too weak", denied + "0000000100000005", with([](Reply& r) {
         r.stat = ReplyStat::kDenied;
         r.reject = RejectStat::kAuthError;
         r.auth = AuthStat::kTooWeak;
       }),
       20},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const test::ExactBuffer buffer(FromHex(c.hex));
    Reply reply;
    ASSERT_EQ(ReadReply(buffer.data(), buffer.size(), &reply), ReplyError::kNone);
    EXPECT_EQ(reply.xid, c.reply.xid);
    EXPECT_EQ(reply.stat, c.reply.stat);
    EXPECT_EQ(reply.accept, c.reply.accept);
    EXPECT_EQ(reply.reject, c.reply.reject);
    EXPECT_EQ(reply.auth, c.reply.auth);
    EXPECT_EQ(reply.low, c.reply.low);
    EXPECT_EQ(reply.high, c.reply.high);
    EXPECT_EQ(reply.result_bytes, c.reply.result_bytes);
    for (uint32_t bytes = 0; bytes < c.needed; ++bytes) {
      const test::ExactBuffer cut(buffer.bytes(bytes));
      EXPECT_EQ(ReadReply(cut.data(), cut.size(), &reply), ReplyError::kTruncated) << bytes;
    }
  }
}

TEST(Client, OrSaysWhyItIsNone) {
  const struct {
    const char* hex;
    ReplyError error;
  } kCases[] = {
      {"0000002a0000000000000002", ReplyError::kNotAReply},
      {"0000002a0000000200000000", ReplyError::kNotAReply},
      {"0000002a0000000100000002", ReplyError::kUnknown},
      {"0000002a0000000100000000000000000000000000000006", ReplyError::kUnknown},
      {"0000002a000000010000000100000002", ReplyError::kUnknown},
      {"0000002a00000001000000000000000000000191", ReplyError::kBadVerifier},
      {"0000002a000000010000000000000000ffffffff", ReplyError::kBadVerifier},
  };
  for (const auto& c : kCases) {
    const test::ExactBuffer buffer(FromHex(c.hex));
    Reply reply;
    EXPECT_EQ(ReplyErrorName(ReadReply(buffer.data(), buffer.size(), &reply)),
              ReplyErrorName(c.error))
        << c.hex;
  }
}

}  // namespace
}  // namespace sluice::rpc
