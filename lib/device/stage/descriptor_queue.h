// SPDX-License-Identifier: BSD-3-Clause
//
// The legacy interface of a node: a doorbell gives the number of descriptors; the device fetches
// the descriptors and their data, and writes results and records. The driver is either the switch,
// for which records are in the window and precede the results, or a CPU, for which records are in a
// separate ring in host memory and are written after the results. NodeSetup::completions selects
// where records are written.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "device/stage/reads.h"
#include "device/stage/registers.h"
#include "device/stage/work.h"
#include "device/switch/message.h"

namespace sluice::device::stage {

/// The device's side of one node with the legacy interface. Used by one thread. Jobs are in
/// descriptor order.
class DescriptorQueue {
 public:
  static constexpr uint32_t kDepth = kMaxBatch;  ///< Maximum number of descriptors that the device
                                                 ///< holds.
  static constexpr uint32_t kFetchBatch =
      pcie_switch::kMaxReadRequest / sizeof(pcie_switch::LegacyDescriptor);

  struct Job {
    pcie_switch::LegacyDescriptor descriptor;
    std::vector<uint8_t> data;
    std::vector<uint8_t> result;  ///< A record, followed by space for the result.
    Fetch fetch;
    bool bad = false;     ///< The descriptor is invalid.
    uint32_t asked = 0;   ///< Number of data bytes that have been requested.
    uint32_t length = 0;  ///< Length of the result in bytes.
    uint32_t sent = 0;    ///< Number of bytes of the result and its record that have been sent.

    /// Returns whether the data arrived without errors and can be processed.
    bool good() const { return !bad && !fetch.refused; }
    std::span<uint8_t> room() {
      return std::span(result).subspan(sizeof(pcie_switch::LegacyRecord), descriptor.capacity);
    }
  };

  DescriptorQueue(const NodeSetup& setup, uint8_t owner) : setup_(setup), owner_(owner) {}

  /// Handles the doorbell: `posted` is the cumulative number of descriptors. Ignores the doorbell
  /// if more descriptors would be waiting than the ring has slots.
  void Ring(uint32_t posted) {
    if (posted - fetched_ <= setup_.slots) rung_ = posted;
  }
  /// Returns the number of leading unanswered jobs whose data has arrived or was refused.
  uint32_t Ready() const;
  /// Returns the i-th unanswered job; its reads have completed if i < Ready().
  Job& job(uint32_t i) { return jobs_[(answered_ + i) % kDepth]; }
  /// Answers job(0). `length` is the size of the result in job(0).room().
  void Answer(Outcome outcome, uint32_t length, uint32_t key);

  /// Sends results, records and read requests. Returns false if none could be sent.
  bool Send(LinkWriter& link, Reads& reads, pcie_switch::PortId port);
  /// Returns whether all posted descriptors have been finished.
  bool idle() const { return recorded_ == rung_; }

 private:
  bool WriteResults(LinkWriter& link, pcie_switch::PortId port);
  bool WriteRecords(LinkWriter& link, pcie_switch::PortId port);
  bool AskForData(LinkWriter& link, Reads& reads);
  bool AskForDescriptors(LinkWriter& link, Reads& reads);
  void StoreDescriptors();
  Job& At(uint32_t sequence) { return jobs_[sequence % kDepth]; }

  NodeSetup setup_;
  uint8_t owner_;
  // Cumulative counts of descriptors, in descending order.
  uint32_t rung_ = 0;
  uint32_t fetched_ = 0;   ///< Descriptors requested.
  uint32_t arrived_ = 0;   ///< Descriptors that have arrived in jobs_.
  uint32_t asked_ = 0;     ///< Descriptors whose data has been requested completely.
  uint32_t answered_ = 0;  ///< Jobs that the executor has answered.
  uint32_t written_ = 0;   ///< Results written.
  uint32_t recorded_ = 0;  ///< Records written.
  Fetch descriptors_fetch_;
  std::array<pcie_switch::LegacyDescriptor, kFetchBatch> descriptors_;
  std::array<Job, kDepth> jobs_;
};

}  // namespace sluice::device::stage
