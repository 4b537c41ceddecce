// SPDX-License-Identifier: BSD-3-Clause
#include "net_enso/fixture.h"

#include <pcap/pcap.h>
#include <rte_errno.h>
#include <rte_ip.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "../eal_run.h"

namespace sluice::net_enso {
namespace {

void Put16(Bytes& bytes, size_t at, uint32_t value) {
  bytes[at] = static_cast<uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<uint8_t>(value);
}
void Put32(Bytes& bytes, size_t at, uint32_t value) {
  Put16(bytes, at, value >> 16);
  Put16(bytes, at + 2, value & 0xffff);
}

/// Returns a frame with addresses, an EtherType and a payload that identifies the frame.
Bytes Ethernet(uint32_t length, uint16_t type, uint32_t seed) {
  Bytes frame(length);
  for (uint32_t i = 0; i < length; ++i)
    frame[i] = static_cast<uint8_t>(seed * 31 + i * 7 + (i >> 8));
  const uint8_t addresses[] = {0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2};
  std::copy(std::begin(addresses), std::end(addresses), frame.begin());
  Put16(frame, 12, type);
  return frame;
}

void PutIpv4(Bytes& frame, size_t at, const FrameSpec& spec) {
  Put16(frame, at, 0x4500);
  Put16(frame, at + 2, static_cast<uint32_t>(frame.size() - at));
  frame[at + 8] = 64;
  frame[at + 9] = spec.protocol;
  Put32(frame, at + 12, spec.src_ip);
  Put32(frame, at + 16, spec.dst_ip);
  Put16(frame, at + 20, spec.src_port);
  Put16(frame, at + 22, spec.dst_port);
  if (spec.protocol == 6) frame[at + 33] = spec.tcp_flags;
}

}  // namespace

Vdev::Vdev(const std::string& arguments) {
  static int number = 0;
  name_ = "net_enso" + std::to_string(number++);
  const int result = rte_vdev_init(name_.c_str(), arguments.c_str());
  EXPECT_EQ(result, 0) << arguments;
  EXPECT_EQ(rte_eth_dev_get_port_by_name(name_.c_str(), &port_), 0);
}

Vdev::~Vdev() {
  rte_eth_dev_stop(port_);
  EXPECT_EQ(rte_vdev_uninit(name_.c_str()), 0);
}

void Vdev::Start(uint16_t queues, rte_mempool* pool, uint64_t rx_offloads, uint16_t mtu,
                 uint64_t tx_offloads) {
  rte_eth_conf conf{};
  conf.txmode.offloads = tx_offloads;
  conf.rxmode.mtu = mtu;
  conf.rxmode.offloads = rx_offloads;
  ASSERT_EQ(rte_eth_dev_configure(port_, queues, queues, &conf), 0);
  for (uint16_t queue = 0; queue < queues; ++queue) {
    ASSERT_EQ(rte_eth_rx_queue_setup(port_, queue, 512, SOCKET_ID_ANY, nullptr, pool), 0);
    ASSERT_EQ(rte_eth_tx_queue_setup(port_, queue, 512, SOCKET_ID_ANY, nullptr), 0);
  }
  ASSERT_EQ(rte_eth_dev_start(port_), 0);
}

uint64_t Vdev::Xstat(const std::string& name) const {
  uint64_t id = 0;
  uint64_t value = 0;
  EXPECT_EQ(rte_eth_xstats_get_id_by_name(port_, name.c_str(), &id), 0) << name;
  EXPECT_EQ(rte_eth_xstats_get_by_id(port_, &id, &value, 1), 1) << name;
  return value;
}

rte_eth_stats Vdev::Stats() const {
  rte_eth_stats stats{};
  EXPECT_EQ(rte_eth_stats_get(port_, &stats), 0);
  return stats;
}

Pool::Pool(uint32_t mbufs, uint16_t room) {
  static int number = 0;
  const std::string name = "pool" + std::to_string(number++);
  pool_ = rte_pktmbuf_pool_create(name.c_str(), mbufs, 0, 0, room, SOCKET_ID_ANY);
  EXPECT_NE(pool_, nullptr) << rte_strerror(rte_errno);
}

Pool::~Pool() {
  EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u) << "mbufs leaked";
  rte_mempool_free(pool_);
}

rte_mbuf* Pool::Fill(const Bytes& frame, uint16_t segment_bytes) const {
  rte_mbuf* first = nullptr;
  const size_t part = segment_bytes == 0 ? frame.size() : segment_bytes;
  for (size_t done = 0; done < frame.size(); done += part) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
    const auto bytes = static_cast<uint16_t>(std::min(part, frame.size() - done));
    std::memcpy(rte_pktmbuf_append(mbuf, bytes), &frame[done], bytes);
    if (first == nullptr) {
      first = mbuf;
    } else {
      EXPECT_EQ(rte_pktmbuf_chain(first, mbuf), 0);
    }
  }
  return first;
}

