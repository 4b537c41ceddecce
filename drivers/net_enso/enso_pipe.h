// SPDX-License-Identifier: BSD-3-Clause
//
// State of one Ensō pipe (OSDI'23 section 4): a ring of flits that the NIC fills, empties, or both.
// This is the definition of `struct rte_pmd_enso_pipe`. A pipe belongs to a notification buffer,
// and only that buffer's thread accesses it; Device opens and closes it.
#pragma once

#include <cstdint>
#include <memory>

#include "net_enso/enso_backend.h"
#include "net_enso/rte_pmd_enso.h"

/// State of one pipe. All positions are free-running counts of flits, masked on use.
struct rte_pmd_enso_pipe {
  static constexpr uint32_t kNoId = ~0u;  ///< Id of a TX pipe, which has no page in the NIC.

  uint8_t* memory = nullptr;  ///< Mapped twice, at consecutive addresses.
  uint32_t flits = 0;         ///< Size; power of two.
  uint32_t mask = 0;

  // Receive side: head ≤ released ≤ returned ≤ tail ≤ stored_head + flits − 1.
  uint32_t tail = 0;                        ///< Position that the NIC reported.
  uint32_t returned = 0;                    ///< Returned to the caller by poll.
  uint32_t released = 0;                    ///< Given back by the caller.
  uint32_t head = 0;                        ///< Given back, and no longer being transmitted.
  uint32_t stored_head = 0;                 ///< Value of rx_head.
  rte_pmd_enso_pipe* next_ready = nullptr;  ///< Next in the list of pipes with tail ≠ returned.
  rte_pmd_enso_pipe* next_dirty = nullptr;  ///< Next in the list of pipes with head ≠ stored_head.
  bool ready = false;
  bool dirty = false;

  // Transmit side.
  uint32_t sends = 0;      ///< Number of sends with an incomplete last slot.
  uint32_t last_slot = 0;  ///< Last slot of the latest send; valid while sends > 0.
  uint32_t tx_tail = 0;    ///< TX pipe: flits sent.
  uint32_t tx_head = 0;    ///< TX pipe: flits whose transmission is complete.

  rte_pmd_enso_nb* nb = nullptr;
  rte_pmd_enso_pipe_kind kind = RTE_PMD_ENSO_RX;
  uint32_t id = kNoId;
  bool fallback = false;
  bool reachable = false;  ///< A flow or the fallback set may have steered frames here.
  uint64_t bus = 0;        ///< Bus address of `memory`.
  void* context = nullptr;
  sluice::net_enso::DmaRing ring;

  /// Ends of the accepted packets: a ring of `flits` entries, of which [boundaries_read,
  /// boundaries_written) are valid. Null unless the NIC sends a notification for every packet.
  std::unique_ptr<uint32_t[]> boundaries;
  uint32_t boundaries_written = 0;
  uint32_t boundaries_read = 0;

  bool receives() const { return kind != RTE_PMD_ENSO_TX; }
  uint8_t* At(uint32_t position) const {
    return memory + size_t{position & mask} * RTE_PMD_ENSO_FLIT_BYTES;
  }
};

namespace sluice::net_enso {
using Pipe = ::rte_pmd_enso_pipe;
}  // namespace sluice::net_enso
