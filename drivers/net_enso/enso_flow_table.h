// SPDX-License-Identifier: BSD-3-Clause
//
// Mirror of the NIC's flow table. The NIC ignores an insert that finds its four
// rows taken, and reports nothing; the driver therefore repeats each insert here
// first and refuses what the NIC would lose (docs/enso-hardware.md, "Steering"). Control path; the
// caller serialises.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "regs/enso.h"
#include "regs/enso_flow.h"

namespace sluice::net_enso {

using regs::enso::FlowKey;

/// The key under which the NIC looks up frames of `protocol` that belong to `flow`:
/// all four fields for TCP without SYN, destination address and port for UDP, the
/// destination address alone for every other protocol. A TCP flow without a source
/// names its SYN segments, which the NIC looks up like UDP.
FlowKey MaskFlow(const FlowKey& flow, uint8_t protocol);

/// The key under which the NIC looks up the frame whose first flit is at `flit`. It takes the
/// fields from where they are in IPv4 without options, whatever the frame is.
FlowKey KeyOfFrame(const uint8_t* flit);

/// The table as the NIC holds it, provided that it was empty at first and every
/// insert went through here. On hardware entries survive a soft reset and other
/// processes; those the mirror cannot know.
class FlowTable {
 public:
  FlowTable();

  enum class Result { kStored, kExists, kFull };

  /// What Insert would say: kExists if `key` points at another pipe already, kFull if
  /// the NIC would drop the entry.
  Result Check(const FlowKey& key, uint32_t pipe) const;
  /// Points `key` at `pipe`. Only kStored changes the table, and only then may the
  /// configuration be sent.
  Result Insert(const FlowKey& key, uint32_t pipe);
  /// Turns the entry into a miss; its row stays taken for this key. False if `key`
  /// does not point at `pipe`.
  bool Unbind(const FlowKey& key, uint32_t pipe);
  /// Pipe of `key`, or regs::enso::kUnbind for a miss.
  uint32_t Find(const FlowKey& key) const;
  /// Every key that points at `pipe`.
  std::vector<FlowKey> KeysOf(uint32_t pipe) const;

 private:
  struct Row {
    FlowKey key;
    uint32_t pipe = regs::enso::kUnbind;
    bool taken = false;
  };
  using SubTable = std::array<Row, regs::enso::kSubTableRows>;

  /// The row that holds `key`, else the one that the NIC would take, else null.
  const Row* FindRow(const FlowKey& key) const;

  std::vector<SubTable> tables_;
};

}  // namespace sluice::net_enso
