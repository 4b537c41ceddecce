// SPDX-License-Identifier: BSD-3-Clause
//
// Adapts the link of lib/swap to World and the kill test.
#pragma once

#include <bit>
#include <memory>
#include <span>
#include <vector>

#include "swap/host_link.h"
#include "swap/nic_link.h"

namespace sluice::swap::test {

struct SwapLinks {
  using Host = HostLink;
  using Nic = NicLink;

  static size_t BytesFor(const Geometry& geometry) { return LinkMemory::BytesFor(geometry); }
  static void Format(std::span<uint8_t> memory, const Geometry& geometry) {
    LinkMemory::Format(memory, geometry);
  }
  static std::unique_ptr<Host> OpenHost(std::span<uint8_t> memory) {
    return HostLink::Open(LinkMemory::Find(memory), ~uint64_t{0});
  }
  static std::unique_ptr<Nic> OpenNic(std::span<uint8_t> memory, uint16_t epoch) {
    return NicLink::Open(memory, epoch);
  }
  static uint64_t Rejected(const Host& host) { return host.counters().rejected; }
  static uint64_t InDoubt(const Host& host) { return host.counters().in_doubt; }
  static Region RegionOf(std::span<uint8_t> memory, uint32_t id) {
    return LinkMemory::Find(memory).region(id);
  }

  /// Returns the number of owners of each region. The host always owns exactly one region. If it
  /// owns more than one, a region has two owners; if it owns none, a region has no owner.
  static std::vector<uint32_t> Owners(std::span<uint8_t> memory) {
    const LinkMemory link = LinkMemory::Find(memory);
    const uint64_t owners = link.Owners();
    std::vector<uint32_t> counts(link.geometry().regions, 1);
    if (owners == 0) counts[0] = 0;
    for (uint64_t more = owners & (owners - 1); more != 0; more &= more - 1) {
      counts[static_cast<size_t>(std::countr_zero(more)) % counts.size()] = 2;
    }
    return counts;
  }
  /// Returns the bit mask of the regions in which the host works. Excludes a region that is
  /// offered, until it is returned, and a received region that the host does not know about yet.
  static uint64_t HostWorksIn(std::span<uint8_t> memory) {
    const LinkMemory link = LinkMemory::Find(memory);
    bar::Line line;
    bar::ReadLine(link.header().host_line, line);
    const Message host = Decode(line);
    bar::ReadLine(link.header().nic_line, line);
    const Message nic = Decode(line);
    const bool answered = nic.txid == host.txid && nic.phase >= Phase::kCommitted;
    if (host.phase == Phase::kOffer && !answered) return 0;
    return link.RecordedOwners() == link.Owners() ? link.Owners() : 0;
  }
};

}  // namespace sluice::swap::test
