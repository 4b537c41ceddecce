// SPDX-License-Identifier: BSD-3-Clause
#include "packet_wire.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/random_seed.h"
#include "packet/ethernet.h"
#include "packet/parse.h"
#include "packet/partial_checksum.h"

namespace sluice::rpc_app {
namespace {

/// Enough for the only control message that is requested.
constexpr size_t kControlBytes = 64;

int Bind(int socket, const std::string& interface) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  if (address.sll_ifindex == 0) return -1;
  const int on = 1;
  if (setsockopt(socket, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) != 0) return -1;
  // Hides frames sent by this socket.
  setsockopt(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
  return bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

}  // namespace

PacketWire::PacketWire(base::OwnedFd socket, const packet::OwnAddresses& own, uint32_t mtu,
                       bool shared)
    : socket_(std::move(socket)),
      neighbor_(own),
      fragmenter_(mtu),
      defragmenter_(kDatagrams, kTimeoutNs, base::RandomSeed()),
      shared_(shared),
      buffers_(kBurst) {
  frames_.reserve(kBurst);
}

std::unique_ptr<PacketWire> PacketWire::Open(const std::string& interface,
                                             const std::string& addresses, bool shared,
                                             std::string* error) {
  base::OwnedFd made(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  if (!made || ioctl(made.fd(), SIOCGIFHWADDR, &request) != 0 || Bind(made.fd(), interface) != 0) {
    *error = std::strerror(errno);
    return nullptr;
  }
  packet::MacAddress mac;
  std::memcpy(mac.data(), request.ifr_hwaddr.sa_data, mac.size());
  // The MTU overwrites the address, because both are members of one union.
  if (ioctl(made.fd(), SIOCGIFMTU, &request) != 0) {
    *error = std::strerror(errno);
    return nullptr;
  }
  const auto mtu = static_cast<uint32_t>(request.ifr_mtu);
  packet::OwnAddresses own(mac);
  if (!own.Add(addresses, error)) return nullptr;
  return std::unique_ptr<PacketWire>(new PacketWire(std::move(made), own, mtu, shared));
}

std::span<const device::WireFrame> PacketWire::Pull(uint64_t now_ns, uint32_t max) {
  now_ns_ = now_ns;
  if (first_frame_ == frames_.size()) {
    frames_.clear();
    first_frame_ = 0;
    defragmenter_.Expire(now_ns);
    // Limits the number of reads, so that a flood of foreign frames does not stall the device.
    const uint32_t most = std::min(max, kBurst);
    for (uint32_t number = 0, looks = 0; number < most && looks < 4 * kBurst; ++looks) {
      iovec vector = {buffers_[number].data(), kFrameBytes};
      alignas(cmsghdr) std::array<char, kControlBytes> control;
      msghdr message{};
      message.msg_iov = &vector;
      message.msg_iovlen = 1;
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      const ssize_t length = recvmsg(socket_.fd(), &message, MSG_DONTWAIT);
      if (length < 0) break;
      uint32_t status = 0;
      for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
           part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_PACKET || part->cmsg_type != PACKET_AUXDATA) continue;
        tpacket_auxdata data;
        std::memcpy(&data, CMSG_DATA(part), sizeof(data));
        status = data.tp_status;
      }
      ++totals_.offered;
      const uint32_t bytes = AcceptFrame(number, static_cast<uint32_t>(length), status);
      if (bytes == 0) continue;
      frames_.push_back({buffers_[number].data(), bytes});
      ++number;
    }
  }
  const size_t count = std::min<size_t>(max, frames_.size() - first_frame_);
  return std::span(frames_).subspan(first_frame_, count);
}

void PacketWire::Consumed(uint32_t count) { first_frame_ += count; }

uint32_t PacketWire::AcceptFrame(uint32_t number, uint32_t length, uint32_t status) {
  uint8_t* const data = buffers_[number].data();
  if ((status & TP_STATUS_VLAN_VALID) != 0) return ++counts_[kTagged], 0;
  if ((status & TP_STATUS_CSUMNOTREADY) != 0) packet::CompletePartialChecksum(data, length);
  if (shared_ && !IsUdp(data, length)) return ++counts_[kKernel], 0;
  packet::Frame frame{data, length, 0, kFrameBytes - length};
  if (const auto verdict = neighbor_.Process(frame, 0)) {
    if (verdict->action != packet::Action::kForward) return ++counts_[kBadNeighbor], 0;
    Send(frame.data, frame.length);
    return ++counts_[kNeighbor], 0;
  }
  if (!IsToUs(data, length)) return ++counts_[kForeign], 0;
  return Reassemble(number, length);
}

uint32_t PacketWire::Reassemble(uint32_t number, uint32_t length) {
  uint8_t* const data = buffers_[number].data();
  const packet::Headers headers = packet::Parse(data, length);
  if (headers.error != packet::ParseError::kNone || !headers.IsFragment()) return length;
  if (!packet::Defragmenter::Accepts(headers)) return ++counts_[kBadFragment], 0;
  const packet::Defragmenter::Result taken = defragmenter_.Accept(data, headers, now_ns_);
  if (taken.outcome != packet::Defragmenter::Outcome::kWhole) return 0;
  ++counts_[kReassembled];
  std::copy_n(taken.frame, taken.length, data);
  return taken.length;
}

bool PacketWire::IsToUs(const uint8_t* frame, uint32_t length) const {
  const packet::OwnAddresses& own = neighbor_.own();
  if (length < packet::kEthernetHeaderBytes || !own.IsOurMac(frame)) return false;
  const uint16_t type = packet::LoadBe16(frame + 12);
  const uint8_t* const ip = frame + packet::kEthernetHeaderBytes;
  const uint32_t bytes = length - packet::kEthernetHeaderBytes;
  if (type == packet::kEtherTypeIpv4 && bytes >= packet::kIpv4MinHeaderBytes) {
    return own.Owns(packet::Load<packet::Ipv4Address>(ip + 16));
  }
  if (type == packet::kEtherTypeIpv6 && bytes >= packet::kIpv6HeaderBytes) {
    return own.Owns(packet::Load<packet::Ipv6Address>(ip + 24));
  }
  return false;
}

bool PacketWire::IsUdp(const uint8_t* frame, uint32_t length) {
  if (length < packet::kEthernetHeaderBytes + packet::kIpv4MinHeaderBytes) return false;
  const uint16_t type = packet::LoadBe16(frame + 12);
  const uint8_t* const ip = frame + packet::kEthernetHeaderBytes;
  if (type == packet::kEtherTypeIpv4) return ip[9] == packet::kProtocolUdp;
  if (type != packet::kEtherTypeIpv6) return false;
  // In a fragment, the fragment header contains the protocol number.
  constexpr uint8_t kFragmentHeader = 44;
  constexpr uint32_t kNextOfFragment = packet::kEthernetHeaderBytes + packet::kIpv6HeaderBytes;
  return ip[6] == packet::kProtocolUdp || (ip[6] == kFragmentHeader && length > kNextOfFragment &&
                                           frame[kNextOfFragment] == packet::kProtocolUdp);
}

bool PacketWire::Send(const uint8_t* frame, uint32_t length) {
  const bool sent = send(socket_.fd(), frame, length, MSG_DONTWAIT) >= 0;
  if (!sent) ++counts_[kUnsent];
  return sent;
}

void PacketWire::Deliver(uint64_t, std::span<const device::WireFrame> frames) {
  for (const device::WireFrame& frame : frames) {
    if (fragmenter_.Fits(frame.length, packet::kEthernetHeaderBytes)) {
      Send(frame.data, frame.length);
      continue;
    }
    // VLAN frames were dropped on receive, so no reply has a tag.
    fragmenter_.Cut(frame.data, frame.length, packet::kEthernetHeaderBytes,
                    [&](const uint8_t* piece, uint32_t length) { return Send(piece, length); });
  }
}

std::span<const device::Counter> PacketWire::Counters() {
  using packet::Defragmenter;
  counters_ = {{{"wire_foreign", counts_[kForeign]},
                {"wire_tagged", counts_[kTagged]},
                {"wire_neighbor", counts_[kNeighbor]},
                {"wire_bad_neighbor", counts_[kBadNeighbor]},
                {"wire_unsent", counts_[kUnsent]},
                {"wire_reassembled", counts_[kReassembled]},
                {"wire_fragment_unsupported", counts_[kBadFragment]},
                {"wire_kernel", counts_[kKernel]},
                {"wire_fragment_timed_out", defragmenter_.ended(Defragmenter::kTimedOut)},
                {"wire_fragment_no_room", defragmenter_.ended(Defragmenter::kNoRoom)},
                {"wire_fragment_overlap", defragmenter_.ended(Defragmenter::kOverlap)},
                {"wire_fragment_malformed", defragmenter_.ended(Defragmenter::kMalformed)},
                {"wire_fragment_unfinished", defragmenter_.waiting()}}};
  return counters_;
}

}  // namespace sluice::rpc_app
