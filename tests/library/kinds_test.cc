// SPDX-License-Identifier: BSD-3-Clause
//
// Tests each kind of engine through the C API: headers as required by the RFCs, epochs, lines, keys
// and answers, and configurations that are replaced while a worker runs.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

namespace sluice::test {
namespace {

constexpr uint32_t kEthernetBytes = 14, kIpBytes = 20;

/// Processes one frame in a separate call.
FramesOfCall Handle(const Engine& engine, const Bytes& frame, uint32_t headroom = 0,
                    uint64_t now = 0) {
  FramesOfCall call({frame}, headroom);
  call.Process(engine, now);
  return call;
}

Bytes Part(const Bytes& bytes, size_t from, size_t count) {
  return {bytes.begin() + static_cast<ptrdiff_t>(from),
          bytes.begin() + static_cast<ptrdiff_t>(from + count)};
}

/// Returns whether the outer IPv4 destination (RFC 791) is `address`.
bool GoesTo(const Bytes& frame, const Bytes& address) {
  return frame.size() > 34 && Part(frame, 30, 4) == address;
}

TEST(MaglevOfLibrary, PutsAPacketIntoAnotherWhereThereIsRoomAndElsewhere) {
  const Engine engine = Make("maglev", kBalancer);
  EXPECT_EQ(sluice_engine_headroom(engine.get()), 64u);
  const FramesOfCall in_place = Handle(engine, kUdp4, 64), moved = Handle(engine, kUdp4, 0);
  ASSERT_EQ(in_place[0].verdict, SLUICE_FORWARD);
  ASSERT_EQ(moved[0].verdict, SLUICE_FORWARD);
  EXPECT_EQ(in_place[0].moved, 0);
  EXPECT_EQ(in_place[0].headroom, 64 - kIpBytes);
  EXPECT_EQ(moved[0].moved, 1);
  const Bytes sent = in_place.bytes(0);
  EXPECT_EQ(moved.bytes(0), sent);
  // RFC 2003: IPv4 in IPv4 with protocol 4, sent to the backend through the next hop. The inner
  // datagram is unchanged except that its TTL is decremented.
  ASSERT_EQ(sent.size(), kUdp4.size() + kIpBytes);
  EXPECT_EQ(Part(sent, 0, 6), (Bytes{2, 0, 0, 0, 0, 9}));
  EXPECT_EQ(sent[kEthernetBytes + 9], 4);
  EXPECT_TRUE(GoesTo(sent, {192, 0, 2, 1}));
  const size_t inner = kEthernetBytes + kIpBytes;
  EXPECT_EQ(sent[inner + 8], kUdp4[kEthernetBytes + 8] - 1);
  EXPECT_EQ(Part(sent, inner + kIpBytes, kUdp4.size() - inner),
            Part(kUdp4, inner, kUdp4.size() - inner));
  EXPECT_EQ(Handle(engine, kArpRequest)[0].verdict, SLUICE_PASS);
}

TEST(MaglevOfLibrary, TellsWhoseTrafficItWas) {
  const Engine engine = Make("maglev", kBalancer);
  for (int i = 0; i < 3; ++i) Handle(engine, kUdp4);
  const auto vips = ReportOf(engine)["vips"];
  EXPECT_EQ(vips[0]["name"], "udp");
  EXPECT_EQ(vips[0]["packets"], 3);
  EXPECT_EQ(vips[0]["backends"][0]["packets"], 3);
  EXPECT_EQ(vips[0]["backends"][0]["bytes"], 3 * kUdp4.size());
  EXPECT_EQ(vips[2]["packets"], 0);
  EXPECT_EQ(CounterOf(engine, "new"), 1u);
  EXPECT_EQ(CounterOf(engine, "hit"), 2u);
}

std::string WithBackend(std::string_view address, uint32_t connections = 1024) {
  return R"({"next_hop": "02:00:00:00:00:09", "connections": )" + std::to_string(connections) +
         R"(, "fragments": 64, "vips": [{"name": "udp", "address": "10.0.0.2", "port": 2000,
             "protocol": "udp", "backends": [{"address": ")" +
         std::string(address) + "\"}]}]}";
}

TEST(MaglevOfLibrary, SwapsItsTables) {
  const Engine engine = Make("maglev", WithBackend("192.0.2.1"));
  EXPECT_TRUE(GoesTo(Handle(engine, kUdp4).bytes(0), {192, 0, 2, 1}));
  EXPECT_EQ(Replace(engine, WithBackend("192.0.2.7")), "");
  EXPECT_TRUE(GoesTo(Handle(engine, kUdp4).bytes(0), {192, 0, 2, 7}));
  EXPECT_EQ(CounterOf(engine, "epoch"), 2u);
  // The new backend replaces the old one, and its counters start from zero.
  EXPECT_EQ(ReportOf(engine)["vips"][0]["backends"][0]["packets"], 1);
  // A rejected configuration does not change anything.
  EXPECT_EQ(Replace(engine, WithBackend("192.0.2.8", 2048)),
            "cannot change while workers run: connections");
  EXPECT_NE(Replace(engine, WithBackend("nowhere")).find("vips[0].backends[0].address"),
            std::string::npos);
  EXPECT_TRUE(GoesTo(Handle(engine, kUdp4).bytes(0), {192, 0, 2, 7}));
}

TEST(MaglevOfLibrary, SwapsItsTablesWhileAWorkerWorks) {
  const Engine engine = Make("maglev", WithBackend("192.0.2.1"));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> calls{0};
  uint64_t astray = 0;
  std::thread thread([&] {
    while (!stop) {
      const Bytes sent = Handle(engine, kUdp4, 64).bytes(0);
      astray += !GoesTo(sent, {192, 0, 2, 1}) && !GoesTo(sent, {192, 0, 2, 2});
      ++calls;
    }
  });
  for (int i = 0; i < 100; ++i) {
    const uint64_t before = calls;
    EXPECT_EQ(Replace(engine, WithBackend(i % 2 == 0 ? "192.0.2.2" : "192.0.2.1")), "");
    while (calls < before + 3) std::this_thread::yield();
  }
  stop = true;
  thread.join();
  EXPECT_EQ(astray, 0u);
  EXPECT_EQ(CounterOf(engine, "epoch"), 101u);
}

TEST(TelemetryOfLibrary, ReportsEachEpochOnce) {
  const Engine engine = Make("telemetry", kMeter, 2);
  EXPECT_EQ(ReportOf(engine), nullptr);
  for (uint32_t worker = 0; worker < 2; ++worker) {
    FramesOfCall call({kUdp4, kUdp4, kTcp4Syn});
    call.Process(engine, 0, worker);
    for (size_t i = 0; i < call.size(); ++i) EXPECT_EQ(call[i].verdict, SLUICE_FORWARD);
  }
  // The epoch ends when both workers have entered the next one.
  FramesOfCall({}).Process(engine, kTicksPerSecond, 0);
  EXPECT_EQ(ReportOf(engine), nullptr);
  FramesOfCall({}).Process(engine, kTicksPerSecond, 1);
  const auto report = ReportOf(engine);
  EXPECT_EQ(report["packets"], 6);
  const auto& flows = report["keys"][0]["heavy_hitters"];
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0]["source"], "10.0.0.1");
  EXPECT_EQ(flows[0]["destination_port"], 2000);
  EXPECT_EQ(flows[0]["packets"]["value"], 4);
  EXPECT_EQ(ReportOf(engine), nullptr);
  Handle(engine, kUdp6, 0, kTicksPerSecond);
  sluice_engine_finish(engine.get(), kTicksPerSecond + 1);
  EXPECT_EQ(ReportOf(engine)["packets"], 1);
  EXPECT_EQ(CounterOf(engine, "epochs"), 2u);
  EXPECT_EQ(Replace(engine, kMeter),
            "this engine's configuration cannot be replaced: create another engine");
}

/// UDP over IPv4 from 10.0.0.1:1000 to 10.0.0.2, without a checksum (RFC 768).
Bytes Datagram(uint16_t port, std::string_view text) {
  Bytes frame(kUdp4NoChecksum.begin(), kUdp4NoChecksum.begin() + 42);
  const auto udp = static_cast<uint16_t>(8 + text.size());
  const auto ip = static_cast<uint16_t>(kIpBytes + udp);
  const auto put16 = [&frame](size_t at, uint16_t value) {
    frame[at] = static_cast<uint8_t>(value >> 8);
    frame[at + 1] = static_cast<uint8_t>(value);
  };
  put16(16, ip);
  put16(24, 0);
  uint32_t sum = 0;
  for (size_t i = 14; i < 34; i += 2) sum += static_cast<uint32_t>(frame[i] << 8 | frame[i + 1]);
  sum = (sum & 0xffff) + (sum >> 16);
  put16(24, static_cast<uint16_t>(~((sum & 0xffff) + (sum >> 16))));
  put16(36, port);
  put16(38, udp);
  frame.insert(frame.end(), text.begin(), text.end());
  return frame;
}

std::vector<std::string> LinesOf(const Engine& engine) {
  uint32_t count = 0;
  const sluice_line* const lines =
      sluice_worker_lines(sluice_engine_worker(engine.get(), 0), &count);
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < count; ++i) {
    texts.push_back(std::string(lines[i].source) + ": " +
                    std::string(lines[i].text, lines[i].bytes));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(LogmonOfLibrary, HandsOutLinesThatMatch) {
  const Engine engine = Make("logmon", kFilters);
  EXPECT_EQ(Handle(engine, Datagram(514, "<13>login failed"))[0].verdict, SLUICE_CONSUME);
  EXPECT_EQ(LinesOf(engine), Texts{"syslog 10.0.0.1: login failed"});
  // Lines may be split across datagrams. A line is reported only after its end has arrived.
  Handle(engine, Datagram(2000, "one\ntw"));
  EXPECT_EQ(LinesOf(engine), Texts{"lines 10.0.0.1:1000: one"});
  Handle(engine, Datagram(2000, "o\nthree"));
  EXPECT_EQ(LinesOf(engine), Texts{"lines 10.0.0.1:1000: two"});
  EXPECT_EQ(Handle(engine, kArpRequest)[0].verdict, SLUICE_FORWARD);  // Answered.
  EXPECT_EQ(LinesOf(engine), Texts{});
  sluice_engine_finish(engine.get(), 1);
  EXPECT_EQ(LinesOf(engine), Texts{"lines 10.0.0.1:1000: three"});
  const auto filters = ReportOf(engine)["filters"];
  EXPECT_EQ(filters[0], nlohmann::json({{"name", "all"}, {"events", 4}}));
  EXPECT_EQ(filters[1], nlohmann::json({{"name", "failed"}, {"events", 1}}));
  EXPECT_EQ(CounterOf(engine, "lines"), 4u);
  EXPECT_EQ(CounterOf(engine, "syslog_messages"), 1u);
}

TEST(LogmonOfLibrary, SwapsItsFilters) {
  const Engine engine = Make("logmon", kFilters);
  Handle(engine, Datagram(514, "<13>before"));
  Handle(engine, Datagram(2000, "half a li"));
  EXPECT_EQ(Replace(engine, R"({"filters": [{"pattern": "after", "show": true}]})"), "");
  Handle(engine, Datagram(514, "<13>before"));
  EXPECT_EQ(LinesOf(engine), Texts{});
  Handle(engine, Datagram(514, "<13>after"));
  EXPECT_EQ(LinesOf(engine), Texts{"syslog 10.0.0.1: after"});
  EXPECT_EQ(ReportOf(engine)["filters"], nlohmann::json({{{"name", "after"}, {"events", 1}}}));
  EXPECT_EQ(CounterOf(engine, "syslog_messages"), 3u);  // Counters continue.
  EXPECT_NE(Replace(engine, R"({"filters": [{"regex": "("}]})"), "");
  Handle(engine, Datagram(514, "<13>after"));
  EXPECT_EQ(LinesOf(engine), Texts{"syslog 10.0.0.1: after"});
}

/// Prepends memcached's UDP frame header: request id, sequence number, datagrams, reserved.
std::string Ascii(std::string_view command) {
  return std::string("\x12\x34\0\0\0\1\0\0", 8) + std::string(command);
}
std::string TextOf(const FramesOfCall& call) {
  const Bytes frame = call.bytes(0);
  return frame.size() < 50 ? "" : std::string(frame.begin() + 50, frame.end());
}

TEST(KvOfLibrary, KeepsValues) {
  const Engine engine = Make("kv", kStore);
  EXPECT_TRUE(TextOf(Handle(engine, Datagram(2000, Ascii("set a 5 0 3\r\nabc\r\n"))))
                  .starts_with("STORED\r\n"));
  const FramesOfCall call = Handle(engine, Datagram(2000, Ascii("get a\r\n")));
  EXPECT_EQ(call[0].verdict, SLUICE_FORWARD);
  EXPECT_TRUE(TextOf(call).starts_with("VALUE a 5 3\r\nabc\r\nEND\r\n"));
  EXPECT_EQ(Part(call.bytes(0), 0, 6), Part(kUdp4, 6, 6));  // The answer goes back to the sender.
  EXPECT_EQ(CounterOf(engine, "memcached_get_hits"), 1u);
  EXPECT_EQ(ReportOf(engine)["items"], 1);
  EXPECT_EQ(Handle(engine, kTcp4Syn)[0].verdict, SLUICE_PASS);
}

TEST(KvOfLibrary, SendsAnswersOfSeveralFrames) {
  const Engine engine = Make("kv", kStore);
  const std::string value(900, 'x');
  for (const std::string key : {"a", "b"}) {
    Handle(engine, Datagram(2000, Ascii("set " + key + " 0 0 900\r\n" + value + "\r\n")));
  }
  EXPECT_EQ(Handle(engine, Datagram(2000, Ascii("get a b\r\n")))[0].verdict, SLUICE_CONSUME);
  uint32_t count = 0;
  const sluice_frame* const sent =
      sluice_worker_sent(sluice_engine_worker(engine.get(), 0), &count);
  ASSERT_EQ(count, 2u);
  std::string text;
  for (uint32_t i = 0; i < count; ++i) {
    EXPECT_LE(sent[i].length, 1514u);
    text.append(reinterpret_cast<const char*>(sent[i].data) + 50, sent[i].length - 50);
  }
  EXPECT_EQ(text, "VALUE a 0 900\r\n" + value + "\r\nVALUE b 0 900\r\n" + value + "\r\nEND\r\n");
  EXPECT_EQ(CounterOf(engine, "sent"), 2u);
}

TEST(KvOfLibrary, WorkersHandOverWhatIsNotTheirs) {
  const Engine engine = Make("kv", R"({"memory_mb": 8, "items": 1000, "memcached_port": 2000,
      "any_source_port": true, "mac": "02:00:00:00:00:02"})",
                             2);
  constexpr int kKeys = 40;
  int answers = 0;
  const auto take = [&](uint32_t worker) {
    uint32_t count = 0;
    sluice_worker_sent(sluice_engine_worker(engine.get(), worker), &count);
    answers += static_cast<int>(count);
  };
  for (int i = 0; i < kKeys; ++i) {
    FramesOfCall call({Datagram(2000, Ascii("set k" + std::to_string(i) + " 0 0 1\r\nx\r\n"))});
    call.Process(engine);
    answers += call[0].verdict == SLUICE_FORWARD;
    FramesOfCall({}).Process(engine, 0, 1);  // Worker 1 serves its keys.
    take(1);
  }
  EXPECT_EQ(answers, kKeys);
  EXPECT_GT(CounterOf(engine, "handed_over"), 0u);
  EXPECT_EQ(CounterOf(engine, "handed_over"), CounterOf(engine, "taken_over"));
  EXPECT_EQ(ReportOf(engine)["items"], kKeys);
}

TEST(NeighborOfLibrary, AnswersForItsAddresses) {
  const Engine engine = Make("neighbor", kHost);
  const FramesOfCall call = Handle(engine, kArpRequest);
  ASSERT_EQ(call[0].verdict, SLUICE_FORWARD);
  // RFC 826: opcode 2, with the host's address as the sender.
  EXPECT_EQ(Part(call.bytes(0), 20, 12), (Bytes{0, 2, 2, 0, 0, 0, 0, 2, 10, 0, 0, 2}));
  EXPECT_EQ(Handle(engine, kUdp4)[0].verdict, SLUICE_PASS);
}

}  // namespace
}  // namespace sluice::test
