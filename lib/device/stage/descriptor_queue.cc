// SPDX-License-Identifier: BSD-3-Clause
#include "device/stage/descriptor_queue.h"

#include <algorithm>
#include <cstring>

namespace sluice::device::stage {
namespace {

using pcie_switch::kMaxPayload;
using pcie_switch::kMaxReadRequest;
using pcie_switch::LegacyDescriptor;
using pcie_switch::LegacyRecord;
using pcie_switch::PortId;
using pcie_switch::Tlp;
using pcie_switch::TlpKind;

/// Returns a TLP that writes `bytes` bytes, or null if the link is full. The caller must fill in
/// the payload.
Tlp* BeginWrite(LinkWriter& link, PortId port, uint64_t address, uint32_t bytes) {
  Tlp* const tlp = link.Place();
  if (tlp == nullptr) return nullptr;
  tlp->kind = TlpKind::kWrite;
  tlp->refused = false;
  tlp->requester = port;
  tlp->address = address;
  tlp->length = bytes;
  return tlp;
}

uint32_t StatusOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return kStatusDone;
    case Outcome::kRefused:
      return kStatusRefused;
    case Outcome::kFailed:
      break;
  }
  return kStatusFailed;
}

}  // namespace

uint32_t DescriptorQueue::Ready() const {
  uint32_t ready = 0;
  while (answered_ + ready != asked_ && jobs_[(answered_ + ready) % kDepth].fetch.done()) ++ready;
  return ready;
}

void DescriptorQueue::Answer(Outcome outcome, uint32_t length, uint32_t key) {
  Job& job = At(answered_++);
  job.length = outcome == Outcome::kDone ? std::min(length, job.descriptor.capacity) : 0;
  pcie_switch::StoreTo(job.result.data(), LegacyRecord{.sequence = job.descriptor.sequence,
                                                       .status = StatusOf(outcome),
                                                       .length = job.length,
                                                       .key = key});
}

bool DescriptorQueue::Send(LinkWriter& link, Reads& reads, PortId port) {
  bool any = WriteResults(link, port);
  any |= AskForData(link, reads);
  return AskForDescriptors(link, reads) || any;
}

/// Writes results in order, preceded by their records unless records have a separate ring.
bool DescriptorQueue::WriteResults(LinkWriter& link, PortId port) {
  const uint32_t skip = setup_.completions == 0 ? 0 : sizeof(LegacyRecord);
  bool any = false;
  for (; written_ != answered_; ++written_) {
    Job& job = At(written_);
    const uint32_t bytes = static_cast<uint32_t>(sizeof(LegacyRecord)) - skip + job.length;
    while (job.sent != bytes) {
      const uint32_t count = std::min(kMaxPayload, bytes - job.sent);
      Tlp* const tlp = BeginWrite(link, port, job.descriptor.output + job.sent, count);
      if (tlp == nullptr) return WriteRecords(link, port) || any;
      std::memcpy(tlp->payload.data(), job.result.data() + skip + job.sent, count);
      link.Commit();
      job.sent += count;
      any = true;
    }
    if (skip == 0) ++recorded_;
  }
  return WriteRecords(link, port) || any;
}

/// Writes records after their results; adjacent records are combined into one write.
bool DescriptorQueue::WriteRecords(LinkWriter& link, PortId port) {
  bool any = false;
  while (recorded_ != written_) {
    const uint32_t slot = recorded_ % setup_.slots;
    const uint32_t count = std::min(
        {written_ - recorded_, setup_.slots - slot, kMaxPayload / uint32_t{sizeof(LegacyRecord)}});
    Tlp* const tlp = BeginWrite(link, port, setup_.completions + slot * sizeof(LegacyRecord),
                                count * uint32_t{sizeof(LegacyRecord)});
    if (tlp == nullptr) return any;
    for (uint32_t i = 0; i < count; ++i) {
      std::memcpy(tlp->payload.data() + i * sizeof(LegacyRecord), At(recorded_ + i).result.data(),
                  sizeof(LegacyRecord));
    }
    link.Commit();
    recorded_ += count;
    any = true;
  }
  return any;
}

bool DescriptorQueue::AskForData(LinkWriter& link, Reads& reads) {
  bool any = false;
  if (arrived_ != fetched_ && descriptors_fetch_.done()) StoreDescriptors();
  for (; asked_ != arrived_; ++asked_) {
    Job& job = At(asked_);
    while (job.asked != job.data.size()) {
      const uint32_t count =
          std::min(kMaxReadRequest, static_cast<uint32_t>(job.data.size()) - job.asked);
      if (!reads.Start(link, job.descriptor.input + job.asked, count, job.data.data() + job.asked,
                       job.fetch, owner_)) {
        return any;
      }
      job.asked += count;
      any = true;
    }
  }
  return any;
}

void DescriptorQueue::StoreDescriptors() {
  for (uint32_t i = 0; arrived_ != fetched_; ++i, ++arrived_) {
    Job& job = At(arrived_);
    job.descriptor =
        descriptors_fetch_.refused ? LegacyDescriptor{.sequence = arrived_} : descriptors_[i];
    job.bad = descriptors_fetch_.refused || job.descriptor.length > setup_.max_message;
    if (job.bad) job.descriptor.length = job.descriptor.capacity = 0;
    job.descriptor.capacity = std::min(job.descriptor.capacity, setup_.max_message);
    job.data.resize(job.descriptor.length);
    job.result.resize(sizeof(LegacyRecord) + job.descriptor.capacity);
    job.fetch = {};
    job.asked = job.length = job.sent = 0;
  }
}

/// Requests posted descriptors in one read. Their number is limited by the number of free jobs, the
/// end of the ring and the maximum read size.
bool DescriptorQueue::AskForDescriptors(LinkWriter& link, Reads& reads) {
  if (arrived_ != fetched_ || fetched_ == rung_) return false;
  const uint32_t slot = fetched_ % setup_.slots;
  const uint32_t count = std::min(
      {rung_ - fetched_, kDepth - (fetched_ - recorded_), setup_.slots - slot, kFetchBatch});
  if (count == 0) return false;
  descriptors_fetch_ = {};
  if (!reads.Start(link, setup_.ring + slot * sizeof(LegacyDescriptor),
                   count * uint32_t{sizeof(LegacyDescriptor)},
                   reinterpret_cast<uint8_t*>(descriptors_.data()), descriptors_fetch_, owner_)) {
    return false;
  }
  fetched_ += count;
  return true;
}

}  // namespace sluice::device::stage
