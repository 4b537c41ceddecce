#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The guest's first process. By default it mounts the host's file system read-only, makes it the
# root, binds the NICs, runs a job and powers the machine off. With sluice.init, it binds the NICs
# and then executes the init of a system. Parameters are on the kernel's command line:
#
#   sluice.bind=uio|vfio|none   the driver of the NICs
#   sluice.job=FILE             a script on the host, for /bin/sh
#   sluice.visible=PATH,PATH    folders of the host that stay visible below /tmp or /run
#   sluice.plugins=FOLDER       the folder that DPDK loads plugins from
#   sluice.drivers=FILE,FILE    further plugins to show in that folder
#   sluice.terminal=yes         a user types
#   sluice.init=FILE            the first process of the system on this root
#
# It writes "boot", "run", "exit CODE" or "failed WHY" to the port sluice.control. The reply to
# "boot" is the number of boots.
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
# The driver learns the names of ports some time after it has found them.
control=
tries=600
until [ -n "$control" ] || [ $tries = 0 ]; do
  for port in /sys/class/virtio-ports/*; do
    [ "$(cat "$port/name" 2>/dev/null)" = sluice.control ] && control=/dev/${port##*/}
  done
  [ -n "$control" ] || sleep 0.1
  tries=$((tries - 1))
done
exec 3<>"${control:-/dev/null}"
echo boot >&3
read -r boots <&3

# Only NICs are on the buses of the root ports.
nics=
for device in /sys/bus/pci/devices/*; do
  address=${device##*/}
  case $address in 0000:00:*) continue ;; esac
  nics="$nics $address"
  sh /bind "$address" "$(parameter bind)" || fail "$(parameter bind) does not bind $address"
done

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

# Mount the build's plugins in the folder of plugins that DPDK loads by default, as if they were
# installed. Links do not work: EAL refuses a link to a file below a world-writable folder such as
# /tmp.
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
exec 4<>"$console" # A terminal keeps its settings only while it is open.
job=$(parameter job)
terminal=$(parameter terminal)
export SLUICE_NICS="${nics# }" SLUICE_BOOTS="$boots" HOME=/tmp TERM="${TERM:-linux}"
if [ "$terminal" = yes ]; then
  stty -F "$console" sane
  echo run >&3
  # A terminal sends its signals to the session leader that opens it.
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /bin/busybox setsid \
    /bin/busybox sh -c 'exec /bin/busybox chroot /host /bin/sh "$1" 0<>"$2" 1>&0 2>&0' \
    sh "$job" "$console"
else
  # Pass lines unchanged in both directions; ^D marks the end of piped input.
  stty -F "$console" -echo -isig -opost -icrnl -ixon
  echo run >&3
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /bin/busybox chroot /host /bin/sh "$job" <"$console" >"$console" 2>&1
fi
echo "exit $?" >&3
off
