// SPDX-License-Identifier: BSD-3-Clause
#include "bar/pci_window.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace sluice::bar {
namespace {

bool HasMovdir64b() {
#ifdef __x86_64__
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kMovdir64b = 1u << 28;  // CPUID 7.0, ECX
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & kMovdir64b) != 0;
#else
  return false;
#endif
}

uint64_t BarBytes(uint32_t lines, bool nic_lines_too) {
  return uint64_t{lines} * kLineBytes * (nic_lines_too ? 2 : 1);
}

}  // namespace

#ifdef __x86_64__
__attribute__((target("movdir64b")))
#endif
void PciWindow::StoreWhole([[maybe_unused]] volatile uint64_t* to,
                           [[maybe_unused]] const Line& line) {
#ifdef __x86_64__
  _movdir64b(const_cast<uint64_t*>(to), line.word.data());
#endif
}

PciWindow::PciWindow(const PciWindowPlace& place)
    : host_words_(static_cast<volatile uint64_t*>(place.bar)),
      nic_memory_(place.nic_lines),
      lines_(place.lines),
      capabilities_(place.nic_lines != nullptr ? kWindowNicStoresHost : 0u),
      has_movdir64b_(HasMovdir64b()) {
  if (place.write_combining || has_movdir64b_) capabilities_ |= kWindowWriteCombining;
  if (nic_memory_ == nullptr) nic_words_ = host_words_ + size_t{lines_} * kWords;
}

PciWindow::~PciWindow() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

std::unique_ptr<PciWindow> PciWindow::Over(const PciWindowPlace& place) {
  const bool fits = place.lines != 0 && place.lines <= kMaxWindowLines &&
                    place.bar_bytes >= BarBytes(place.lines, place.nic_lines == nullptr);
  const auto bar = reinterpret_cast<uintptr_t>(const_cast<void*>(place.bar));
  if (!fits || bar == 0 || bar % kLineBytes != 0) {
    errno = EINVAL;
    return nullptr;
  }
  return std::unique_ptr<PciWindow>(new PciWindow(place));
}

std::unique_ptr<PciWindow> PciWindow::Open(const char* path, uint64_t offset, uint32_t lines,
                                           Line* nic_lines) {
  const int fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat file {};
  const bool known = fstat(fd, &file) == 0;
  const uint64_t file_bytes = known && file.st_size > 0 ? static_cast<uint64_t>(file.st_size) : 0;
  const uint64_t needed = BarBytes(lines, nic_lines == nullptr);
  if (offset % kLineBytes != 0 || lines == 0 || lines > kMaxWindowLines || needed > file_bytes ||
      offset > file_bytes - needed) {
    close(fd);
    errno = EINVAL;
    return nullptr;
  }
  const uint64_t into_page = offset % static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  void* const mapping = mmap(nullptr, into_page + needed, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                             static_cast<off_t>(offset - into_page));
  const int error = errno;
  close(fd);
  if (mapping == MAP_FAILED) {
    errno = error;
    return nullptr;
  }
  PciWindowPlace place;
  place.bar = static_cast<uint8_t*>(mapping) + into_page;
  place.bar_bytes = needed;
  place.write_combining = std::string_view(path).ends_with("_wc");
  place.lines = lines;
  place.nic_lines = nic_lines;
  auto window = Over(place);
  window->mapping_ = mapping;
  window->mapping_bytes_ = into_page + needed;
  return window;
}

}  // namespace sluice::bar
