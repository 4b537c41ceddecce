// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the fuzz targets without a fuzzer. The inputs are all fixtures: complete, truncated at every
// byte, with each byte changed, and randomly spliced (with a fixed seed).
#include "targets.h"

#include <gtest/gtest.h>

#include <random>

#include "kv/memcached_seeds.h"
#include "logmon/filter_seeds.h"
#include "logmon/syslog_seeds.h"
#include "mica_fixture.h"
#include "packet/capture_file.h"
#include "packet/fixtures.h"
#include "rpc/seeds.h"
#include "seeds.h"

namespace sluice::fuzz {
namespace {

using test::Bytes;

using Target = void (*)(const uint8_t*, size_t);

/// Runs `target` with variants of `seed`, each preceded by `prefix`.
void Bend(Target target, const Bytes& seed, const Bytes& prefix = {}) {
  const auto run = [&](const Bytes& bytes) {
    Bytes input = prefix;
    input.insert(input.end(), bytes.begin(), bytes.end());
    target(input.data(), input.size());
  };
  for (size_t size = 0; size <= seed.size(); ++size) {
    run(Bytes(seed.begin(), seed.begin() + size));
  }
  for (size_t i = 0; i < seed.size(); ++i) {
    for (const uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff}) {
      Bytes bent = seed;
      bent[i] = value;
      run(bent);
    }
  }
}

const Bytes& RandomFixture(std::mt19937_64& random) {
  return *test::kFixtures[random() % std::size(test::kFixtures)].bytes;
}

/// Builds with AddressSanitizer run fewer rounds, because the fuzzers use AddressSanitizer too.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kSplices = 2'000;
#else
constexpr int kSplices = 20'000;
#endif

/// Joins the beginnings of some fixtures to the ends of others and overwrites some bytes.
void Splice(Target target) {
  std::mt19937_64 random(4);
  for (int round = 0; round < kSplices; ++round) {
    Bytes bytes = RandomFixture(random);
    const Bytes& tail = RandomFixture(random);
    bytes.resize(random() % (bytes.size() + 1));
    const size_t from = std::min(bytes.size(), tail.size());
    bytes.insert(bytes.end(), tail.begin() + from, tail.end());
    for (uint64_t edits = random() % 4; edits > 0 && !bytes.empty(); --edits) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    }
    target(bytes.data(), bytes.size());
  }
}

void BendAndSplice(Target target, const Bytes& prefix = {}) {
  for (const test::Fixture& fixture : test::kFixtures) Bend(target, *fixture.bytes, prefix);
  Splice(target);
}

TEST(FuzzTargets, Parser) { BendAndSplice(Parser); }
TEST(FuzzTargets, FrameLengthWalk) { BendAndSplice(FrameLengthWalk); }
TEST(FuzzTargets, EchoEngines) { BendAndSplice(EchoEngines); }
TEST(FuzzTargets, NeighborEngine) {
  // Each control byte selects a combination: tailroom and correct checksums; no tailroom and
  // correct checksums; no tailroom and unchanged checksums.
  for (const uint8_t control : {0x08, 0x00, 0x80}) BendAndSplice(NeighborEngine, {control});
}

TEST(FuzzTargets, MaglevMessages) {
  // Each control byte selects a combination: sufficient headroom or none; correct or unchanged
  // checksums.
  for (const uint8_t control : {0x08, 0x00, 0x86}) BendAndSplice(MaglevMessages, {control});
  // UDP of 1400 bytes exceeds IPv6's minimum MTU.
  Bytes big = test::kUdp6;
  big.resize(14 + 40 + 1400);
  for (const size_t length_field : {14 + 4, 14 + 40 + 4}) {
    big[length_field] = 1400 >> 8;
    big[length_field + 1] = 1400 & 0xff;
  }
  big.insert(big.begin(), 0x48);
  MaglevMessages(big.data(), big.size());
}
TEST(FuzzTargets, MaglevQuic) {
  // An Initial and a Handshake (RFC 9000 section 17), a version 2 0-RTT (RFC 9369), and a short
  // header. Their ids have Katran's versions 1, 2, 3 and 1.
  for (const char* packet :
       {"c00000000108448d00000000000000", "e00000000108801234560000000000",
        "e06b3343cf14c01234567800000000000000000000000000000000", "40448d000000000000"}) {
    Bend(MaglevQuic, test::FromHex(packet));
  }
  Splice(MaglevQuic);
}

TEST(FuzzTargets, KvMica) {
  // Each control byte selects a combination: a buffer that holds all values or only some; trusted
  // hashes or not; reads across workers or not.
  for (const uint8_t control : {0xfc, 0xfd, 0x2c, 0x2d, 0xfe}) {
    for (const Bytes& batch : {test::kMicaBatch, test::kMicaTinyBatch})
      Bend(KvMica, batch, {control});
  }
  Splice(KvMica);
}

TEST(FuzzTargets, KvMemcachedAscii) {
  for (const Bytes& seed : test::MemcachedAsciiSeeds()) Bend(KvMemcachedAscii, seed);
}
TEST(FuzzTargets, KvMemcachedBinary) {
  for (const Bytes& seed : test::MemcachedBinarySeeds()) Bend(KvMemcachedBinary, seed);
}
TEST(FuzzTargets, KvMemcachedStream) {
  for (const Bytes& seed : test::MemcachedStreamSeeds()) Bend(KvMemcachedStream, seed);
}

TEST(FuzzTargets, KvStore) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 320; ++round) {
    Bytes choices(1 + random() % 2048);
    for (uint8_t& choice : choices) choice = static_cast<uint8_t>(random());
    choices[0] = static_cast<uint8_t>(round);
    KvStore(choices.data(), choices.size());
  }
}

