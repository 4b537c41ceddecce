// SPDX-License-Identifier: BSD-3-Clause
//
// A target with a precompiled header must have a source.
