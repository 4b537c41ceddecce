// SPDX-License-Identifier: BSD-3-Clause
//
// The window between the host and its agent: models a NIC's window with memory that two cores
// share. An interrupt ends the time slice of the task on the target processor, at the task's next
// safe point. The interrupt arrives as soon as the cache line is transferred, which is earlier than
// an MSI-X message would arrive.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "bar/shm_window.h"
#include "processor.h"

namespace sluice::sched {

/// A processor; null if there is none.
using ProcessorSlot = std::atomic<Processor*>;

class ModelWindow : public bar::ShmWindow {
 public:
  ModelWindow() = default;
  /// Interrupt(i) interrupts processors[i]; the processors must outlive the object.
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
