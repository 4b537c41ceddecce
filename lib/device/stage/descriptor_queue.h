// SPDX-License-Identifier: BSD-3-Clause
//
// The legacy interface of a node: a doorbell gives the number of descriptors; the device fetches
// them and their data, and writes results and records. The driver is either the switch (records
// precede results, in the window) or a CPU (records are in a separate ring in host memory, written
// after the results). NodeSetup::completions selects the place of the records.
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

/// The device's side of one node with the legacy interface. Used by one thread. Jobs are in the
/// order of their descriptors.
class DescriptorQueue {
 public:
  static constexpr uint32_t kDepth = kMaxBatch;  ///< Maximum number of descriptors in the device.
  static constexpr uint32_t kFetchBatch =
      pcie_switch::kMaxReadRequest / sizeof(pcie_switch::LegacyDescriptor);

  struct Job {
    pcie_switch::LegacyDescriptor descriptor;
    std::vector<uint8_t> data;
    std::vector<uint8_t> result;  ///< A record, followed by space for the result.
    Fetch fetch;
    bool bad = false;     ///< The descriptor is invalid.
    uint32_t asked = 0;   ///< Bytes of the data that were requested.
    uint32_t length = 0;  ///< Bytes of the result.
    uint32_t sent = 0;    ///< Bytes sent of the result and its record.

    /// Returns whether the data arrived without errors and can be processed.
    bool good() const { return !bad && !fetch.refused; }
    std::span<uint8_t> room() {
      return std::span(result).subspan(sizeof(pcie_switch::LegacyRecord), descriptor.capacity);
    }
  };

  DescriptorQueue(const NodeSetup& setup, uint8_t owner) : setup_(setup), owner_(owner) {}

  /// Handles the doorbell: `posted` is the cumulative number of descriptors. Ignores a number by
  /// which more descriptors would wait than the ring has slots.
  void Ring(uint32_t posted) {
    if (posted - fetched_ <= setup_.slots) rung_ = posted;
  }
  /// Returns the number of leading unanswered jobs whose data has arrived or was refused.
  uint32_t Ready() const;
  /// Returns the i-th unanswered job; its reads have ended if i < Ready().
  Job& job(uint32_t i) { return jobs_[(answered_ + i) % kDepth]; }
  /// Answers job(0). `length` is the size of the result in job(0).room().
  void Answer(Outcome outcome, uint32_t length, uint32_t key);

  /// Sends results, records and read requests. Returns false if none could be sent.
  bool Send(LinkWriter& link, Reads& reads, pcie_switch::PortId port);
  /// Returns whether all posted descriptors are finished.
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
  uint32_t arrived_ = 0;   ///< Descriptors arrived in jobs_.
  uint32_t asked_ = 0;     ///< Descriptors whose data was requested completely.
  uint32_t answered_ = 0;  ///< Jobs answered by the executor.
  uint32_t written_ = 0;   ///< Results written.
  uint32_t recorded_ = 0;  ///< Records written.
  Fetch descriptors_fetch_;
  std::array<pcie_switch::LegacyDescriptor, kFetchBatch> descriptors_;
  std::array<Job, kDepth> jobs_;
};

}  // namespace sluice::device::stage
