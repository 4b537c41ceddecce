#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The guest's first process. It makes the host's file system, read-only, its own, binds the NICs,
# runs a job there and switches the machine off. Or, with sluice.init, it binds the NICs and leaves
# the machine to a system of its own. Parameters are on the kernel's command line:
#
#   sluice.bind=uio|vfio|none   what holds the NICs
#   sluice.job=FILE             a script of the host's, for /bin/sh
#   sluice.visible=PATH,PATH    folders of the host's that stay visible below /tmp or /run
#   sluice.plugins=FOLDER       where DPDK looks for its plugins
#   sluice.drivers=FILE,FILE    plugins that are to be found there, too
#   sluice.terminal=yes         somebody types
#   sluice.init=FILE            the first process of the system whose files these are
#
# It says "boot", "run", "exit CODE" or "failed WHY" to the port sluice.control, which answers "boot"
# with the number of times.
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
export PATH=/bin
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev

parameter() { tr ' ' '\n' </proc/cmdline | sed -n "s/^sluice\.$1=//p"; }
off() {
  sync
  poweroff -f
}
fail() {
  echo "failed $*" >&3
  echo "failed: $*"
  off
}

while read -r module; do
  insmod "/modules/$module.ko" || echo "module $module does not load"
done </modules/order
control=/dev/null
for port in /sys/class/virtio-ports/*; do
  [ "$(cat "$port/name")" = sluice.control ] && control=/dev/${port##*/}
done
exec 3<>"$control"
echo boot >&3
read -r boots <&3

# Behind root ports, on buses of their own, is nothing but NICs.
nics=
for device in /sys/bus/pci/devices/*; do
  address=${device##*/}
  case $address in 0000:00:*) continue ;; esac
  nics="$nics $address"
  sh /bind "$address" "$(parameter bind)" || fail "$(parameter bind) does not take $address"
done

# mount_root ro|rw FOLDER
mount_root() {
  mount -t 9p -o "$1",trans=virtio,version=9p2000.L,msize=524288,cache=loose root "$2" \
    || fail "the host's file system does not mount"
}

init=$(parameter init)
if [ -n "$init" ]; then
  mount_root rw /host
  for place in dev sys proc; do
    mount --move "/$place" "/host/$place"
  done
  echo run >&3
  exec 3>&-
  exec switch_root /host "$init"
fi

mount_root ro /origin
mount --bind /origin /host
mount --rbind /dev /host/dev
mount -t proc proc /host/proc
mount -t sysfs sys /host/sys
mount -t tmpfs tmp /host/tmp
mount -t tmpfs tmp /host/var/tmp
mount -t tmpfs -o mode=755 run /host/run
mkdir -p /dev/pts /dev/shm /dev/hugepages
ln -s /proc/self/fd /dev/fd
mount -t devpts pts /host/dev/pts
mount -t tmpfs shm /host/dev/shm
mount -t hugetlbfs huge /host/dev/hugepages
parameter visible | tr ',' '\n' | while read -r path; do
  [ -e "/host$path" ] || { mkdir -p "/host$path" && mount --bind "/origin$path" "/host$path"; }
done
ip link set lo up

# The plugins of the build stand beside those that DPDK loads by itself, as if they were installed.
# They are mounts: EAL refuses a link to a file below a world-writable folder such as /tmp.
plugins=$(parameter plugins)
if [ -n "$plugins" ]; then
  mkdir -p /host/run/dpdk-plugins
  mount --bind "/origin$plugins" /host/run/dpdk-plugins
  mount -t tmpfs -o mode=755 plugins "/host$plugins"
  for plugin in /host/run/dpdk-plugins/*; do
    set -- "$@" "${plugin#/host}"
  done
  ln -s "$@" "/host$plugins"
  parameter drivers | tr ',' '\n' | while read -r driver; do
    : >"/host$plugins/${driver##*/}"
    mount --bind "/host$driver" "/host$plugins/${driver##*/}"
  done
fi

console=/dev/hvc0
exec 4<>"$console" # Its settings last as long as somebody has it open.
job=$(parameter job)
terminal=$(parameter terminal)
export SLUICE_NICS="${nics# }" SLUICE_BOOTS="$boots" HOME=/tmp TERM="${TERM:-linux}"
if [ "$terminal" = yes ]; then
  stty -F "$console" sane
  echo run >&3
  # The leader of a session that opens a terminal gets its signals.
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /bin/busybox setsid \
    /bin/busybox sh -c 'exec /bin/busybox chroot /host /bin/sh "$1" 0<>"$2" 1>&0 2>&0' \
    sh "$job" "$console"
else
  # Lines as they are, both ways; the end of what was piped in is ^D.
  stty -F "$console" -echo -isig -opost -icrnl -ixon
  echo run >&3
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /bin/busybox chroot /host /bin/sh "$job" <"$console" >"$console" 2>&1
fi
echo "exit $?" >&3
off
