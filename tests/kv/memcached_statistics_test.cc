// SPDX-License-Identifier: BSD-3-Clause
//
// Tests what `stats` returns and when it is answered. memcached_oracle_test.py compares the counts
// with memcached.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "memcached_lab.h"
#include "server_lab.h"

namespace sluice::engine::kv {
namespace {

using Figures = std::map<std::string, std::string>;

// Parses an ASCII protocol reply, which consists of lines "STAT name value", and END.
Figures FiguresIn(const std::string& reply) {
  Figures figures;
  std::istringstream lines(reply);
  bool ended = false;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(!ended && line.ends_with('\r')) << reply;
    line.pop_back();
    ended = line == "END";
    if (ended) continue;
    EXPECT_TRUE(line.starts_with("STAT ")) << line;
    const size_t space = line.find(' ', 5);
    figures[line.substr(5, space - 5)] = line.substr(space + 1);
  }
  EXPECT_TRUE(ended) << reply;
  return figures;
}

TEST(MemcachedStatistics, AreThoseOfTheMoment) {
  MemcachedLab lab;
  const std::string reply = lab.Ask("set a 0 0 1\r\nx\r\nget a b\r\nstats\r\n");
  Figures figures = FiguresIn(reply.substr(reply.find("STAT")));
  EXPECT_EQ(figures["curr_items"], "1");
  EXPECT_EQ(figures["total_items"], "1");
  EXPECT_EQ(figures["cmd_set"], "1");
  EXPECT_EQ(figures["cmd_get"], "2");
  EXPECT_EQ(figures["get_hits"], "1");
  EXPECT_EQ(figures["get_misses"], "1");
  EXPECT_EQ(figures["udp_requests"], "2") << "stats itself is not served yet";
}

TEST(MemcachedStatistics, TellWhoAnswers) {
  const ServerFacts server{.version = "1.2.3", .pid = 77, .started_unix_s = 1'699'999'990};
  MemcachedLab lab({.workers = 3});
  EXPECT_EQ(lab.Ask("version\r\n"), "VERSION unknown\r\n");
  EXPECT_FALSE(FiguresIn(lab.Ask("stats\r\n")).contains("pid"));
  lab.server = &server;
  EXPECT_EQ(lab.Ask("version\r\n"), "VERSION 1.2.3\r\n");
  Figures figures = FiguresIn(lab.Ask("stats\r\n"));
  EXPECT_EQ(figures["pid"], "77");
  EXPECT_EQ(figures["version"], "1.2.3");
  EXPECT_EQ(figures["time"], "1700000000");
  EXPECT_EQ(figures["uptime"], "10");
  EXPECT_EQ(figures["pointer_size"], "64");
  EXPECT_EQ(figures["threads"], "3");
}

TEST(MemcachedStatistics, AreThoseOfAllWorkers) {
  Host host(LabOptions(), 2);
  for (const uint32_t worker : {0u, 1u, 1u}) host.Receive(Get("none"), worker);
  host.Sent();
  for (const uint32_t worker : {0u, 1u}) {
    host.Receive(Udp(kMemcachedPort, Ascii("stats\r\n")), worker);
    const Frame answer = host.Sent().at(0);
    Figures figures = FiguresIn({answer.begin() + 50, answer.end()});
    EXPECT_EQ(figures["cmd_get"], "3");
    EXPECT_EQ(figures["version"], "1");
  }
}

TEST(MemcachedStatistics, SettingsAreTheServersOwn) {
  const ServerFacts server{.version = "1", .udp_port = 11211};
  MemcachedLab cache({.workers = 2});
  cache.server = &server;
  Figures settings = FiguresIn(cache.Ask("stats settings\r\n"));
  EXPECT_EQ(settings["maxbytes"], FiguresIn(cache.Ask("stats\r\n"))["limit_maxbytes"]);
  EXPECT_EQ(settings["udpport"], "11211");
  EXPECT_EQ(settings["tcpport"], "0");
  EXPECT_EQ(settings["evictions"], "on");
  EXPECT_EQ(settings["num_threads"], "2");
  EXPECT_EQ(settings["flush_enabled"], "no");
  EXPECT_EQ(settings["cas_enabled"], "yes");
  MemcachedLab store({.allow_flush = true, .mode = Mode::kStore});
  settings = FiguresIn(store.Ask("stats settings\r\n"));
  EXPECT_EQ(settings["evictions"], "off");
  EXPECT_EQ(settings["flush_enabled"], "yes");
  EXPECT_EQ(settings["item_size_max"], "1048576");
}

TEST(MemcachedStatistics, ClassesAreThePartitionsThatHaveItems) {
  MemcachedLab lab({.workers = 3});
  EXPECT_EQ(lab.Ask("stats items\r\n"), "END\r\n");
  EXPECT_EQ(lab.Ask("stats slabs\r\n"), "STAT active_slabs 0\r\nSTAT total_malloced 0\r\nEND\r\n");
  for (int i = 0; i < 2; ++i) lab.Ask("set " + lab.KeyOf(2, i) + " 0 0 1\r\nx\r\n");
  // Each item has 24 bytes of header, a key of four or five bytes, and a value.
  EXPECT_EQ(lab.Ask("stats items\r\n"),
            "STAT items:3:number 2\r\nSTAT items:3:mem_requested 80\r\n"
            "STAT items:3:evicted 0\r\nSTAT items:3:outofmemory 0\r\nEND\r\n");
  Figures slabs = FiguresIn(lab.Ask("stats slabs\r\n"));
  EXPECT_EQ(slabs["3:used_chunks"], "2");
  EXPECT_EQ(slabs["3:mem_requested"], "80");
  EXPECT_EQ(slabs["active_slabs"], "1");
  EXPECT_EQ(slabs["total_malloced"], std::to_string(lab.store.partitions[2].reserved_bytes()));
}

TEST(MemcachedStatistics, AResetIsMemcachedsAlone) {
  MemcachedLab lab;
  lab.Ask("set a 0 0 1\r\nx\r\nget a\r\n");
  EXPECT_EQ(lab.Ask("stats reset\r\n"), "RESET\r\n");
  Figures figures = FiguresIn(lab.Ask("stats\r\n"));
  EXPECT_EQ(figures["cmd_get"], "0");
  EXPECT_EQ(figures["cmd_set"], "0");
  EXPECT_EQ(figures["total_items"], "0");
  EXPECT_EQ(figures["curr_items"], "1") << "items are no count";
  EXPECT_EQ(lab.counters.get_hits, 1u) << "reports keep theirs";
  lab.Ask("get a\r\nset b 0 0 1\r\nx\r\n");
  figures = FiguresIn(lab.Ask("stats\r\n"));
  EXPECT_EQ(figures["get_hits"], "1");
  EXPECT_EQ(figures["total_items"], "1");
}

TEST(MemcachedStatistics, AListThatDoesNotFitIsAnError) {
  MemcachedLab lab;
  lab.Ask("set a 0 0 1\r\nx\r\n");
  for (const char* const list : {"", " settings", " items", " slabs"}) {
    lab.max_reply_bytes = 65536;
    const std::string whole = lab.Ask("stats" + std::string(list) + "\r\n");
    for (uint32_t bound = 96; bound < whole.size() + 200; ++bound) {
      lab.max_reply_bytes = bound;
      const std::string reply = lab.Ask("stats" + std::string(list) + "\r\n");
      if (reply != "SERVER_ERROR reply too long\r\n") {
        ASSERT_EQ(FiguresIn(reply).size(), FiguresIn(whole).size()) << bound;
      }
      ASSERT_LE(reply.size(), bound);
    }
  }
}

// Opcode 0x10 of memcached's protocol_binary.txt: one packet per figure, then an empty one.
TEST(MemcachedStatistics, HaveAPacketEachInTheBinaryProtocol) {
  const auto ask = [](MemcachedLab& lab, const std::string& key) {
    std::string request("\x80\x10\0\0\0\0\0\0\0\0\0\0tell\0\0\0\0\0\0\0\0", 24);
    request[3] = request[11] = static_cast<char>(key.size());
    return lab.Ask(request + key);
  };
  const std::string done("\x81\x10\0\0\0\0\0\0\0\0\0\0tell\0\0\0\0\0\0\0\0", 24);
  MemcachedLab lab;
  EXPECT_EQ(ask(lab, "slabs"),
            std::string("\x81\x10\0\x0c\0\0\0\0\0\0\0\x0dtell\0\0\0\0\0\0\0\0", 24) +
                "active_slabs0" +
                std::string("\x81\x10\0\x0e\0\0\0\0\0\0\0\x0ftell\0\0\0\0\0\0\0\0", 24) +
                "total_malloced0" + done);
  EXPECT_EQ(ask(lab, "items"), done);
  EXPECT_EQ(ask(lab, "reset"), done);
  EXPECT_TRUE(ask(lab, "").ends_with(done));
  EXPECT_NE(ask(lab, "").find("cmd_get0"), std::string::npos);
  EXPECT_TRUE(ask(lab, "none").ends_with("Not found"));
}

}  // namespace
}  // namespace sluice::engine::kv
