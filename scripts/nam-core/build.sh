#!/bin/sh
# Builds four variants of NeuralAmpModelerCore with core.cpp: scripts/nam-core/build.sh CHECKOUT EIGEN OUT
# CHECKOUT is a clone of sdatkinson/NeuralAmpModelerCore, EIGEN the folder that holds Eigen/ (Debian: /usr/include/eigen3).
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$3"
out=$(cd "$3" && pwd)
cd "$1"
for variant in o3 ofast o3-inline ofast-inline; do
    case $variant in o3*) flags=-O3 ;; *) flags=-Ofast ;; esac
    case $variant in *-inline) flags="$flags -DNAM_USE_INLINE_GEMM" ;; esac
    g++ -std=c++20 $flags -march=native -DNDEBUG -DNAM_ENABLE_A2_FAST -I. -IDependencies/nlohmann -I"$2" \
        NAM/*.cpp NAM/wavenet/*.cpp "$here/core.cpp" -o "$out/core-$variant"
done
