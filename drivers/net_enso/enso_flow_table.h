// SPDX-License-Identifier: BSD-3-Clause
//
// Mirror of the NIC's flow table. The NIC silently ignores an insertion if all four rows for the
// key are occupied. The driver therefore performs each insertion here first, and rejects those that
// the NIC would ignore (docs/enso-hardware.md, "Steering"). Used on the control path; the caller
// serializes calls.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "regs/enso.h"
#include "regs/enso_flow.h"

namespace sluice::net_enso {

using regs::enso::FlowKey;

/// Returns the key under which the NIC looks up frames of `protocol` that belong to `flow`: all
/// four fields for TCP without SYN, destination address and port for UDP, and only the destination
/// address for other protocols. A TCP flow without a source matches SYN segments, which the NIC
/// looks up in the same way as UDP.
FlowKey MaskFlow(const FlowKey& flow, uint8_t protocol);

/// Returns the key under which the NIC looks up the frame with the first flit at `flit`. Reads the
/// fields at their offsets in IPv4 without options, for every kind of frame.
FlowKey KeyOfFrame(const uint8_t* flit);

/// The contents of the NIC's table, provided that it was initially empty and that every entry was
/// inserted through this class. On hardware, entries survive a soft reset and the end of the
/// process that inserted them; the mirror does not contain such entries.
class FlowTable {
 public:
  FlowTable();

  enum class Result { kStored, kExists, kFull };

  /// Returns the result that Insert would return: kExists if `key` already points to another pipe,
  /// or kFull if the NIC would drop the entry.
  Result Check(const FlowKey& key, uint32_t pipe) const;
  /// Points `key` to `pipe`. The table is changed only if the result is kStored; only then may the
  /// configuration be sent.
  Result Insert(const FlowKey& key, uint32_t pipe);
  /// Makes lookups of `key` miss; its row stays reserved. Returns false if `key` does not point to
  /// `pipe`.
  bool Unbind(const FlowKey& key, uint32_t pipe);
  /// Returns the pipe to which `key` points, or regs::enso::kUnbind for a miss.
  uint32_t Find(const FlowKey& key) const;
  /// Returns every key that points to `pipe`.
  std::vector<FlowKey> KeysOf(uint32_t pipe) const;

 private:
  struct Row {
    FlowKey key;
    uint32_t pipe = regs::enso::kUnbind;
    bool taken = false;
  };
  using SubTable = std::array<Row, regs::enso::kSubTableRows>;

  /// Returns the row that holds `key`; if there is none, the row that the NIC would use; otherwise
  /// null.
  const Row* FindRow(const FlowKey& key) const;

  std::vector<SubTable> tables_;
};

}  // namespace sluice::net_enso
