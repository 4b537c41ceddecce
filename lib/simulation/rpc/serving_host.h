// SPDX-License-Identifier: BSD-3-Clause
//
// Common base of all hosts. A NIC delivers calls to a host and sends its replies.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/event_queue.h"
#include "simulation/rpc/serving.h"

namespace sluice::simulation {

using fabric::Picoseconds;

struct ServedCall {
  uint32_t service = 0;
  Picoseconds came = 0;
  Picoseconds handler = 0;
  Picoseconds answered = 0;  ///< Time of the reply, or 0 if there is none yet.
};

/// The calls of a run, with their results.
class CallBook {
 public:
  explicit CallBook(uint32_t calls) { calls_.reserve(calls); }

  uint32_t Add(const ServedCall& call) {
    calls_.push_back(call);
    return static_cast<uint32_t>(calls_.size() - 1);
  }
  const ServedCall& at(uint32_t number) const { return calls_[number]; }
  void Answered(uint32_t number, Picoseconds now) { calls_[number].answered = now; }
  void Dropped() { ++dropped_; }
  uint64_t dropped() const { return dropped_; }
  const std::vector<ServedCall>& calls() const { return calls_; }

 private:
  std::vector<ServedCall> calls_;
  uint64_t dropped_ = 0;
};

/// A host that executes calls. Used by one thread. All constructor arguments must outlive this
/// object.
class HostOfServices {
 public:
  virtual ~HostOfServices() = default;
  /// Called when the last bit of the call has arrived.
  virtual void Arrive(uint32_t call) = 0;
  /// Returns how many polls by all cores have found nothing so far.
  virtual uint64_t IdleLooks() const = 0;
};

std::unique_ptr<HostOfServices> MakeCoherentHost(fabric::EventQueue& queue,
                                                 const ServingParameters& parameters,
                                                 CallBook& book);
std::unique_ptr<HostOfServices> MakePollingHost(fabric::EventQueue& queue,
                                                const ServingParameters& parameters,
                                                CallBook& book);
std::unique_ptr<HostOfServices> MakeKernelHost(fabric::EventQueue& queue,
                                               const ServingParameters& parameters, CallBook& book);
std::unique_ptr<HostOfServices> MakeReallocatingHost(fabric::EventQueue& queue,
                                                     const ServingParameters& parameters,
                                                     CallBook& book);

}  // namespace sluice::simulation
