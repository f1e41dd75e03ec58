"""Block times of `amp bench` and of the variants of NeuralAmpModelerCore, in turn, in one run.

scripts/nam-core/compare.py AMP CORES ROUNDS PROFILE...   (AMP: the amp program; CORES: what build.sh made)
A profile may be FILE@V: played at quality V. Prints a row of a table for each: our median of medians (exact tanh), the
best variant's (exact or fast tanh, whichever is faster), the ratio, and the least and largest ratio of a round.
"""

import statistics
import subprocess
import sys

amp, cores, rounds, files = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]


def time(command):
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(text.split()[1])


for file in files:
    path, _, slim = file.partition("@")
    ours, theirs = [], {}
    for _ in range(rounds):
        ours.append(time([amp, "bench", path] + (["--slim", slim] if slim else [])))
        for variant in ["o3", "ofast", "o3-inline", "ofast-inline"]:
            for tanh in ["fast", "exact"]:
                command = [f"{cores}/core-{variant}", tanh, "64", "1500"] + ([f"slim={slim}"] if slim else []) + [path]
                theirs.setdefault(f"{variant}, {tanh}", []).append(time(command))
    best = min(theirs, key=lambda k: statistics.median(theirs[k]))
    a, b = statistics.median(ours), statistics.median(theirs[best])
    ratios = [t / o for t, o in zip(theirs[best], ours)]
    name = path.rsplit("/", 1)[-1].removesuffix(".nam") + (f" at {slim}" if slim else "")
    print(f"| {name} | {a:.1f} | {b:.1f} ({best}) | {b / a:.2f} | {min(ratios):.2f}..{max(ratios):.2f} |", flush=True)
