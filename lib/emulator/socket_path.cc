// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/socket_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace sluice::emulator {

bool IsPrivateFolder(const std::string& folder) {
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  return (info.st_uid == geteuid() || info.st_uid == 0) &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(folder.c_str(), W_OK | X_OK) == 0;
}

std::optional<std::string> OwnFolder(const std::string& shared, std::string* error) {
  const std::string own = shared + "/sluice-" + std::to_string(geteuid());
  mkdir(own.c_str(), S_IRWXU);
  // Another user may have created the folder in a shared directory.
  struct stat info {};
  if (lstat(own.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
      (info.st_mode & (S_IRWXG | S_IRWXO)) == 0) {
    return own;
  }
  *error = own +
           " is not a folder that only this user can access: give the path of a socket in another "
           "folder";
  return std::nullopt;
}

std::optional<std::string> RuntimeFolder(std::string* error) {
  const char* const given = std::getenv("XDG_RUNTIME_DIR");
  const std::string user = "/run/user/" + std::to_string(geteuid());
  if (given != nullptr && given[0] == '/' && IsPrivateFolder(given)) return given;
  if (IsPrivateFolder(user)) return user;
  if (geteuid() == 0 && IsPrivateFolder("/run")) return "/run";
  return OwnFolder("/tmp", error);
}

std::optional<std::string> DefaultSocketPath(std::string* error) {
  const std::optional<std::string> folder = RuntimeFolder(error);
  if (!folder) return std::nullopt;
  return *folder + "/sluice-device.sock";
}

}  // namespace sluice::emulator
