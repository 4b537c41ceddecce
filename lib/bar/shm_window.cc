// SPDX-License-Identifier: BSD-3-Clause
#include "bar/shm_window.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "bar/ring_memory.h"

namespace sluice::bar {

/// Start of the memory. Host lines follow, then NIC lines.
struct ShmWindow::Header {
  static constexpr uint64_t kMagic = 0x574f'444e'4957'4c53;  // "SLWINDOW"
  static constexpr uint32_t kVersion = 1;

  std::atomic<uint64_t> magic;  ///< Stored last by the creator, with release order.
  std::atomic<uint32_t> version;
  std::atomic<uint32_t> lines;
};

/// State that the sides in one process share.
struct ShmWindow::Memory {
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (mapped_here) munmap(data, bytes);
  }

  RingMemory ring;           ///< Set by Create().
  bool mapped_here = false;  ///< Set by Attach().
  uint8_t* data = nullptr;
  size_t bytes = 0;
};

ShmWindow::ShmWindow(std::shared_ptr<Memory> memory, uint32_t lines, WindowSide side)
    : memory_(std::move(memory)), lines_(lines), side_(side) {
  auto* const slots = reinterpret_cast<Slot*>(memory_->data + kHeaderBytes);
  own_ = slots + (side == WindowSide::kHost ? 0 : lines);
  other_ = slots + (side == WindowSide::kHost ? lines : 0);
}

ShmWindow ShmWindow::Format(std::shared_ptr<Memory> memory, uint32_t lines, WindowSide side) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  if (lines == 0 || lines > kMaxWindowLines || memory->bytes < BytesNeeded(lines) ||
      reinterpret_cast<uintptr_t>(memory->data) % kSlotBytes != 0) {
    errno = EINVAL;
    return {};
  }
  Header& header = *reinterpret_cast<Header*>(memory->data);
  ShmWindow window(std::move(memory), lines, side);
  for (Slot* slot : {window.own_, const_cast<Slot*>(window.other_)}) {
    for (uint32_t i = 0; i < lines; ++i) PublishLine(slot[i].line, {});
  }
  header.version.store(Header::kVersion, std::memory_order_relaxed);
  header.lines.store(lines, std::memory_order_relaxed);
  header.magic.store(Header::kMagic, std::memory_order_release);
  return window;
}

ShmWindow ShmWindow::Validate(std::shared_ptr<Memory> memory, WindowSide side) {
  if (memory->bytes < kHeaderBytes || reinterpret_cast<uintptr_t>(memory->data) % kSlotBytes != 0) {
    errno = EINVAL;
    return {};
  }
  const Header& header = *reinterpret_cast<const Header*>(memory->data);
  const bool known = header.magic.load(std::memory_order_acquire) == Header::kMagic &&
                     header.version.load(std::memory_order_relaxed) == Header::kVersion;
  // Read only once, so that a later change by the peer does not affect this side.
  const uint32_t lines = header.lines.load(std::memory_order_relaxed);
  if (!known || lines == 0 || lines > kMaxWindowLines || memory->bytes < BytesNeeded(lines)) {
    errno = EPROTO;
    return {};
  }
  return {std::move(memory), lines, side};
}

ShmWindow ShmWindow::Create(uint32_t lines, WindowSide side) {
  if (lines == 0 || lines > kMaxWindowLines) {
    errno = EINVAL;
    return {};
  }
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto memory = std::make_shared<Memory>();
  memory->bytes = (BytesNeeded(lines) + page_bytes - 1) / page_bytes * page_bytes;
  memory->ring = RingMemory::Create(memory->bytes, false, RingMemory::Pages::kPreferHuge);
  if (!memory->ring) return {};
  memory->data = memory->ring.data();
  return Format(std::move(memory), lines, side);
}

ShmWindow ShmWindow::CreateIn(void* data, size_t bytes, uint32_t lines, WindowSide side) {
  auto memory = std::make_shared<Memory>();
  memory->data = static_cast<uint8_t*>(data);
  memory->bytes = bytes;
  return Format(std::move(memory), lines, side);
}

ShmWindow ShmWindow::Attach(int fd, WindowSide side) {
  struct stat file {};
  if (fstat(fd, &file) != 0) return {};
  const size_t longest = BytesNeeded(kMaxWindowLines);
  auto memory = std::make_shared<Memory>();
  memory->bytes = file.st_size < 0 ? 0 : static_cast<size_t>(file.st_size);
  if (memory->bytes > longest) memory->bytes = longest;
  if (memory->bytes < kHeaderBytes) {
    errno = EPROTO;
    return {};
  }
  void* const data = mmap(nullptr, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return {};
  memory->data = static_cast<uint8_t*>(data);
  memory->mapped_here = true;
  return Validate(std::move(memory), side);
}

ShmWindow ShmWindow::AttachIn(void* data, size_t bytes, WindowSide side) {
  auto memory = std::make_shared<Memory>();
  memory->data = static_cast<uint8_t*>(data);
  memory->bytes = bytes;
  return Validate(std::move(memory), side);
}

ShmWindow ShmWindow::Peer() const { return {memory_, lines_, OtherSide(side_)}; }

int ShmWindow::fd() const { return memory_ && memory_->ring ? memory_->ring.fd() : -1; }

}  // namespace sluice::bar
