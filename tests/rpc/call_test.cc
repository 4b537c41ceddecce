// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/call.h"

#include <gtest/gtest.h>

#include <string>

#include "packet/fixtures.h"
#include "rpc/reply.h"

namespace sluice::rpc {
namespace {

using test::Bytes;
using test::FromHex;

// RFC 5531 section 9 and appendix A: xid 0x2a, a call, RPC version 2, program 100000, version 2 and
// procedure 4. The credential, the verifier and the arguments follow.
const std::string kHead = "0000002a0000000000000002000186a00000000200000004";
const std::string kNone = "0000000000000000";
// Stamp 7, machine name "host" plus one letter, uid 1000, gid 100, groups 4 and 27.
const std::string kSys =
    "0000000100000024"
    "0000000700000005686f73746e000000"
    "000003e80000006400000002000000040000001b";

CallError Read(const Bytes& message, Call* call) {
  const test::ExactBuffer buffer(message);
  return ReadCall(buffer.data(), buffer.size(), call);
}
CallError Read(const std::string& hex) {
  Call call;
  return Read(FromHex(hex), &call);
}
std::string Zeros(size_t bytes) { return std::string(2 * bytes, '0'); }

TEST(Call, IsWrittenAsTheRfcSays) {
  Bytes message(kCallBytes, 0xee);
  WriteCall(message.data(), 0x2a, 100000, 2, 4);
  EXPECT_EQ(message, FromHex("0000002a0000000000000002000186a00000000200000004"
                             "00000000000000000000000000000000"));
}

TEST(Call, WithoutCredential) {
  const test::ExactBuffer buffer(FromHex(kHead + kNone + kNone + "00000007"));
  Call call;
  ASSERT_EQ(ReadCall(buffer.data(), buffer.size(), &call), CallError::kNone);
  EXPECT_EQ(call.xid, 0x2a);
  EXPECT_EQ(call.program, 100000);
  EXPECT_EQ(call.version, 2);
  EXPECT_EQ(call.procedure, 4);
  EXPECT_EQ(call.flavor, AuthFlavor::kNone);
  EXPECT_EQ(call.arguments, buffer.data() + 40);
  EXPECT_EQ(call.argument_bytes, 4);
}

TEST(Call, OfAUserOfASystem) {
  const test::ExactBuffer buffer(FromHex(kHead + kSys + kNone));
  Call call;
  ASSERT_EQ(ReadCall(buffer.data(), buffer.size(), &call), CallError::kNone);
  EXPECT_EQ(call.flavor, AuthFlavor::kSys);
  EXPECT_EQ(call.sys.stamp, 7);
  EXPECT_EQ(call.sys.machine_name, "hostn");
  EXPECT_EQ(call.sys.uid, 1000);
  EXPECT_EQ(call.sys.gid, 100);
  ASSERT_EQ(call.sys.groups, 2);
  EXPECT_EQ(call.sys.group(0), 4);
  EXPECT_EQ(call.sys.group(1), 27);
  EXPECT_EQ(call.argument_bytes, 0);
}

TEST(Call, LimitsAreThoseOfTheRfc) {
  const std::string name255(2 * 255, '6');
  const std::string zeros400 = Zeros(400), zeros404 = Zeros(404);
  const struct {
    const char* name;
    std::string hex;
    CallError error;
  } kCases[] = {
      {"longest AUTH_NONE body", kHead + "0000000000000190" + zeros400 + kNone, CallError::kNone},
      {"body of 401", kHead + "0000000000000191" + zeros404 + kNone, CallError::kBadCredential},
      {"body of 2^32 - 1", kHead + "00000000ffffffff" + zeros400 + kNone,
       CallError::kBadCredential},
      {"padded body", kHead + "0000000000000001" + Zeros(4) + kNone, CallError::kNone},
      {"longest verifier", kHead + kNone + "0000000000000190" + zeros400, CallError::kNone},
      {"verifier of 401", kHead + kNone + "0000000000000191" + zeros404, CallError::kBadVerifier},
      {"AUTH_SHORT", kHead + "0000000200000000" + kNone, CallError::kFlavor},
      {"AUTH_DH", kHead + "0000000300000000" + kNone, CallError::kFlavor},
      {"RPCSEC_GSS", kHead + "0000000600000000" + kNone, CallError::kFlavor},
      {"longest name",
       kHead + "0000000100000114" + "00000000000000ff" + name255 + "00" + Zeros(12) + kNone,
       CallError::kNone},
      {"name of 256",
       kHead + "0000000100000114" + "0000000000000100" + name255 + "66" + Zeros(12) + kNone,
       CallError::kBadCredential},
      {"16 groups", kHead + "0000000100000054" + Zeros(16) + "00000010" + Zeros(64) + kNone,
       CallError::kNone},
      {"17 groups", kHead + "0000000100000058" + Zeros(16) + "00000011" + Zeros(68) + kNone,
       CallError::kBadCredential},
      {"groups beyond the body", kHead + "0000000100000014" + Zeros(16) + "00000001" + kNone,
       CallError::kBadCredential},
      {"name beyond the body", kHead + "0000000100000014" + "0000000000000004" + Zeros(12) + kNone,
       CallError::kBadCredential},
      {"AUTH_SYS of 16 bytes", kHead + "0000000100000010" + Zeros(16) + kNone,
       CallError::kBadCredential},
      {"RPC version 1", "0000002a0000000000000001", CallError::kRpcVersion},
      {"RPC version 3", "0000002a0000000000000003" + Zeros(28), CallError::kRpcVersion},
      {"a reply", "0000002a0000000100000000" + Zeros(12), CallError::kNotACall},
      {"neither", "0000002a00000002" + Zeros(32), CallError::kNotACall},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Read(c.hex), c.error) << c.name;
  }
}

TEST(Call, CutAnywhereInTheHeaderIsNone) {
  for (const std::string& credential : {kNone, kSys}) {
    const Bytes whole = FromHex(kHead + credential + kNone);
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
      Call call;
      EXPECT_EQ(Read(Bytes(whole.begin(), whole.begin() + bytes), &call), CallError::kTruncated)
          << bytes;
    }
  }
}