TEST(FuzzTargets, KvSnapshot) {
  for (const Bytes& seed : test::SnapshotSeeds()) Bend(KvSnapshot, seed);
}
TEST(FuzzTargets, KvClient) {
  for (const Bytes& seed : test::ClientSeeds()) Bend(KvClient, seed);
}
TEST(FuzzTargets, EtcdMessages) {
  for (const Bytes& seed : test::EtcdSeeds()) Bend(EtcdMessages, seed);
}

TEST(FuzzTargets, PktgenStreams) {
  for (const Bytes& seed : test::StreamSeeds()) Bend(PktgenStreams, seed);
}

TEST(FuzzTargets, FrameLengthWalkOverAPipe) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 1000; ++round) {
    Bytes pipe;
    for (int frames = 0; frames < 20; ++frames) {
      const Bytes& frame = RandomFixture(random);
      pipe.insert(pipe.end(), frame.begin(), frame.end());
      pipe.resize((pipe.size() + 63) / 64 * 64);
    }
    pipe[random() % pipe.size()] = static_cast<uint8_t>(random());
    FrameLengthWalk(pipe.data(), pipe.size());
  }
}

TEST(FuzzTargets, LogmonFilter) {
  for (const std::string seed : test::kFilterSeeds) {
    Bend(LogmonFilter, Bytes(seed.begin(), seed.end()));
  }
}
TEST(FuzzTargets, LogmonScanner) {
  std::mt19937_64 random(8);
  constexpr std::string_view kBytes = "abcde \r\n\r\n{\":1}$.";
  for (int round = 0; round < 1000; ++round) {
    Bytes text(1 + random() % 1500);
    const bool long_lines = random() % 4 == 0;
    for (uint8_t& byte : text) {
      byte = static_cast<uint8_t>(long_lines && random() % 40 ? 'a' + random() % 5
                                  : random() % 30             ? kBytes[random() % kBytes.size()]
                                                              : random());
    }
    text[0] = static_cast<uint8_t>(random());
    LogmonScanner(text.data(), text.size());
  }
}
TEST(FuzzTargets, LogmonSyslog) {
  for (const std::string_view seed : test::kSyslogSeeds) {
    Bend(LogmonSyslog, Bytes(seed.begin(), seed.end()));
  }
  Splice(LogmonSyslog);
}
TEST(FuzzTargets, LogmonTcp) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    Bytes choices(1 + random() % 1024);
    for (uint8_t& choice : choices) choice = static_cast<uint8_t>(random());
    LogmonTcp(choices.data(), choices.size());
  }
}

TEST(FuzzTargets, TelemetryIpfix) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 500; ++round) {
    Bytes choices(random() % 4096);
    for (uint8_t& choice : choices) choice = static_cast<uint8_t>(random());
    TelemetryIpfix(choices.data(), choices.size());
  }
}

TEST(FuzzTargets, TelemetryEpoch) { Bend(TelemetryEpoch, test::EpochSeed()); }

TEST(FuzzTargets, SchedAgent) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 600; ++round) {
    Bytes script(1 + random() % 2048);
    for (uint8_t& byte : script) byte = static_cast<uint8_t>(random());
    // Makes valid types, ghOSt's 64 … 75, more frequent.
    for (size_t i = 0; i + 1 < script.size(); i += 6) {
      script[i] = static_cast<uint8_t>(random() % 8);
      script[i + 1] = static_cast<uint8_t>(64 + random() % 12);
    }
    SchedAgent(script.data(), script.size());
  }
}

TEST(FuzzTargets, ChainGraph) {
  Bend(ChainGraph, Bytes(test::kChainGraph.begin(), test::kChainGraph.end()));
}
TEST(FuzzTargets, ChainGzip) { Bend(ChainGzip, test::GzipSeed()); }
TEST(FuzzTargets, Messages) {
  std::mt19937_64 random(19);
  for (int round = 0; round < kSplices / 20; ++round) {
    Bytes script(random() % 600);
    for (uint8_t& byte : script) byte = static_cast<uint8_t>(random());
    Messages(script.data(), script.size());
  }
}
TEST(FuzzTargets, RpcCall) {
  for (const Bytes& seed : test::RpcCallSeeds()) Bend(RpcCall, seed);
}
TEST(FuzzTargets, RpcLanguage) {
  // The seeds are too long to change every byte to every value.
  std::mt19937_64 random(12);
  for (const Bytes& seed : test::RpcLanguageSeeds()) {
    for (int round = 0; round < 500; ++round) {
      Bytes bent = seed;
      bent[random() % bent.size()] = static_cast<uint8_t>(random() % 128);
      if (round % 2 == 0) bent.resize(random() % bent.size());
      RpcLanguage(bent.data(), bent.size());
    }
  }
}
TEST(FuzzTargets, RpcTable) {
  for (const Bytes& seed : test::RpcTableSeeds()) Bend(RpcTable, seed);
}

TEST(FuzzTargets, CaptureReader) {
  for (const bool big_endian : {false, true}) {
    test::CaptureFile file({big_endian, false});
    file.AddRecord(1, 2, 60, 60, test::kUdp4);
    file.AddRecord(3, 4, 80, 1500, test::kUdp6);
    Bend(CaptureReader, file.bytes());
    test::PcapngFile sections;
    sections.AddSection(big_endian);
    sections.AddInterface(1, 65535, {{9, {9}}, {13, {4}}});
    sections.AddPacket(0, 5, 64, Bytes(64), {{2, {0, 0, 0, 0}}});
    sections.AddSimplePacket(60, test::kUdp4);
    Bend(CaptureReader, sections.bytes());
  }
}

}  // namespace
}  // namespace sluice::fuzz
