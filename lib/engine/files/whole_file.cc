// SPDX-License-Identifier: BSD-3-Clause
#include "engine/files/whole_file.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace sluice::engine {
namespace {

bool SyncFolder(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return false;
  const bool synced = fsync(file) == 0;
  const int error = errno;
  close(file);
  errno = error;
  return synced;
}

}  // namespace

WholeFile::WholeFile(const std::string& path)
    : path_(path),
      beside_(path + ".new"),
      file_(open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
  if (file_ < 0) errno_ = errno;
}

WholeFile::~WholeFile() {
  if (file_ < 0) return;  // The open failed: any file at this path belongs to another writer.
  close(file_);
  if (!renamed_) unlink(beside_.c_str());
}

void WholeFile::Write(const void* data, size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (good() && bytes > 0) {
    const ssize_t written = write(file_, from, bytes);
    if (written > 0) {
      from += written;
      bytes -= static_cast<size_t>(written);
    } else if (written == 0 || errno != EINTR) {
      errno_ = written == 0 ? EIO : errno;
    }
  }
}

bool WholeFile::Finish(std::string* error) {
  if (good() && fsync(file_) != 0) errno_ = errno;
  if (!good()) return Fail("cannot write a temporary file next to", error);
  renamed_ = std::rename(beside_.c_str(), path_.c_str()) == 0;
  if (!renamed_) {
    errno_ = errno;
    return Fail("cannot rename to", error);
  }
  if (SyncFolder(path_)) return true;
  errno_ = errno;
  return Fail("cannot sync the folder of", error);
}

bool WholeFile::Fail(const char* what, std::string* error) {
  *error = absl::StrCat(what, " ", path_, ": ", std::strerror(errno_));
  return false;
}

}  // namespace sluice::engine