TEST(Reply, IsThatOfTheRfc) {
  const auto written = [](auto write) {
    Bytes bytes(kMaxReplyBytes);
    bytes.resize(write(bytes.data()));
    return bytes;
  };
  const std::string accepted = "0000002a000000010000000000000000000000000000000";
  const AcceptStat kStats[] = {AcceptStat::kSuccess, AcceptStat::kProgUnavail,
                               AcceptStat::kProcUnavail, AcceptStat::kGarbageArgs,
                               AcceptStat::kSystemErr};
  const char* const kDigits[] = {"0", "1", "3", "4", "5"};
  for (size_t i = 0; i < std::size(kStats); ++i) {
    EXPECT_EQ(written([&](uint8_t* to) { return WriteAccepted(to, 0x2a, kStats[i]); }),
              FromHex(accepted + kDigits[i]));
    EXPECT_EQ(written([&](uint8_t* to) { return WriteNotFound(to, 0x2a, {.stat = kStats[i]}); }),
              FromHex(accepted + kDigits[i]));
  }
  EXPECT_EQ(written([](uint8_t* to) {
              return WriteNotFound(to, 0x2a,
                                   {.stat = AcceptStat::kProgMismatch, .low = 2, .high = 4});
            }),
            FromHex(accepted + "20000000200000004"));
  const struct {
    CallError error;
    const char* reply;
  } kRefusals[] = {
      {CallError::kRpcVersion,
       "0000002a000000010000000100000000"
       "0000000200000002"},
      {CallError::kBadCredential,
       "0000002a000000010000000100000001"
       "00000001"},
      {CallError::kFlavor,
       "0000002a000000010000000100000001"
       "00000002"},
      {CallError::kBadVerifier,
       "0000002a000000010000000100000001"
       "00000003"},
      {CallError::kTruncated, ""},
      {CallError::kNotACall, ""},
  };
  for (const auto& c : kRefusals) {
    EXPECT_EQ(written([&](uint8_t* to) { return WriteRefusal(to, 0x2a, c.error); }),
              FromHex(c.reply));
  }
  EXPECT_EQ(written([](uint8_t* to) { return WriteAuthError(to, 0x2a, AuthStat::kTooWeak); }),
            FromHex("0000002a00000001000000010000000100000005"));
}

}  // namespace
}  // namespace sluice::rpc
