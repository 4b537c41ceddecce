// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/listener.h"

#include <sys/stat.h>
#include <unistd.h>

namespace sluice::emulator {

std::unique_ptr<Listener> Listener::Create(const std::string& path, std::string* error, int type) {
  base::OwnedFd socket = Listen(path, error, type);
  if (!socket) return nullptr;
  return std::unique_ptr<Listener>(new Listener(std::move(socket), path));
}

Listener::Listener(base::OwnedFd socket, const std::string& path)
    : socket_(std::move(socket)), path_(path) {
  struct stat there {};
  lstat(path_.c_str(), &there);
  device_ = there.st_dev;
  inode_ = there.st_ino;
}

Listener::~Listener() {
  if (OwnsPath()) unlink(path_.c_str());
}

bool Listener::OwnsPath() const {
  // While the socket is open, the inode number is not reused.
  struct stat there {};
  return lstat(path_.c_str(), &there) == 0 && there.st_dev == device_ && there.st_ino == inode_;
}

}  // namespace sluice::emulator
