// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/runtime_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <mntent.h>
#include <rte_eal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>

#include "base/owned_fd.h"

namespace sluice::runtime {

namespace {

constexpr std::string_view kOurs = "sluice-";

/// Returns DPDK's runtime folder, which contains one folder per run. Empty until EAL has chosen it.
std::string RunsFolder() {
  const std::string_view own = rte_eal_get_runtime_dir();
  const size_t slash = own.rfind('/');
  return std::string(slash == std::string_view::npos ? "" : own.substr(0, slash));
}

/// Opens the folder `name` without following links. Returns −1 if it is not a folder that this user
/// owns.
int OpenFolder(int at, const std::string& name) {
  const int fd = openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status {};
  if (fd >= 0 && (fstat(fd, &status) != 0 || status.st_uid != geteuid())) {
    close(fd);
    return -1;
  }
  return fd;
}

std::vector<std::string> NamesIn(int folder) {
  std::vector<std::string> names;
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return names;
  const auto end = [](DIR* entries) { closedir(entries); };
  const std::unique_ptr<DIR, decltype(end)> entries(fdopendir(copy), end);
  if (entries == nullptr) {
    close(copy);
    return names;
  }
  while (const dirent* entry = readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

int OpenFile(int folder, const std::string& name) {
  return openat(folder, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/// Checks for the record lock that EAL's primary process holds on its configuration. Does not
/// acquire a lock.
bool HasRecordLock(int folder, const std::string& name) {
  const base::OwnedFd file(OpenFile(folder, name));
  if (!file) return errno != ENOENT;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(file.fd(), F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

/// Checks for the file lock that all users of arrays and hugepages hold. Briefly acquires the lock.
bool HasFileLock(int folder, const std::string& name) {
  const base::OwnedFd file(OpenFile(folder, name));
  return !file ? errno != ENOENT : flock(file.fd(), LOCK_EX | LOCK_NB) != 0;
}

bool IsAnswered(int folder, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path, sizeof(address.sun_path),
                                   "/proc/self/fd/%d/%s", folder, name.c_str());
  if (length < 0 || static_cast<size_t>(length) >= sizeof(address.sun_path)) return true;
  const base::OwnedFd client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return connect(client.fd(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 ||
         (errno != ECONNREFUSED && errno != ENOENT);
}

bool IsAlive(int run, const std::vector<std::string>& names) {
  const auto any = [&](mode_t kind, bool (*says_so)(int, const std::string&)) {
    return std::ranges::any_of(names, [&](const std::string& name) {
      struct stat status {};
      return fstatat(run, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
             (status.st_mode & S_IFMT) == kind && says_so(run, name);
    });
  };
  // The record lock is checked first and identifies a live primary process. Thus HasFileLock never
  // locks an array of a live primary.
  return any(S_IFREG, HasRecordLock) || any(S_IFREG, HasFileLock) || any(S_IFSOCK, IsAnswered);
}

/// Removes this user's files "<prefix>map_<number>".
template <typename Remove>
void RemoveHugepages(const std::string& prefix, const std::vector<std::string>& folders,
                     Remove may_go) {
  for (const std::string& path : folders) {
    const base::OwnedFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) continue;
    for (const std::string& name : NamesIn(folder.fd())) {
      struct stat status {};
      if (name.starts_with(prefix + "map_") &&
          fstatat(folder.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISREG(status.st_mode) && status.st_uid == geteuid() && may_go(folder.fd(), name)) {
        unlinkat(folder.fd(), name.c_str(), 0);
      }
    }
  }
}

void RemoveFolder(int parent, int run, const std::string& prefix) {
  for (const std::string& name : NamesIn(run)) unlinkat(run, name.c_str(), 0);
  unlinkat(parent, prefix.c_str(), AT_REMOVEDIR);
}

}  // namespace

std::string FilePrefix(std::string_view app, int pid) {
  return std::string(kOurs).append(app).append("-").append(std::to_string(pid));
}

bool IsOurPrefix(std::string_view name) {
  const size_t dash = name.rfind('-');
  return name.starts_with(kOurs) && dash > kOurs.size() && dash + 1 < name.size() &&
         name.find_first_not_of("0123456789", dash + 1) == std::string_view::npos;
}

void SweepDeadRuns(const std::string& own) {
  if (const std::string folder = RunsFolder(); !folder.empty()) {
    SweepRuns(folder, own, HugepageFolders());
  }
}

void RemoveOwnRun(const std::string& own) {
  const std::string folder = RunsFolder();
  if (!folder.empty() && IsOurPrefix(own)) RemoveRun(folder, own, HugepageFolders());
}

std::vector<std::string> HugepageFolders() {
  std::vector<std::string> folders;
  const auto end = [](std::FILE* table) { endmntent(table); };
  const std::unique_ptr<std::FILE, decltype(end)> mounts(setmntent("/proc/self/mounts", "r"), end);
  if (mounts == nullptr) return folders;
  while (const mntent* mount = getmntent(mounts.get())) {
    if (std::string_view(mount->mnt_type) == "hugetlbfs") folders.emplace_back(mount->mnt_dir);
  }
  return folders;
}

void RemoveRun(const std::string& folder, const std::string& prefix,
               const std::vector<std::string>& hugepages) {
  RemoveHugepages(prefix, hugepages, [](int, const std::string&) { return true; });
  const base::OwnedFd parent(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const base::OwnedFd run(!parent ? -1 : OpenFolder(parent.fd(), prefix));
  if (run) RemoveFolder(parent.fd(), run.fd(), prefix);
}

void SweepRuns(const std::string& folder, const std::string& own,
               const std::vector<std::string>& hugepages, int fresh_s) {
  const base::OwnedFd parent(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return;
  for (const std::string& prefix : NamesIn(parent.fd())) {
    if (prefix == own || !IsOurPrefix(prefix)) continue;
    const base::OwnedFd run(OpenFolder(parent.fd(), prefix));
    struct stat status {};
    if (!run || fstat(run.fd(), &status) != 0 || status.st_mtime + fresh_s > time(nullptr) ||
        IsAlive(run.fd(), NamesIn(run.fd()))) {
      continue;
    }
    RemoveHugepages(prefix, hugepages,
                    [](int at, const std::string& name) { return !HasFileLock(at, name); });
    RemoveFolder(parent.fd(), run.fd(), prefix);
  }
}

}  // namespace sluice::runtime
