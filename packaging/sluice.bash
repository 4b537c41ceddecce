# SPDX-License-Identifier: BSD-3-Clause
#
# Completes flags of Sluice's programs in bash from the output of --help, so that they always match
# the program. --iface= is completed with the interfaces of the build.
_sluice() {
  local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]}
  local before=${COMP_WORDS[COMP_CWORD-1]} flag=
  # bash splits words at "=".
  if [[ $current == = ]]; then
    flag=$before current=
  elif [[ $before == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [[ $flag == --iface ]]; then
    mapfile -t COMPREPLY < <(compgen -W \
      "$("$program" --list=interfaces 2>/dev/null | sed -n 's/.*"name": *"\([a-z]*\)".*/\1/p')" \
      -- "$current")
  elif [[ -n $flag || $current != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  else
    mapfile -t COMPREPLY < <(compgen -W \
      "$("$program" --help 2>/dev/null | sed -n 's/^  *\(-[a-z], \)*\(--[a-z][a-z0-9_-]*\).*/\2/p')" \
      -- "$current")
  fi
}
complete -F _sluice sluice-{chain,device,echo,kv,kv-client,logmon,maglev,pktgen,rpc,sched,telemetry,top}
