// SPDX-License-Identifier: BSD-3-Clause
//
// The window between the host and its agent: a model of a NIC's, in memory that two cores share.
// Its interrupts end the time of the task that runs on the processor in question, at the next safe
// point: they come as fast as a line does, not as an MSI-X message.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "bar/shm_window.h"
#include "processor.h"

namespace sluice::sched {

/// A processor, as long as it is there.
using ProcessorSlot = std::atomic<Processor*>;

class ModelWindow : public bar::ShmWindow {
 public:
  ModelWindow() = default;
  /// Interrupt(i) is for processors[i]; they outlive it.
  ModelWindow(bar::ShmWindow window, std::span<ProcessorSlot> processors)
      : ShmWindow(std::move(window)), processors_(processors) {}

  uint32_t capabilities() const { return ShmWindow::capabilities() | bar::kWindowInterrupt; }
  void Interrupt(uint32_t index) {
    if (index >= processors_.size()) return;
    Processor* const processor = processors_[index].load(std::memory_order_acquire);
    if (processor != nullptr) processor->Interrupt();
  }

 private:
  std::span<ProcessorSlot> processors_;
};
static_assert(bar::WindowEnd<ModelWindow>);

}  // namespace sluice::sched
