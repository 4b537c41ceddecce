// SPDX-License-Identifier: BSD-3-Clause
//
// One model as a PCI function: its regions, and what their registers do to it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "emulator/hosted_model.h"
#include "emulator/model.h"
#include "emulator/vfio_user/client_interrupts.h"
#include "emulator/vfio_user/config_space.h"
#include "emulator/vfio_user/lines_memory.h"
#include "emulator/vfio_user/pci_function.h"

namespace sluice::emulator::vfio_user {

/// The parts of a function that live longer than its client.
struct FunctionParts {
  const ModelInfo& info;
  const PciFunction& function;
  const SettingValues& settings;  ///< As the management tool left them.
  HostedModel& model;
};

/// From construction to destruction the model has this host. One thread. Accesses to registers
/// travel to the model in their order, a read behind the writes before it.
class FunctionHost {
 public:
  /// The function as after power-on. All outlive this object. Null, with one line in `error`, if
  /// there is no room.
  static std::unique_ptr<FunctionHost> Create(const FunctionParts& parts, bar::DmaSpace& dma,
                                              ClientInterrupts& interrupts, std::string* error);
  ~FunctionHost();
  FunctionHost(const FunctionHost&) = delete;
  FunctionHost& operator=(const FunctionHost&) = delete;

  /// Size of a region; 0: there is none of that index.
  uint64_t RegionBytes(uint32_t region) const;
  /// File of a region that the client may map, or −1.
  int RegionFile(uint32_t region) const;
  /// Whether a read of the region waits for the model, register by register.
  bool AsksModel(uint32_t region) const;
  /// Whether [address, address + bytes) of the bus is a BAR of this function, which decodes it.
  bool IsBar(uint64_t address, uint64_t bytes) const;
  /// The range lies within the region.
  void Read(uint32_t region, uint64_t offset, std::span<uint8_t> data);
  void Write(uint32_t region, uint64_t offset, std::span<const uint8_t> data);
  /// Everything but counters, the wire and the client's files of interrupts is as after power-on.
  void Reset();
  /// False: the model has not answered for so long that nothing reaches it any more.
  bool alive() const { return queue_->LinkUp(); }

 private:
  FunctionHost(const FunctionParts& parts, bar::DmaSpace& dma, ClientInterrupts& interrupts);

  bool PowerOn(std::string* error);
  void WriteConfig(uint32_t offset, std::span<const uint8_t> data);
  void ReadRegisters(uint32_t offset, std::span<uint8_t> data);
  void WriteRegisters(uint32_t offset, std::span<const uint8_t> data);
  /// Of the BAR with the MSI-X table, whose pending bits are read-only.
  uint8_t MsixByte(uint32_t offset) const;

  const FunctionParts parts_;
  bar::DmaSpace& dma_;
  ClientInterrupts& interrupts_;
  const std::unique_ptr<bar::PostedQueue> queue_;
  ConfigSpace config_;
  std::unique_ptr<LinesMemory> lines_;  ///< Null: the function has none.
  std::vector<uint8_t> msix_table_;
};

}  // namespace sluice::emulator::vfio_user
