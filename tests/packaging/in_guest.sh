#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests the services; systemd runs it in the systems that booted_test.py boots. Prints one line per
# check: its name, then the results. sluice-echo@boot is enabled and already runs.
cd /packages || exit 1
exec >said 2>noise

fact() { systemctl show "$1" --property="$2" --value; }
# await COMMAND...: repeats it until it succeeds, for at least ten minutes.
await() {
  for _ in $(seq 3000); do
    if "$@"; then return 0; fi
    sleep 0.2
  done
  return 1
}
# Succeeds if the service's current process has logged received frames.
receives() {
  journalctl _PID="$(fact "$1" MainPID)" --output=cat | grep -Eq 'rx +[0-9.]*[1-9][0-9.]* Mpps'
}
restarted() { [ "$(fact "$1" NRestarts)" -gt 0 ] && systemctl is-active --quiet "$1"; }
# Prints how often the service has reported to systemd that it is ready.
readiness() { journalctl --sync; journalctl _PID=1 UNIT="$1.service" --output=cat | grep -c ^Started; }

boot=sluice-echo@boot
await receives $boot
echo "boot $? $(systemctl is-active $boot) $(readiness $boot)"
systemctl kill --signal=SIGKILL $boot
await restarted $boot && await receives $boot
echo "killed $? $(fact $boot NRestarts) $(systemctl is-active $boot) $(readiness $boot)"
systemctl stop $boot
echo "stopped $? $(fact $boot Result) $(systemctl is-active $boot)"

for unit in /lib/systemd/system/sluice-*@.service; do
  name=$(basename "$unit" @.service)
  service=$name@example
  systemctl start "$service"
  echo "$name.start $? $(systemctl is-active "$service")"
  if grep -q ^ExecReload= "$unit"; then
    systemctl reload "$service"
    echo "$name.reload $? $(systemctl is-active "$service")"
  fi
  systemctl stop "$service"
  echo "$name.stop $? $(fact "$service" Result)"
done

sed 's/^HUGEPAGES=.*/HUGEPAGES=100000000/' /etc/sluice/echo/example.conf >/etc/sluice/echo/huge.conf
systemctl start sluice-echo@huge
started=$?
journalctl --sync
echo "huge $started $(journalctl --unit=sluice-echo@huge --output=cat | grep -o '100000000 free .* wanted' | head -n 1)"
systemctl stop sluice-echo@huge

sed 's/^FLAGS=.*/FLAGS=--pipes=0/' /etc/sluice/echo/example.conf >/etc/sluice/echo/wrong.conf
systemctl start sluice-echo@wrong
echo "wrong $? $(fact sluice-echo@wrong ActiveState) $(fact sluice-echo@wrong NRestarts)"

# Purges while a service runs, with all packages that apt installed as dependencies.
systemctl start $boot
apt-get purge --yes --autoremove sluice sluice-drivers sluice-doc libsluice-engines1 \
  librte-node-sluice23 >noise.apt 2>&1
echo "purge $? $(systemctl is-active $boot)"
find / -xdev \( -path /proc -o -path /sys -o -path /packages \) -prune -o -name '*sluice*' -print |
  sed 's/^/left /'
dpkg-query --show --showformat='${Package}\n' | grep -vxFf before | sed 's/^/left package /'
echo "end"
