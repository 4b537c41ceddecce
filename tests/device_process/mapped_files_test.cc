// SPDX-License-Identifier: BSD-3-Clause
//
// Tests memory of this process that another process can map, and the errors for memory that it
// cannot map.
#include "emulator/mapped_files.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice::emulator {
namespace {

constexpr size_t kFilePage = 4096;

/// Mapped memory of three pages, unmapped by the destructor.
class Memory {
 public:
  Memory(int flags, int file, off_t offset, int access = PROT_READ | PROT_WRITE)
      : begin_(mmap(nullptr, 3 * kFilePage, access, flags, file, offset)) {
    EXPECT_NE(begin_, MAP_FAILED);
  }
  ~Memory() { munmap(begin_, 3 * kFilePage); }
  Memory(const Memory&) = delete;
  uint8_t* page(size_t i) const { return static_cast<uint8_t*>(begin_) + i * kFilePage; }

 private:
  void* const begin_;
};

base::OwnedFd NewFile(uint8_t content) {
  base::OwnedFd file(memfd_create("test", MFD_CLOEXEC));
  const std::string bytes(8 * kFilePage, static_cast<char>(content));
  EXPECT_EQ(write(file.fd(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return file;
}

TEST(MappedFiles, APartOfAFileIsThatPart) {
  const base::OwnedFd file = NewFile(1);
  const Memory memory(MAP_SHARED, file.fd(), 2 * kFilePage);
  std::string error;
  const auto parts = FindMappedFiles(memory.page(1), 2 * kFilePage, &error);
  ASSERT_EQ(parts.size(), 1u) << error;
  EXPECT_EQ(parts[0].begin, reinterpret_cast<uint64_t>(memory.page(1)));
  EXPECT_EQ(parts[0].bytes, 2 * kFilePage);
  EXPECT_EQ(parts[0].offset, 3 * kFilePage);
  memory.page(1)[5] = 99;
  uint8_t byte = 0;
  ASSERT_EQ(pread(parts[0].file.fd(), &byte, 1, 3 * kFilePage + 5), 1);
  EXPECT_EQ(byte, 99) << "it is that file";
}

TEST(MappedFiles, SeveralFilesAreSeveralPartsAndOneInPiecesIsOne) {
  const base::OwnedFd a = NewFile(1), b = NewFile(2);
  const Memory memory(MAP_SHARED, a.fd(), 0);
  // The middle page is first mapped to the other file, and then to the same page of the first file
  // again.
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  constexpr int kOver = MAP_SHARED | MAP_FIXED;
  ASSERT_NE(mmap(memory.page(1), kFilePage, kAccess, kOver, b.fd(), 0), MAP_FAILED);
  std::string error;
  const auto three = FindMappedFiles(memory.page(0), 3 * kFilePage, &error);
  ASSERT_EQ(three.size(), 3u) << error;
  EXPECT_EQ(three[1].begin, reinterpret_cast<uint64_t>(memory.page(1)));
  EXPECT_EQ(three[2].offset, 2 * kFilePage);
  ASSERT_NE(mmap(memory.page(1), kFilePage, kAccess, kOver, a.fd(), kFilePage), MAP_FAILED);
  EXPECT_EQ(FindMappedFiles(memory.page(0), 3 * kFilePage, &error).size(), 1u) << error;
}

TEST(MappedFiles, TellsWhyNot) {
  const auto why = [](const Memory& memory, size_t pages = 3) {
    std::string error;
    EXPECT_TRUE(FindMappedFiles(memory.page(0), pages * kFilePage, &error).empty());
    return error;
  };
  const base::OwnedFd file = NewFile(1);
  EXPECT_NE(why(Memory(MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)).find("private"), std::string::npos);
  EXPECT_NE(why(Memory(MAP_PRIVATE, file.fd(), 0)).find("private"), std::string::npos);
  EXPECT_NE(why(Memory(MAP_SHARED, file.fd(), 0, PROT_READ)).find("reading and writing"),
            std::string::npos);
  const Memory hole(MAP_SHARED, file.fd(), 0);
  munmap(hole.page(1), kFilePage);
  EXPECT_NE(why(hole).find("is not mapped"), std::string::npos);
  // The file is closed and has no name, but root can still open it, so either result is possible.
  auto closed = std::make_unique<base::OwnedFd>(NewFile(1));
  const Memory nameless(MAP_SHARED, closed->fd(), 0);
  closed.reset();
  std::string error;
  const auto parts = FindMappedFiles(nameless.page(0), 3 * kFilePage, &error);
  EXPECT_TRUE(parts.size() == 1 || error.find("is closed") != std::string::npos) << error;
}

}  // namespace
}  // namespace sluice::emulator
