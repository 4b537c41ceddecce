# SPDX-License-Identifier: BSD-3-Clause
#
# scripts/dpdk sources this file to use DPDK's binary packages instead of its sources. The packages
# are unpacked below $target, with the C library of their Debian release, because DPDK's libraries
# need a newer one than the system's. No package is installed.

# Prints the libraries of the drivers: bus_pci, net_bond, ...
driver_libraries() { printf '%s\n' "${drivers[@]//\//_}" | sed 's/net_bonding/net_bond/'; }

program_names() { printf 'dpdk-%s\n' "${programs[@]/test-pmd/testpmd}"; }

# Makes apt find the binary packages of these suites. An empty list of installed packages makes apt
# download all dependencies.
use_binary_packages() { # <suite>...
  use_private_apt "$apt"
  touch "$apt/status"
  apt_options+=(-o Dir::State::status="$apt/status")
  write_lists_of deb "$@"
  private_apt update || true # A missing suite is not fatal.
}

# Prints the newest version of the binary packages of a release that the archive serves.
packaged_version() { # <release>
  # apt-cache fails if no list contains the package.
  { apt-cache "${apt_options[@]}" show libdpdk-dev 2>/dev/null || true; } \
    | sed -nE "s/^Version: ($1[.~-].*)/\1/p" | sort -rV | head -n 1
}

# Prints the driver headers that are not in a folder.
missing_driver_headers() { # <folder>
  local header
  for header in "${driver_headers[@]}"; do
    [[ -n $(find "$1" -name "$header" -print -quit) ]] || echo "$header"
  done
}

# Copies the driver headers from a tree of sources, of which a part is sufficient.
copy_driver_headers() { # <folder>
  local header
  mkdir -p "$target/include" || return
  for header in "${driver_headers[@]}"; do
    cp "$(find "$1" -name "$header" -print -quit)" "$target/include" || return
  done
}

# Prints the libraries that the compiler's flags and the programs name: net_bond, eal, ...
named_libraries() {
  local program
  {
    driver_libraries
    sed -n 's/^Libs: //p' "$place/pkgconfig/libdpdk-libs.pc" | grep -oP '(?<=-lrte_)\w+'
    for program in $(program_names); do
      objdump -p "$target/usr/bin/$program" | grep -oP 'NEEDED +librte_\K\w+'
    done
  } | sort -u
}

# Prints the package of a library, such as librte-net-bond25.
package_of() { # <library> <ABI version>
  local name=librte-${1//_/-}
  [[ $name != *[0-9] ]] || name+=-
  echo "$name$2"
}

unpack_all() { # <folder>
  local package
  for package in "$1"/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$target" || return
  done
}

# Downloads the packages of this version, and unpacks them into $target.
unpack_packages() { # <version>
  local version=$1 abi name packages=()
  mkdir -p "$work/archives/partial" "$target/usr/lib"
  ln -s usr/lib "$target/lib" # Earlier releases of Debian have packages with files in /lib.
  (cd "$work" && private_apt download {libdpdk-dev,dpdk,dpdk-dev}="$version") || return
  unpack_all "$work" || return
  place=$(dirname "$target"/usr/lib/*/pkgconfig)
  abi=$(dpkg-deb -f "$work"/libdpdk-dev_*.deb Depends | grep -oP 'librte-eal\K[0-9]+') || return
  for name in $(named_libraries); do packages+=("$(package_of "$name" "$abi")=$version"); done
  private_apt install --download-only --no-install-recommends -y \
    -o Dir::Cache::archives="$work/archives" "${packages[@]}" || return
  unpack_all "$work/archives" || return
  loader=$(echo "$place"/ld-linux*.so.*)
  rm -rf "$target/usr/share" "$place"/librte_*.a
}

# The system's linker does not know the symbols of the newer C library. Programs name the unpacked
# loader. RPATH, unlike RUNPATH, applies to the libraries of libraries, too. Programs are linked
# with the drivers, because EAL's default folder of plugins is outside $target.
write_pkg_config() {
  local file flags drivers_flags
  drivers_flags=$(driver_libraries | sed 's/^/-lrte_/' | paste -sd ' ')
  flags="-Wl,--allow-shlib-undefined -Wl,--dynamic-linker=$loader -Wl,--disable-new-dtags"
  flags+=" -Wl,-rpath,$place -Wl,--push-state,--no-as-needed $drivers_flags"
  flags+=" -Wl,--pop-state"
  mkdir -p "$target/lib/pkgconfig"
  for file in "$place"/pkgconfig/libdpdk*.pc; do
    # The private fields concern static linking, which needs further packages.
    sed -E "s,^prefix=.*,prefix=$target/usr,; /^(Requires|Libs)\.private:/d" "$file" \
      >"$target/lib/pkgconfig/${file##*/}"
  done
  sed -i "s#^Libs: .*#& $flags#" "$target/lib/pkgconfig/libdpdk-libs.pc"
}

# Replaces each program by a script that starts it with the unpacked loader and the drivers.
write_programs() {
  local program preloaded
  preloaded=$(driver_libraries | sed 's/.*/librte_&.so/' | paste -sd ' ')
  mkdir -p "$target/libexec"
  for program in $(program_names); do
    mv "$target/usr/bin/$program" "$target/libexec" || return
    printf '#!/bin/sh\nexec "%s" --library-path "%s" --preload "%s" "%s" "$@"\n' "$loader" \
      "$place" "$preloaded" "$target/libexec/$program" >"$target/usr/bin/$program"
    chmod +x "$target/usr/bin/$program"
  done
}

# Makes $target from the binary packages, and from the driver headers in a folder.
unpack_release() { # <version> <folder>
  local place loader # The folder of the unpacked libraries, and the loader in it.
  rm -rf "$work" "$target"
  unpack_packages "$1" && copy_driver_headers "$2" && write_pkg_config && write_programs
}
