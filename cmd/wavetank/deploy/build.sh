#!/bin/sh
# Builds the program of the image: build.sh FILE. It is static, so that it runs without any other file, and the same
# sources give the same bytes wherever they are built.
set -eu
out=${1:?give the file to write}
cd "$(dirname "$0")/../../.."
CGO_ENABLED=0 exec go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$out" ./cmd/wavetank
