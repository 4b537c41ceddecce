// SPDX-License-Identifier: BSD-3-Clause
#include "switch_runner.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace sluice::chain_app {

using namespace device::pcie_switch;  // NOLINT
using device::stage::BarOf;
using device::stage::kBarBytes;
using device::stage::kHostMemory;

SwitchRunner::SwitchRunner(PortId root, bool host_memory)
    : root_(root), switch_({.ports = kMaxPorts}) {
  // Devices push to each other only by streams. Only the CPU may write to their BARs.
  for (PortId port = 0; port < kMaxPorts; ++port) {
    switch_.AddRange({.base = BarOf(port),
                      .bytes = kBarBytes,
                      .port = port,
                      .allowed = static_cast<PortMask>(1u << root),
                      .registers = true});
  }
  if (host_memory)
    switch_.AddRange({.base = kHostMemory, .bytes = kRegions * kRegionBytes, .port = root});
}

void SwitchRunner::Attach(PortId port, device::stage::LinkMemory* link, bool listens) {
  links_[port] = {};
  if (link == nullptr) return;
  links_[port].reader.emplace(link->to_switch);
  if (listens) links_[port].writer.emplace(link->to_device);
}

void SwitchRunner::Write(uint64_t address, std::span<const uint8_t> bytes) {
  Tlp tlp;
  tlp.address = address;
  tlp.length = static_cast<uint32_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), tlp.payload.begin());
  Send(Behind(address), tlp);
}

/// Returns the port of the device with this address, or the root port if no device has it.
PortId SwitchRunner::Behind(uint64_t address) const {
  const uint64_t port = (address - BarOf(0)) / kBarBytes;
  return port < kMaxPorts ? static_cast<PortId>(port) : root_;
}

void SwitchRunner::Send(PortId to, const Tlp& tlp) {
  Link& link = links_[to];
  link.overrun |= link.due.size() == kMostDue;
  if (!link.overrun) link.due.push_back(tlp);
}

bool SwitchRunner::Step() {
  bool any = AdmitRoot();
  for (PortId port = 0; port < kMaxPorts; ++port)
    if (port != root_) any |= Admit(port);
  for (PortId port = 0; port < kMaxPorts; ++port)
    if (port != root_) any |= Leave(port);
  return LeaveRoot() || any;
}

bool SwitchRunner::Admit(PortId port) {
  Link& link = links_[port];
  if (!link.reader) return false;
  bool any = false;
  for (uint32_t i = 0; i < kTurn; ++i) {
    if (!link.blocked && !link.reader->Next(link.waiting)) break;
    link.blocked = !switch_.Accept(port, link.waiting);
    if (link.blocked) break;
    Count(port, link.waiting);
    any = true;
  }
  link.reader->Release();
  return any;
}

bool SwitchRunner::AdmitRoot() {
  bool any = false;
  if (auto& reader = links_[root_].reader) {
    Tlp tlp;
    for (uint32_t i = 0; i < kTurn && reader->Next(tlp); ++i) {
      Send(Behind(tlp.address), tlp);
      any = true;
    }
    reader->Release();
  }
  for (Link& link : links_) {
    for (; !link.due.empty() && switch_.Accept(root_, link.due.front()); any = true) {
      Count(root_, link.due.front());
      link.due.pop_front();
    }
  }
  return any;
}

bool SwitchRunner::Leave(PortId port) {
  Link& link = links_[port];
  if (!link.writer) return false;
  bool any = false;
  for (uint32_t i = 0; i < kTurn; ++i) {
    if (link.writer->Place() == nullptr || !switch_.Next(port, leaving_)) break;
    Count(port, leaving_);
    link.writer->Put(leaving_);
    any = true;
  }
  link.writer->Publish();
  return any;
}

bool SwitchRunner::LeaveRoot() {
  bool any = false;
  for (uint32_t i = 0; i < kTurn; ++i) {
    if (links_[root_].writer && links_[root_].writer->Place() == nullptr) break;
    if (!switch_.Next(root_, leaving_)) break;
    Count(root_, leaving_);
    DeliverToRoot(leaving_);
    any = true;
  }
  if (links_[root_].writer) links_[root_].writer->Publish();
  return any;
}

uint8_t* SwitchRunner::At(uint64_t address, uint32_t bytes) const {
  const uint64_t region = (address - kHostMemory) / kRegionBytes;
  const uint64_t offset = (address - kHostMemory) % kRegionBytes;
  if (region >= kRegions) return nullptr;
  const std::span<uint8_t> memory = memory_[region];
  const bool inside = offset < memory.size() && bytes <= memory.size() - offset;
  return inside ? memory.data() + offset : nullptr;
}

void SwitchRunner::DeliverToRoot(const Tlp& tlp) {
  uint8_t* const to = At(tlp.address, tlp.length);
  if (tlp.kind == TlpKind::kRead) {
    Answer(tlp);
  } else if (tlp.kind == TlpKind::kWrite && to != nullptr) {
    WriteMemory(to, tlp);
  } else if (links_[root_].writer) {
    links_[root_].writer->Put(tlp);
  }
}

/// Writes from the last word to the first, each with a release store: a reader that sees a record's
/// first word also sees the rest of the record, and all earlier writes.
void SwitchRunner::WriteMemory(uint8_t* to, const Tlp& tlp) {
  constexpr uint32_t kWord = sizeof(uint64_t);
  uint32_t left = tlp.length;
  const bool aligned = reinterpret_cast<uintptr_t>(to) % kWord == 0;
  const uint32_t tail = aligned ? left % kWord : left;
  std::memcpy(to + left - tail, tlp.payload.data() + left - tail, tail);
  for (left -= tail; left != 0; left -= kWord) {
    std::atomic_ref(*reinterpret_cast<uint64_t*>(to + left - kWord))
        .store(LoadFrom<uint64_t>(tlp.payload.data() + left - kWord), std::memory_order_release);
  }
}

void SwitchRunner::Answer(const Tlp& read) {
  const uint8_t* const from = At(read.address, read.length);
  for (uint32_t done = 0; done < read.length; done += kMaxPayload) {
    Tlp tlp;
    tlp.kind = TlpKind::kCompletion;
    tlp.refused = from == nullptr;
    tlp.requester = read.requester;
    tlp.tag = read.tag;
    if (from == nullptr) return Send(read.requester, tlp);
    tlp.address = done;
    tlp.length = std::min(read.length - done, kMaxPayload);
    std::memcpy(tlp.payload.data(), from + done, tlp.length);
    Send(read.requester, tlp);
  }
}

void SwitchRunner::Count(PortId port, const Tlp& tlp) {
  Operations& operations = operations_[port];
  switch (tlp.kind) {
    case TlpKind::kWrite:
      ++operations.writes;
      break;
    case TlpKind::kRead:
      ++operations.reads;
      return;
    case TlpKind::kCompletion:
      ++operations.completions;
      break;
  }
  operations.bytes += tlp.length;
}

}  // namespace sluice::chain_app
