# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced at the top of the tree by what compiles: what was compiled in one clone serves in all
# of them. Names of folders do not count; precompiled headers are looked into.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-true}
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
