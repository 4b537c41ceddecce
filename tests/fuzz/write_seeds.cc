// SPDX-License-Identifier: BSD-3-Clause
//
// Writes the fixtures as seed files for the fuzzers, in the format of each target: write_seeds
// FOLDER creates FOLDER/{frames,neighbor,quic,mica,…}.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "device_process/device_socket_seeds.h"
#include "kv/memcached_seeds.h"
#include "logmon/filter_seeds.h"
#include "logmon/syslog_seeds.h"
#include "mica_fixture.h"
#include "packet/capture_file.h"
#include "packet/fixtures.h"
#include "rpc/seeds.h"
#include "seeds.h"
#include "vfio_user/deeds.h"

namespace {

using sluice::test::Bytes;

bool WriteSeed(const std::filesystem::path& path, const Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  return file.good();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  bool good = true;
  for (const auto& fixture : sluice::test::kFixtures) {
    Bytes with_tailroom{0x08};
    with_tailroom.insert(with_tailroom.end(), fixture.bytes->begin(), fixture.bytes->end());
    good &= WriteSeed(folder / "frames" / fixture.name, *fixture.bytes);
    good &= WriteSeed(folder / "neighbor" / fixture.name, with_tailroom);
  }
  // An Initial, a Handshake and a short header (RFC 9000 section 17), with server ids.
  good &= WriteSeed(folder / "quic" / "initial",
                    sluice::test::FromHex("c00000000108448d00000000000000"));
  good &= WriteSeed(folder / "quic" / "handshake",
                    sluice::test::FromHex("e00000000108801234560000000000"));
  good &= WriteSeed(folder / "quic" / "short", sluice::test::FromHex("40c012345678000000"));
  for (const uint8_t control : {0xfc, 0x2d}) {
    for (const Bytes& batch : {sluice::test::kMicaBatch, sluice::test::kMicaTinyBatch}) {
      Bytes mica{control};
      mica.insert(mica.end(), batch.begin(), batch.end());
      good &= WriteSeed(
          folder / "mica" / (std::to_string(control) + '_' + std::to_string(batch.size())), mica);
    }
  }
  for (const bool big_endian : {false, true}) {
    for (const bool nanoseconds : {false, true}) {
      sluice::test::CaptureFile file({big_endian, nanoseconds});
      file.AddRecord(1, 2, 60, 60, sluice::test::kUdp4);
      file.AddRecord(3, 4, 40, 1500, Bytes(40));
      const std::string name = std::to_string(big_endian) + std::to_string(nanoseconds);
      good &= WriteSeed(folder / "captures" / name, file.bytes());
    }
  }
  const std::pair<const char*, std::vector<Bytes>> of_memcached[] = {
      {"memcached_ascii", sluice::test::MemcachedAsciiSeeds()},
      {"memcached_binary", sluice::test::MemcachedBinarySeeds()},
      {"memcached_stream", sluice::test::MemcachedStreamSeeds()}};
  for (const auto& [name, seeds] : of_memcached) {
    int number = 0;
    for (const Bytes& seed : seeds) {
      good &= WriteSeed(folder / name / std::to_string(number++), seed);
    }
  }
  int number = 0;
  for (const std::string_view seed : sluice::test::kSyslogSeeds) {
    good &=
        WriteSeed(folder / "syslog" / std::to_string(number++), Bytes(seed.begin(), seed.end()));
  }
  int sockets = 0;
  for (const Bytes& seed : sluice::test::kDeviceSocketSeeds) {
    good &= WriteSeed(folder / "device_socket" / std::to_string(sockets++), seed);
  }
  int clients = 0;
  for (const Bytes& seed : sluice::emulator::vfio_user::test::HonestActions()) {
    good &= WriteSeed(folder / "vfio_user" / std::to_string(clients++), seed);
  }
  int filters = 0;
  for (const std::string seed : sluice::test::kFilterSeeds) {
    good &= WriteSeed(folder / "logmon_filter" / std::to_string(filters++),
                      Bytes(seed.begin(), seed.end()));
  }
  good &= WriteSeed(folder / "chain_graphs" / "0",
                    Bytes(sluice::test::kChainGraph.begin(), sluice::test::kChainGraph.end()));
  good &= WriteSeed(folder / "gzip" / "0", sluice::test::GzipSeed());
  const auto write_all = [&](const char* name, const std::vector<Bytes>& seeds) {
    int count = 0;
    for (const Bytes& seed : seeds) {
      good &= WriteSeed(folder / name / std::to_string(count++), seed);
    }
  };
  write_all("snapshots", sluice::test::SnapshotSeeds());
  write_all("client", sluice::test::ClientSeeds());
  write_all("etcd", sluice::test::EtcdSeeds());
  write_all("epochs", {sluice::test::EpochSeed()});
  write_all("streams", sluice::test::StreamSeeds());
  write_all("rpc_call", sluice::test::RpcCallSeeds());
  write_all("rpc_language", sluice::test::RpcLanguageSeeds());
  write_all("rpc_table", sluice::test::RpcTableSeeds());
  write_all("scripts", sluice::test::ScriptSeeds());
  return good ? 0 : 1;
}
