// SPDX-License-Identifier: BSD-3-Clause
//
// The legacy face of a node: a doorbell says how many descriptors there are; the device fetches
// them and the data that they point to, and writes results and records. It cannot tell whether the
// switch plays the driver (records in front of results, in the window) or a CPU does (records in a
// ring of their own, behind the results, in the host's memory).
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

/// One thread. Jobs are in the order of their descriptors.
class DescriptorQueue {
 public:
  static constexpr uint32_t kDepth = kMaxBatch;  ///< Descriptors that it has at once.
  static constexpr uint32_t kFetchBatch =
      pcie_switch::kMaxReadRequest / sizeof(pcie_switch::LegacyDescriptor);

  struct Job {
    pcie_switch::LegacyDescriptor descriptor;
    std::vector<uint8_t> data;
    std::vector<uint8_t> result;  ///< A record, and room for the result behind it.
    Fetch fetch;
    bool bad = false;     ///< The descriptor asks for what cannot be.
    uint32_t asked = 0;   ///< Of the data, bytes that reads are under way for, or are here.
    uint32_t length = 0;  ///< Of the result.
    uint32_t sent = 0;    ///< Of the result and what is in front of it, bytes.

    /// Its data are here, and may be worked on.
    bool good() const { return !bad && !fetch.refused; }
    std::span<uint8_t> room() {
      return std::span(result).subspan(sizeof(pcie_switch::LegacyRecord), descriptor.capacity);
    }
  };

  DescriptorQueue(const NodeSetup& setup, uint8_t owner) : setup_(setup), owner_(owner) {}

  /// The doorbell: descriptors that there are, cumulative.
  void Ring(uint32_t posted) {
    if (posted - fetched_ <= setup_.slots) rung_ = posted;
  }
  /// Jobs whose data are here and that have not been answered.
  uint32_t Ready() const;
  /// The i-th of them.
  Job& job(uint32_t i) { return jobs_[(answered_ + i) % kDepth]; }
  /// Answers the oldest of them. `length`: bytes of the result, in job(0).room().
  void Answer(Outcome outcome, uint32_t length, uint32_t key);

  /// Sends results, and asks for more. False: nothing could be sent.
  bool Send(LinkWriter& link, Reads& reads, pcie_switch::PortId port);
  /// Nothing is to be fetched, worked on or written.
  bool idle() const { return recorded_ == rung_; }

 private:
  bool WriteResults(LinkWriter& link, pcie_switch::PortId port);
  bool WriteRecords(LinkWriter& link, pcie_switch::PortId port);
  bool AskForData(LinkWriter& link, Reads& reads);
  bool AskForDescriptors(LinkWriter& link, Reads& reads);
  void TakeDescriptors();
  Job& At(uint32_t sequence) { return jobs_[sequence % kDepth]; }

  NodeSetup setup_;
  uint8_t owner_;
  // Counts of descriptors, each at most the one before it.
  uint32_t rung_ = 0;
  uint32_t fetched_ = 0;   ///< Asked for.
  uint32_t arrived_ = 0;   ///< In jobs_.
  uint32_t asked_ = 0;     ///< All reads of their data are under way, or done.
  uint32_t answered_ = 0;  ///< By whoever works.
  uint32_t written_ = 0;   ///< Results.
  uint32_t recorded_ = 0;  ///< Records.
  Fetch descriptors_fetch_;
  std::array<pcie_switch::LegacyDescriptor, kFetchBatch> descriptors_;
  std::array<Job, kDepth> jobs_;
};

}  // namespace sluice::device::stage
