// SPDX-License-Identifier: BSD-3-Clause
//
// Legacy devices: the switch acts as the driver. It holds the descriptor ring and the data in
// internal memory, rings the doorbell, answers the device's reads, and converts the record and the
// result that the device writes to the window into a message.
#include <algorithm>
#include <cstring>

#include "device/switch/switch.h"

namespace sluice::device::pcie_switch {

/// Marks the descriptor of a record as answered and returns its slot, or null if it is not pending.
const Slot* Switch::Answered(Hop& hop, const LegacyRecord& record) {
  Slot& slot = hop.slots[record.sequence % hop.slots.size()];
  if (!slot.used || slot.sequence != record.sequence) return nullptr;
  slot.used = false;
  return &slot;
}

/// Returns whether there is room for the result of one more descriptor. Legacy devices do not use
/// credits, so a descriptor is posted only if there is room.
bool Switch::HasRoomForResult(const Hop& hop) const {
  const Stream& stream = streams_[hop.stream];
  const uint16_t index = stream.lanes[hop.node];
  if (index == kNone) return true;
  const Lane& lane = lanes_[index];
  const uint32_t longest = Granules(sizeof(LegacyRecord) + stream.max_message);
  const auto with_it = static_cast<uint32_t>(std::ranges::count(hop.slots, true, &Slot::used));
  const uint32_t coming = lane.coming ? Granules(lane.end - lane.offset) : 0;
  return (with_it + 1) * longest + coming <= rings_[lane.ring].free_granules();
}

bool Switch::Feed(Hop& hop, Tlp& out) {
  hop.aborted = false;  // A legacy device has not seen a partial message.
  for (;;) {
    const uint32_t slot = hop.posted % static_cast<uint32_t>(hop.slots.size());
    if (!hop.busy) {
      if (hop.slots[slot].used || !HasRoomForResult(hop) || !BeginSending(hop)) return false;
      hop.filled = 0;
    }
    Held* const held = Pending(hop, hop.lane, false);
    if (held == nullptr) return false;
    const size_t slots = hop.slots.size();
    const size_t stride = hop.memory.size() / slots - kGranule;
    std::memcpy(hop.memory.data() + slots * kGranule + slot * stride + hop.filled,
                held->data.data(), held->length);
    hop.filled += held->length;
    hop.partial = true;
    const bool last = held->last;
    if (last) Post(hop, *held, out);
    Sent(hop, *held);
    if (last) return true;
  }
}

/// Posts the descriptor of the message in the slot and rings the doorbell.
void Switch::Post(Hop& hop, const Held& held, Tlp& out) {
  const auto index = static_cast<uint64_t>(&hop - hops_.data());
  const uint16_t lane = streams_[hop.stream].lanes[hop.node];
  const uint64_t memory = kGlueMemory + (index << kGlueShift);
  const size_t slots = hop.slots.size();
  const size_t slot = hop.posted % slots;
  const size_t stride = hop.memory.size() / slots - kGranule;
  hop.slots[slot] = {
      .used = true, .sequence = hop.posted, .message = held.message, .key1 = held.key[1]};
  StoreTo(hop.memory.data() + slot * kGranule,
          LegacyDescriptor{.input = memory + slots * kGranule + slot * stride,
                           .output = lane == kNone ? kRegisters + index * 8
                                                   : kWindows + (uint64_t{lane} << kWindowShift),
                           .length = held.message_length,
                           .capacity = lane == kNone ? 0 : streams_[hop.stream].max_message,
                           .command = hop.spec.command,
                           .sequence = hop.posted,
                           .state = hop.spec.state});
  hop.CountState();
  ++hop.posted;
  out.kind = TlpKind::kWrite;
  out.refused = false;
  out.requester = hop.spec.port;
  out.address = hop.spec.doorbell;
  out.length = sizeof hop.posted;
  StoreTo(out.payload.data(), hop.posted);
}

bool Switch::ReadGlue(PortId port, const Tlp& tlp) {
  if (tlp.address < kGlueMemory || tlp.length == 0) return false;
  const uint64_t index = (tlp.address - kGlueMemory) >> kGlueShift;
  if (index >= hops_.size() || !hops_[index].used || hops_[index].spec.port != port) return false;
  const uint64_t offset = tlp.address & ((1ull << kGlueShift) - 1);
  const std::vector<uint8_t>& memory = hops_[index].memory;
  if (offset > memory.size() || tlp.length > memory.size() - offset) return false;
  Complete(port, tlp, memory.data() + offset);
  return true;
}

}  // namespace sluice::device::pcie_switch
