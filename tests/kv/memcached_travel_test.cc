// SPDX-License-Identifier: BSD-3-Clause
//
// Tests datagrams with requests for several workers.
#include <gtest/gtest.h>

#include "memcached_lab.h"

namespace sluice::engine::kv {
namespace {

class MemcachedTravel : public ::testing::Test {
 protected:
  std::string Set(const std::string& key, const std::string& value) {
    return lab_.Ask("set " + key + " 0 0 " + std::to_string(value.size()) + "\r\n" + value +
                    "\r\n");
  }
  static std::string Item(const std::string& key, const std::string& value) {
    return "VALUE " + key + " 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
  }

  MemcachedLab lab_{{.workers = 3, .concurrent_read = false, .allow_flush = true}};
  const std::string mine_ = lab_.KeyOf(0);
  const std::string second_ = lab_.KeyOf(1);
  const std::string third_ = lab_.KeyOf(2);
};

TEST_F(MemcachedTravel, OfAMultiGetGoesFromKeyToKey) {
  for (const std::string& key : {mine_, second_, third_}) {
    EXPECT_EQ(Set(key, "v" + key), "STORED\r\n");
  }
  EXPECT_EQ(lab_.Ask("mn\r\nget " + mine_ + "  " + third_ + " none " + second_ + " " + third_ +
                     " \r\nmn\r\n"),
            "MN\r\n" + Item(mine_, "v" + mine_) + Item(third_, "v" + third_) +
                Item(second_, "v" + second_) + Item(third_, "v" + third_) + "END\r\nMN\r\n");
  EXPECT_GE(lab_.hops, 3);
  EXPECT_EQ(lab_.counters.get_hits, 4u);
  EXPECT_EQ(lab_.counters.get_misses, 1u);
  EXPECT_EQ(lab_.counters.requests, 3u + 3);
}

TEST_F(MemcachedTravel, OfAGetAndTouchDoesNotLoseItsTime) {
  Set(mine_, "a");
  Set(second_, "b");
  EXPECT_EQ(lab_.Ask("gat 30 " + mine_ + " " + second_ + "\r\n"),
            Item(mine_, "a") + Item(second_, "b") + "END\r\n");
  EXPECT_EQ(lab_.Ask("mg " + second_ + " t\r\n"), "HD t30\r\n");
}

TEST_F(MemcachedTravel, TakesTheWholeGetBackIfALaterKeyFails) {
  Set(mine_, "a");
  Set(second_, std::string(500, 'b'));
  const std::string both = "get " + mine_ + " " + second_;
  EXPECT_EQ(lab_.Ask("mn\r\n" + both + " " + std::string(251, 'k') + "\r\nmn\r\n"),
            "MN\r\nCLIENT_ERROR bad command line format\r\nMN\r\n");
  lab_.max_reply_bytes = 400;
  EXPECT_EQ(lab_.Ask("mn\r\n" + both + "\r\nmn\r\n"),
            "MN\r\nSERVER_ERROR reply too long\r\nMN\r\n");
}

TEST_F(MemcachedTravel, OfWritesServesEachOnceAndInOrder) {
  const std::string keys[] = {second_, mine_, third_, second_, mine_};
  std::string requests;
  for (const std::string& key : keys) {
    requests += "ma " + key + " N0 J1 v\r\n";
  }
  EXPECT_EQ(lab_.Ask(requests),
            "VA 1\r\n1\r\nVA 1\r\n1\r\nVA 1\r\n1\r\nVA 1\r\n2\r\nVA 1\r\n2\r\n");
  EXPECT_EQ(lab_.counters.requests, 5u);
  EXPECT_EQ(lab_.counters.sets, 3u);
  EXPECT_EQ(lab_.counters.incr_hits, 2u);
}

TEST_F(MemcachedTravel, OfAFlushVisitsEveryWorkerOnce) {
  for (const std::string& key : {mine_, second_, third_}) Set(key, "v");
  EXPECT_EQ(lab_.Ask("flush_all\r\n"), "OK\r\n");
  EXPECT_EQ(lab_.hops, 2);
  EXPECT_EQ(lab_.Ask("get " + mine_ + " " + second_ + " " + third_ + "\r\n"), "END\r\n");
}

TEST_F(MemcachedTravel, IsNotNeededForReadsThatAreConcurrent) {
  MemcachedLab lab({.workers = 3});
  for (const std::string& key : {mine_, second_, third_}) {
    lab.Ask("set " + key + " 0 0 1\r\nx\r\n");
  }
  EXPECT_EQ(lab.Ask("get " + third_ + " " + mine_ + " " + second_ + "\r\nmg " + third_ + " v\r\n"),
            Item(third_, "x") + Item(mine_, "x") + Item(second_, "x") + "END\r\nVA 1\r\nx\r\n");
  EXPECT_EQ(lab.hops, 0);
  lab.Ask("gat 5 " + third_ + "\r\n");
  EXPECT_EQ(lab.hops, 1);
}

}  // namespace
}  // namespace sluice::engine::kv
