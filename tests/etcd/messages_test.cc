// SPDX-License-Identifier: BSD-3-Clause
//
// Tests answers from the documentation of the etcd gateway ("gRPC gateway", etcd v3), and invalid
// answers.
#include "etcd/messages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::etcd {
namespace {

constexpr int64_t kLease = 7587862094014;

TEST(EtcdMessages, LeaseIsReadFromBothAnswers) {
  std::string error;
  const auto granted =
      ReadGrant(R"({"header":{"revision":"9"},"ID":"7587862094014","TTL":"2"})", &error);
  ASSERT_TRUE(granted) << error;
  EXPECT_EQ(granted->id, kLease);
  EXPECT_EQ(granted->seconds, 2);
  const auto alive = ReadKeepAlive(R"({"result":{"ID":"7587862094014","TTL":"2"}})", &error);
  ASSERT_TRUE(alive) << error;
  EXPECT_EQ(alive->id, kLease);
  EXPECT_EQ(alive->seconds, 2);
  // JSON omits members that are 0: the lease has expired.
  const auto gone = ReadKeepAlive(R"({"result":{"ID":"7587862094014"}})", &error);
  ASSERT_TRUE(gone) << error;
  EXPECT_EQ(gone->seconds, 0);
}

TEST(EtcdMessages, LeasesThatAreNoneHaveAReason) {
  for (const std::string& grant :
       {std::string(), std::string("x"), std::string("[]"), std::string("{}"),
        std::string(100'000, '['), std::string("\xff\xfe"), std::string(1 << 17, 'y'),
        std::string(R"({"ID":7,"TTL":"2"})"), std::string(R"({"ID":"0","TTL":"2"})"),
        std::string(R"({"ID":"-3","TTL":"2"})"), std::string(R"({"ID":"3"})"),
        std::string(R"({"ID":"3","TTL":"0"})"), std::string(R"({"ID":"3","TTL":"-1"})"),
        std::string(R"({"ID":"99999999999999999999","TTL":"2"})"),
        std::string(R"({"ID":"3","TTL":"2")")}) {
    std::string error;
    EXPECT_FALSE(ReadGrant(grant, &error)) << grant.substr(0, 80);
    EXPECT_NE(error.find("not from etcd"), std::string::npos) << grant.substr(0, 80);
    if (grant.find("\"TTL\":\"2\"}") == std::string::npos) continue;
    error.clear();
    EXPECT_FALSE(ReadKeepAlive(R"({"result":)" + grant + "}", &error)) << grant;
    EXPECT_NE(error.find("not from etcd"), std::string::npos) << grant;
  }
}

TEST(EtcdMessages, AnAnswerHasAHeader) {
  std::string error;
  EXPECT_TRUE(IsAnswer(R"({"header":{"revision":"9"}})", &error));
  for (const char* json : {"", "{}", R"({"header":3})", "[]", R"("header")"}) {
    error.clear();
    EXPECT_FALSE(IsAnswer(json, &error)) << json;
    EXPECT_NE(error.find("not from etcd"), std::string::npos) << json;
  }
}

}  // namespace
}  // namespace sluice::etcd
