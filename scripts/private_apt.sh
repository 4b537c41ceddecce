# SPDX-License-Identifier: BSD-3-Clause
#
# Scripts that download packages without installing them source this file. Packages are found
# through a private copy of the system's sources lists, with lists and caches below $apt; the
# system's configuration, package lists and caches are unchanged.

# download <package>: downloads the package of the installed release into the current folder.
download() {
  local get=(apt-get -qq -o APT::Sandbox::User="$(id -un)" download "$1")
  "${get[@]}" || { (( EUID == 0 )) && apt-get -qq update && "${get[@]}"; }
}

use_private_apt() {
  apt=$1
  apt_options=(-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources"
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Acquire::Retries=3
    -o APT::Sandbox::User="$(id -un)")
  mkdir -p "$apt"/{sources,lists/partial,cache/archives/partial}
}

private_apt() { apt-get -qq "${apt_options[@]}" "$@"; }

# Writes a deb-src entry for every binary source of the system, in both formats.
write_source_lists() {
  local list
  rm -f "$apt"/sources/*
  for list in /etc/apt/sources.list.d/*.sources; do
    [[ -e $list ]] || continue
    sed -E 's/^Types:.*/Types: deb-src/I' "$list" >"$apt/sources/${list##*/}"
  done
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -e $list ]] || continue
    sed -nE 's/^[[:space:]]*deb(-src)?[[:space:]]/deb-src /p' "$list" | sort -u \
      >"$apt/sources/$(basename "$list" .list).list"
  done
}

# write_lists_of <deb|deb-src> <suite>...: writes entries of the distribution's source only, with
# these suites in place of the installed release.
write_lists_of() {
  local list release type=$1 suites="${*:2}"
  release=$(. /etc/os-release && echo "${VERSION_CODENAME:?}")
  rm -f "$apt"/sources/*
  for list in /etc/apt/sources.list.d/*.sources; do
    [[ -e $list ]] || continue
    # A stanza is a paragraph.
    awk -v RS= -v ORS='\n\n' -v release="$release" -v type="$type" -v suites="$suites" '
      {
        count = split($0, lines, "\n"); text = ""; own = 0
        for (i = 1; i <= count; ++i) {
          field = tolower(lines[i])
          if (field ~ /^types:/) lines[i] = "Types: " type
          if (field ~ /^suites:/) {
            if (index(lines[i] " ", " " release " ")) own = 1
            lines[i] = "Suites: " suites
          }
          text = text (i > 1 ? "\n" : "") lines[i]
        }
        if (own) print text
      }' "$list" >"$apt/sources/${list##*/}"
  done
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -e $list ]] || continue
    sed -nE "s/^[[:space:]]*deb(-src)?[[:space:]]+((\[[^]]*\][[:space:]]+)?[^[:space:]]+)[[:space:]]+$release[[:space:]]/\2 @suite@ /p" \
      "$list" | sort -u | while read -r line; do
        for suite in $suites; do echo "$type ${line/@suite@/$suite}"; done
      done >"$apt/sources/$(basename "$list" .list).list"
  done
}
