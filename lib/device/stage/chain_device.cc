// SPDX-License-Identifier: BSD-3-Clause
#include "device/stage/chain_device.h"

#include <algorithm>

namespace sluice::device::stage {
namespace {

using pcie_switch::kGranule;
using pcie_switch::LoadFrom;
using pcie_switch::Tlp;
using pcie_switch::TlpKind;
using pcie_switch::WindowReport;

/// Returns whether the device supports the node that `setup` describes. The setup is not trusted.
bool CanBe(const NodeSetup& setup) {
  if (setup.action != SetupAction::kOpen || setup.max_message > kMostBytes) return false;
  if (setup.ring != 0) return setup.slots != 0;
  return setup.consumed == 0 || (setup.buffer_bytes != 0 && setup.buffer_bytes <= kMostBytes &&
                                 setup.buffer_bytes % kGranule == 0);
}

}  // namespace

bool ChainDevice::Receive() {
  Tlp tlp;
  bool any = false;
  while (from_switch_.Next(tlp)) {
    Accept(tlp);
    any = true;
  }
  from_switch_.Release();
  return any;
}

void ChainDevice::Accept(const Tlp& tlp) {
  if (tlp.kind == TlpKind::kCompletion) return reads_.Complete(tlp);
  const uint64_t offset = tlp.address - BarOf(port_);
  const uint64_t index = offset >> kSlotShift;
  // Registers are write-only. A TLP longer than the maximum payload is invalid.
  if (tlp.kind != TlpKind::kWrite || index >= kNodeSlots || tlp.length > pcie_switch::kMaxPayload)
    return;
  NodeSlot& slot = slots_[index];
  const uint64_t at = offset & ((uint64_t{1} << kSlotShift) - 1);
  if (at == kSetupOffset && tlp.length == sizeof(NodeSetup)) {
    SetUp(static_cast<uint32_t>(index), LoadFrom<NodeSetup>(tlp.payload.data()));
  } else if (slot.reader && at < slot.setup.buffer_bytes &&
             tlp.length <= slot.setup.buffer_bytes - at) {
    slot.reader->Accept(tlp);
  } else if (slot.writer && at == kControlOffset && tlp.length == sizeof(uint64_t)) {
    slot.writer->SetFreed(LoadFrom<uint64_t>(tlp.payload.data()));
  } else if (slot.reader && at == kControlOffset + 8 && tlp.length == sizeof(uint64_t)) {
    slot.reader->Abort(LoadFrom<uint64_t>(tlp.payload.data()));
  } else if (slot.queue && at == kDoorbellOffset && tlp.length == sizeof(uint32_t)) {
    slot.queue->Ring(LoadFrom<uint32_t>(tlp.payload.data()));
  }
}

void ChainDevice::SetUp(uint32_t index, const NodeSetup& setup) {
  NodeSlot& slot = slots_[index];
  if (setup.action == SetupAction::kDrain) {
    slot.setup.action = SetupAction::kDrain;
    return;
  }
  reads_.Forget(static_cast<uint8_t>(index));
  slot.writer.reset();
  slot.reader.reset();
  slot.queue.reset();
  slot.resumed = slot.asked = slot.drained = false;
  slot.fetch = {};
  slot.setup = setup;
  if (!CanBe(setup)) slot.setup = {};
  if (slot.setup.action == SetupAction::kFree) return;
  used_ = std::max(used_, index + 1);
  if (setup.ring != 0) {
    slot.queue.emplace(setup, static_cast<uint8_t>(index));
    return;
  }
  if (setup.window != 0) slot.writer.emplace(setup.window, setup.window_granules, port_);
  if (setup.consumed != 0)
    slot.reader.emplace(SlotOf(port_, index), setup.buffer_bytes, setup.consumed, port_);
}

bool ChainDevice::Send() {
  bool any = false;
  for (uint32_t i = 0; i < used_; ++i) {
    if (slots_[i].queue) {
      any |= slots_[i].queue->Send(to_switch_, reads_, port_);
    } else {
      any |= SendStream(slots_[i], static_cast<uint8_t>(i));
    }
  }
  to_switch_.Publish();
  return any;
}

bool ChainDevice::SendStream(NodeSlot& slot, uint8_t index) {
  bool any = false;
  Tlp* place = slot.reader ? to_switch_.Place() : nullptr;
  if (place != nullptr && slot.reader->Credits(*place)) {
    to_switch_.Commit();
    any = true;
  }
  if (!slot.writer) return any;
  // Requests the window's report before the first message, because a predecessor of this device may
  // have sent messages before it died.
  const bool last = slot.draining() && slot.resumed && !slot.drained &&
                    slot.writer->waiting() == 0 && (!slot.reader || !slot.reader->Whole());
  if (!slot.asked || last) {
    if (!reads_.Start(to_switch_, slot.setup.window, sizeof(WindowReport),
                      reinterpret_cast<uint8_t*>(&slot.report), slot.fetch, index)) {
      return any;
    }
    slot.drained = last;
    return slot.asked = true;
  }
  if (!slot.resumed && slot.fetch.done() && !slot.fetch.refused) {
    slot.writer->Resume(slot.report);
    slot.resumed = true;
  }
  if (!slot.resumed) return any;
  for (uint32_t i = 0; i < kTurn; ++i) {
    place = to_switch_.Place();
    if (place == nullptr || !slot.writer->Next(*place)) break;
    to_switch_.Commit();
    any = true;
  }
  return any;
}

}  // namespace sluice::device::stage
