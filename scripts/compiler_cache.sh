# SPDX-License-Identifier: BSD-3-Clause
#
# Compiling scripts source this file at the top of the tree, so that clones share compiled objects.
# Hashes ignore the names of folders, but include the contents of precompiled headers.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-true}
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
