// SPDX-License-Identifier: BSD-3-Clause
//
// Reserves the descriptors of standard streams that are closed when the process starts. Otherwise
// the next files that the process opens would get these numbers. For example, after `>&-`, printed
// text would overwrite memory that EAL shares with other processes.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace sluice::base {

/// Opens /dev/null on each closed descriptor from 0 to 2, so that no other file gets its number.
/// Ends the process with exit code 1 on failure. Must be the first call in a program.
inline void OpenStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // open returns the lowest free number.
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) std::_Exit(1);
  }
}

}  // namespace sluice::base
