// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/mapped_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <utility>

namespace sluice::emulator {
namespace {

/// A line of /proc/self/maps; see proc(5).
struct MapsLine {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  unsigned major = 0;
  unsigned minor = 0;
  uint64_t inode = 0;
  char access[5] = {};
};

bool Parse(const std::string& line, MapsLine* mapping) {
  return std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64,
                     &mapping->begin, &mapping->end, mapping->access, &mapping->offset,
                     &mapping->major, &mapping->minor, &mapping->inode) == 7;
}

bool IsFileOf(const MapsLine& mapping, int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && info.st_ino == mapping.inode &&
         info.st_dev == makedev(mapping.major, mapping.minor);
}

/// Opens the file through /proc/self/map_files, which root may do even if the file has no name.
base::OwnedFd OpenByMapping(const MapsLine& mapping) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/map_files/%" PRIx64 "-%" PRIx64, mapping.begin,
                mapping.end);
  return base::OwnedFd(open(path, O_RDWR | O_CLOEXEC));
}

/// Duplicates a descriptor through which this process has opened the file for reading and writing.
/// Returns an empty OwnedFd if it has no such descriptor.
base::OwnedFd CopyOfOpen(const MapsLine& mapping) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  while (const dirent* const entry = folder != nullptr ? readdir(folder.get()) : nullptr) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || !IsFileOf(mapping, fd)) continue;
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR) continue;
    return base::OwnedFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  }
  return {};
}

std::string At(uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof(text), "memory at 0x%" PRIx64, address);
  return text;
}

/// Returns the part that begins at `at` and ends at the end of its mapping or at `end`, whichever
/// comes first. If the part is unusable, returns it without a file and sets `error`.
MappedPart FindPart(const MapsLine& mapping, uint64_t at, uint64_t end, std::string* error) {
  const uint64_t bytes = std::min(end, mapping.end) - at;
  MappedPart part = {at, bytes, mapping.offset + (at - mapping.begin), {}};
  const std::string access = mapping.access;
  if (access[0] != 'r' || access[1] != 'w') {
    *error = At(at) + " is not mapped for reading and writing";
  } else if (access[3] != 's') {
    *error = At(at) +
             " is private to this process: "
             "map a memfd or a file of hugepages with MAP_SHARED";
  } else {
    part.file = OpenByMapping(mapping);
    if (!part.file) part.file = CopyOfOpen(mapping);
    if (!part.file) *error = At(at) + " belongs to a file whose descriptor is closed: keep it open";
  }
  return part;
}

}  // namespace

std::vector<MappedPart> FindMappedFiles(const void* begin, size_t bytes, std::string* error) {
  const auto first = reinterpret_cast<uint64_t>(begin);
  const uint64_t end = first + bytes;
  uint64_t at = first;
  std::vector<MappedPart> parts;
  std::ifstream maps("/proc/self/maps");
  MapsLine last;
  for (std::string line; at < end && std::getline(maps, line);) {
    MapsLine mapping;
    if (!Parse(line, &mapping) || mapping.end <= at) continue;
    if (mapping.begin > at) break;
    MappedPart part = FindPart(mapping, at, end, error);
    if (!part.file) return {};
    at += part.bytes;
    MappedPart* const before = parts.empty() ? nullptr : &parts.back();
    if (before != nullptr && before->offset + before->bytes == part.offset &&
        last.inode == mapping.inode && last.major == mapping.major && last.minor == mapping.minor) {
      before->bytes += part.bytes;
    } else {
      parts.push_back(std::move(part));
    }
    last = mapping;
  }
  if (at >= end) return parts;
  *error = At(at) + " is not mapped";
  return {};
}

}  // namespace sluice::emulator
