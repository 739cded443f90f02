#!/bin/sh
# Decompresses, filters and counts log files, N at a time: pipeline.sh WORKERS OUT [FILES]
set -eu
workers=$1 out=$2 files=${3:-8}
mkdir "$out/in" "$out/counted"
for file in $(seq "$files"); do
    awk -v seed="$file" 'BEGIN { srand(seed); for (i = 0; i < 20000; i++) print int(rand() * 500), (rand() < 0.1) ? "error" : "ok" }' |
        gzip -1 > "$out/in/$file.gz"
done
seq "$files" | xargs -P "$workers" -I FILE sh -c "gzip -dc '$out/in/FILE.gz' | grep error | sort -n | uniq -c > '$out/counted/FILE'"
sort -m -n "$out"/counted/* > "$out/errors.txt"
