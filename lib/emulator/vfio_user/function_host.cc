// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/function_host.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::emulator::vfio_user {
namespace {

constexpr uint32_t kMsixEntryBytes = 16;
constexpr uint32_t kMsixMaskByte = 12;  ///< Bit 0 masks the vector; set at power-on.

/// Returns the size of the largest naturally aligned access at `offset` that has at most `left`
/// bytes.
uint32_t AccessBytes(uint32_t offset, size_t left) {
  uint32_t bytes = 8;
  while (bytes > left || offset % bytes != 0) bytes /= 2;
  return bytes;
}

}  // namespace

LinesMemory::LinesMemory(size_t bytes) {
  base::OwnedFd file(memfd_create("sluice-lines", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ftruncate(file.fd(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file.fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return;
  }
  void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (begin == MAP_FAILED) return;
  file_ = std::move(file);
  begin_ = static_cast<uint8_t*>(begin);
  bytes_ = bytes;
}

LinesMemory::~LinesMemory() {
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

void LinesMemory::Clear() {
  if (fallocate(file_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                static_cast<off_t>(bytes_)) != 0) {
    std::memset(begin_, 0, bytes_);
  }
}

FunctionHost::FunctionHost(const FunctionParts& parts, bar::DmaSpace& dma,
                           ClientInterrupts& interrupts)
    : parts_(parts),
      dma_(dma),
      interrupts_(interrupts),
      queue_(std::make_unique<bar::PostedQueue>()),
      config_(parts.function),
      msix_table_(parts.function.msix.vectors * kMsixEntryBytes) {}

std::unique_ptr<FunctionHost> FunctionHost::Create(const FunctionParts& parts, bar::DmaSpace& dma,
                                                   ClientInterrupts& interrupts,
                                                   std::string* error) {
  std::unique_ptr<FunctionHost> host(new FunctionHost(parts, dma, interrupts));
  host->queue_->SetModelProcess(getpid());
  for (const BarLayout& bar : parts.function.bars) {
    if (bar.kind != BarKind::kLines) continue;
    host->lines_ = std::make_unique<LinesMemory>(bar.bytes);
    if (!*host->lines_ || !dma.Add(parts.function.lines_bus, host->lines_->begin(), bar.bytes)) {
      *error = "no memory for the cache lines of the function";
      return nullptr;
    }
  }
  return host->PowerOn(error) ? std::move(host) : nullptr;
}

FunctionHost::~FunctionHost() {
  parts_.model.Disconnect(true);
  if (lines_ != nullptr) dma_.Remove(parts_.function.lines_bus);
}

bool FunctionHost::PowerOn(std::string* error) {
  std::ranges::fill(msix_table_, uint8_t{0});
  for (size_t i = kMsixMaskByte; i < msix_table_.size(); i += kMsixEntryBytes) msix_table_[i] = 1;
  if (!parts_.model.Connect(parts_.settings, dma_, queue_.get(), error)) return false;
  parts_.model.SetMastering(false);
  parts_.model.SetInterrupts(&interrupts_);
  return true;
}

void FunctionHost::Reset() {
  parts_.model.Disconnect(true);
  interrupts_.Forget();
  config_.Reset();
  if (lines_ != nullptr) lines_->Clear();
  queue_->BringLinkUp();
  std::string unsaid;
  // The settings are valid, so this can fail only if resources are exhausted.
  if (!PowerOn(&unsaid)) queue_->MarkLinkDown();
}

uint64_t FunctionHost::RegionBytes(uint32_t region) const {
  if (region == kConfigRegion) return ConfigSpace::kBytes;
  return region < kBars ? parts_.function.bars[region].bytes : 0;
}

int FunctionHost::RegionFile(uint32_t region) const {
  const bool lines = region < kBars && parts_.function.bars[region].kind == BarKind::kLines;
  return lines ? lines_->fd() : -1;
}

bool FunctionHost::AsksModel(uint32_t region) const {
  return region < kBars && parts_.function.bars[region].kind == BarKind::kRegisters;
}

bool FunctionHost::IsBar(uint64_t address, uint64_t bytes) const {
  // Until software assigns their addresses, BARs are at address 0, which is also guest memory.
  if (!config_.memory_enabled()) return false;
  for (uint32_t i = 0; i < kBars; ++i) {
    const uint64_t size = parts_.function.bars[i].bytes;
    if (size != 0 && size == bytes && config_.BarAddress(i) == address) return true;
  }
  return false;
}

void FunctionHost::Read(uint32_t region, uint64_t offset, std::span<uint8_t> data) {
  const auto at = static_cast<uint32_t>(offset);
  if (region == kConfigRegion) return config_.Read(at, data);
  std::ranges::fill(data, uint8_t{0xff});
  if (!config_.memory_enabled()) return;
  switch (parts_.function.bars[region].kind) {
    case BarKind::kRegisters:
      ReadRegisters(at, data);
      break;
    case BarKind::kLines:
      std::memcpy(data.data(), lines_->begin() + at, data.size());
      break;
    case BarKind::kMsix:
      for (size_t i = 0; i < data.size(); ++i) data[i] = MsixByte(at + static_cast<uint32_t>(i));
      break;
    case BarKind::kNone:
      break;
  }
}

void FunctionHost::Write(uint32_t region, uint64_t offset, std::span<const uint8_t> data) {
  const auto at = static_cast<uint32_t>(offset);
  if (region == kConfigRegion) return WriteConfig(at, data);
  if (!config_.memory_enabled()) return;
  switch (parts_.function.bars[region].kind) {
    case BarKind::kRegisters:
      WriteRegisters(at, data);
      break;
    case BarKind::kLines:
      std::memcpy(lines_->begin() + at, data.data(), data.size());
      break;
    case BarKind::kMsix: {
      const uint32_t table = parts_.function.msix.table;
      for (size_t i = 0; i < data.size(); ++i) {
        const uint64_t entry = at + i - table;
        if (at + i >= table && entry < msix_table_.size()) msix_table_[entry] = data[i];
      }
      break;
    }
    case BarKind::kNone:
      break;
  }
}

void FunctionHost::WriteConfig(uint32_t offset, std::span<const uint8_t> data) {
  const bool was_master = config_.bus_master();
  if (config_.Write(offset, data)) return Reset();
  const bool master = config_.bus_master();
  if (master == was_master) return;
  // Without bus mastering, the wire's frames wait at their source, as they do for a port that is
  // down.
  if (!master) parts_.model.EnableWire(false);
  parts_.model.SetMastering(master);
  if (master) parts_.model.EnableWire(true);
}

void FunctionHost::ReadRegisters(uint32_t offset, std::span<uint8_t> data) {
  while (!data.empty()) {
    const uint32_t bytes = AccessBytes(offset, data.size());
    const uint64_t value = queue_->Read({offset, bytes, 0});
    std::memcpy(data.data(), &value, bytes);
    data = data.subspan(bytes);
    offset += bytes;
  }
}

void FunctionHost::WriteRegisters(uint32_t offset, std::span<const uint8_t> data) {
  while (!data.empty()) {
    const uint32_t bytes = AccessBytes(offset, data.size());
    uint64_t value = 0;
    std::memcpy(&value, data.data(), bytes);
    queue_->Post(offset, bytes, value);
    data = data.subspan(bytes);
    offset += bytes;
  }
}

uint8_t FunctionHost::MsixByte(uint32_t offset) const {
  const MsixLayout& msix = parts_.function.msix;
  if (offset >= msix.table && offset - msix.table < msix_table_.size()) {
    return msix_table_[offset - msix.table];
  }
  const uint64_t pending = interrupts_.pending();
  if (offset < msix.pending || offset - msix.pending >= sizeof(pending)) return 0;
  return static_cast<uint8_t>(pending >> (8 * (offset - msix.pending)));
}

}  // namespace sluice::emulator::vfio_user
