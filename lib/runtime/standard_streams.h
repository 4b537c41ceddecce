// SPDX-License-Identifier: BSD-3-Clause
//
// A process that starts without standard streams gives their numbers to the next files that it
// opens: with `>&-`, what a program prints goes into memory that EAL shares with other processes.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace sluice::runtime {

/// Opens those of descriptors 0 to 2 that are closed on /dev/null, so that no other file gets their
/// numbers; ends the process with exit code 1 if it cannot. The first statement of a program.
inline void OpenStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // The lowest number that is free is given.
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) std::_Exit(1);
  }
}

}  // namespace sluice::runtime
