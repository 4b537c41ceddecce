// SPDX-License-Identifier: BSD-3-Clause
//
// One model as a PCI function: its regions and the effects of their registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "emulator/channel.h"
#include "emulator/hosted_model.h"
#include "emulator/model.h"
#include "emulator/vfio_user/client_interrupts.h"
#include "emulator/vfio_user/config_space.h"
#include "emulator/vfio_user/pci_function.h"

namespace sluice::emulator::vfio_user {

/// Device memory that a client also maps: an unnamed file whose size is sealed.
class LinesMemory {
 public:
  LinesMemory() = default;
  /// Allocates `bytes` bytes of zeroes, in whole pages. The object is empty on failure.
  explicit LinesMemory(size_t bytes);
  ~LinesMemory();
  LinesMemory(const LinesMemory&) = delete;
  LinesMemory& operator=(const LinesMemory&) = delete;

  explicit operator bool() const { return begin_ != nullptr; }
  uint8_t* begin() const { return begin_; }
  int fd() const { return file_.fd(); }
  /// Zeroes the memory, which affects all its mappings.
  void Clear();

 private:
  base::OwnedFd file_;
  uint8_t* begin_ = nullptr;
  size_t bytes_ = 0;
};

/// The parts of a function that must outlive its client.
struct FunctionParts {
  const ModelInfo& info;
  const PciFunction& function;
  const SettingValues& settings;  ///< Values set by the management tool.
  HostedModel& model;
};

/// Connects the client to the model from construction to destruction. Used by one thread. Register
/// accesses reach the model in order, so a read comes after all earlier writes.
class FunctionHost {
 public:
  /// Creates the function in its power-on state. All arguments must outlive this object. If
  /// resources are exhausted, returns null and sets `error` to a one-line message.
  static std::unique_ptr<FunctionHost> Create(const FunctionParts& parts, bar::DmaSpace& dma,
                                              ClientInterrupts& interrupts, std::string* error);
  ~FunctionHost();
  FunctionHost(const FunctionHost&) = delete;
  FunctionHost& operator=(const FunctionHost&) = delete;

  /// Returns the size of a region; 0 if the index has no region.
  uint64_t RegionBytes(uint32_t region) const;
  /// Returns the file of a region that the client may map, or −1.
  int RegionFile(uint32_t region) const;
  /// Returns whether each read of a register in the region must ask the model and wait for its
  /// answer.
  bool AsksModel(uint32_t region) const;
  /// Returns whether [address, address + bytes) on the bus is a decoded BAR of this function.
  bool IsBar(uint64_t address, uint64_t bytes) const;
  /// The range must be within the region.
  void Read(uint32_t region, uint64_t offset, std::span<uint8_t> data);
  void Write(uint32_t region, uint64_t offset, std::span<const uint8_t> data);
  /// Resets the function to its power-on state, except for counters, the wire and the client's
  /// interrupt files.
  void Reset();
  /// Returns true until the model has failed to answer within the time limit. After that, it gets
  /// no more accesses.
  bool alive() const { return queue_->LinkUp(); }

 private:
  FunctionHost(const FunctionParts& parts, bar::DmaSpace& dma, ClientInterrupts& interrupts);

  bool PowerOn(std::string* error);
  void WriteConfig(uint32_t offset, std::span<const uint8_t> data);
  void ReadRegisters(uint32_t offset, std::span<uint8_t> data);
  void WriteRegisters(uint32_t offset, std::span<const uint8_t> data);
  /// Returns a byte of the BAR that contains the MSI-X table. The pending bits are read-only.
  uint8_t MsixByte(uint32_t offset) const;

  const FunctionParts parts_;
  bar::DmaSpace& dma_;
  ClientInterrupts& interrupts_;
  const std::unique_ptr<bar::PostedQueue> queue_;
  ConfigSpace config_;
  /// Memory shared with the client (BarKind::kLines); null if the function has no such BAR.
  std::unique_ptr<LinesMemory> lines_;
  std::vector<uint8_t> msix_table_;
};

}  // namespace sluice::emulator::vfio_user