Bytes Ipv4Frame(const FrameSpec& spec) {
  Bytes frame = Ethernet(spec.length, 0x0800, spec.seed);
  PutIpv4(frame, 14, spec);
  return frame;
}

Bytes ArpFrame() {
  Bytes frame = Ethernet(42, 0x0806, 0);
  const uint8_t header[] = {0, 1, 8, 0, 6, 4, 0, 1};
  std::copy(std::begin(header), std::end(header), frame.begin() + 14);
  return frame;
}

Bytes VlanFrame(uint32_t length, uint32_t seed) {
  Bytes frame = Ethernet(length, 0x8100, seed);
  Put16(frame, 14, 100);
  Put16(frame, 16, 0x0800);
  PutIpv4(frame, 18, {});
  return frame;
}

Bytes Ipv6Frame(uint32_t length, uint32_t seed) {
  Bytes frame = Ethernet(length, 0x86dd, seed);
  Put32(frame, 14, 0x6000'0000);
  Put16(frame, 18, length - 54);
  frame[20] = 17;
  frame[21] = 64;
  return frame;
}

Bytes Udp6Frame(uint32_t length, uint32_t seed) {
  Bytes frame = Ipv6Frame(length, seed);
  Put16(frame, 54 + 4, length - 54);
  Put16(frame, 54 + 6, 0);
  const uint16_t sum =
      rte_ipv6_udptcp_cksum(reinterpret_cast<rte_ipv6_hdr*>(&frame[14]), &frame[54]);
  std::memcpy(&frame[54 + 6], &sum, 2);
  return frame;
}

Bytes WithChecksums(Bytes frame) {
  auto* const ip = reinterpret_cast<rte_ipv4_hdr*>(&frame[14]);
  const size_t field = ip->next_proto_id == IPPROTO_UDP ? 34 + 6 : 34 + 16;
  if (ip->next_proto_id == IPPROTO_UDP) {
    Put16(frame, 34 + 4, static_cast<uint32_t>(frame.size() - 34));
  } else {
    frame[34 + 12] = 5 << 4;
  }
  Put16(frame, 14 + 6, 0);  // Clears the fragment field.
  Put16(frame, 14 + 10, 0);
  Put16(frame, field, 0);
  const uint16_t upper = rte_ipv4_udptcp_cksum(ip, &frame[34]);
  std::memcpy(&frame[field], &upper, 2);
  ip->hdr_checksum = rte_ipv4_cksum(ip);
  return frame;
}

Bytes Udp() { return WithChecksums(Ipv4Frame({.length = 101, .seed = 7})); }
Bytes Tcp() {
  return WithChecksums(Ipv4Frame({.length = 102, .protocol = IPPROTO_TCP, .seed = 8}));
}

Bytes WithTotalLength(Bytes frame, uint16_t total_length) {
  Put16(frame, 16, total_length);
  return frame;
}

CaptureFile::CaptureFile(const std::vector<Bytes>& frames) {
  std::string name = testing::TempDir() + "net_enso_test_XXXXXX";
  const int fd = mkstemp(name.data());
  path_ = name;
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> handle(pcap_open_dead(DLT_EN10MB, 65535),
                                                          pcap_close);
  pcap_dumper_t* dumper = pcap_dump_fopen(handle.get(), fdopen(fd, "wb"));
  EXPECT_NE(dumper, nullptr);
  for (const Bytes& frame : frames) {
    pcap_pkthdr header{};
    header.caplen = header.len = static_cast<uint32_t>(frame.size());
    pcap_dump(reinterpret_cast<uint8_t*>(dumper), &header, frame.data());
  }
  pcap_dump_close(dumper);
}

CaptureFile::~CaptureFile() { unlink(path_.c_str()); }

Bytes Contents(const rte_mbuf* mbuf) {
  Bytes bytes(mbuf->pkt_len);
  const void* data = rte_pktmbuf_read(mbuf, 0, mbuf->pkt_len, bytes.data());
  EXPECT_NE(data, nullptr);
  if (data != bytes.data()) std::memcpy(bytes.data(), data, bytes.size());
  return bytes;
}

}  // namespace sluice::net_enso

/// Starts one EAL for the process, without huge pages and with only the tests' devices.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const sluice::EalRun eal(argv[0],
                           {"--no-huge", "-m", "256", "--no-pci", "-l", "0", "--no-telemetry"});
  return eal.started() ? RUN_ALL_TESTS() : 1;
}
