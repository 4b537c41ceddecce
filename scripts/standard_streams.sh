# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced first by every script. Opens those of descriptors 0 to 2 that are closed on /dev/null:
# otherwise they would be the next files that a program opens, and its output would go there. bash
# leaves its script, which is descriptor 255, open as the lowest descriptor that was closed.
for fd in 0 1 2; do
  if [[ ! -e /proc/self/fd/$fd || /proc/self/fd/$fd -ef /proc/self/fd/255 ]]; then
    eval "exec $fd<>/dev/null"
  fi
done
unset fd
