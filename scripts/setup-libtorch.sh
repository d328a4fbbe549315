#!/usr/bin/env bash
# Puts the CPU parts of libtorch, as tch 0.26.0 wants it, under .libtorch (or the folder given).
#
#   scripts/setup-libtorch.sh [FOLDER]
#
# Downloads three wheels from the Python package index (540 MB), each checked against its SHA-256, and keeps
# the CPU libraries and headers (490 MB). A folder that already holds this version is left as it is, so the
# script is quick when run again. Needs python3 with pip, and a C compiler. Linux on x86-64 only: elsewhere
# set LIBTORCH to a libtorch 2.13.0 of your own.
set -euo pipefail

TORCH=2.13.0
CUDA_RUNTIME=13.0.96
CUPTI=13.0.85

root=$(cd "$(dirname "$0")/.." && pwd)
dest=${1:-"$root/.libtorch"}

if [ -n "${LIBTORCH:-}" ] && [ $# -eq 0 ]; then
    if compgen -G "$LIBTORCH/lib/libtorch_cpu.*" >/dev/null; then
        echo "libtorch: using LIBTORCH=$LIBTORCH"
        exit 0
    fi
    echo "libtorch: LIBTORCH=$LIBTORCH has no lib/libtorch_cpu: unset it, or set it to a libtorch $TORCH" >&2
    exit 1
fi
if [ "$(cat "$dest/build-version" 2>/dev/null)" = "$TORCH" ]; then
    echo "libtorch: $TORCH is in $dest"
    exit 0
fi
if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
    echo "libtorch: this script knows Linux on x86-64 only; set LIBTORCH to a libtorch $TORCH" >&2
    exit 1
fi
for tool in python3 cc c++; do
    if ! command -v "$tool" >/dev/null; then
        echo "libtorch: $tool is missing; on Debian: apt install python3-pip g++" >&2
        exit 1
    fi
done
if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "libtorch: python3 has no pip; on Debian: apt install python3-pip" >&2
    exit 1
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/libtorch.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The wheels are CUDA builds, yet run without a GPU: libtorch_cpu.so itself wants only the CUDA runtime and
# CUPTI, two small libraries.
cat >"$work/wheels.txt" <<EOF
torch==$TORCH --hash=sha256:60fcdcb2f3876e21146cb4524ef06397d727ca9ad5f020818547e25075fe3cb7
nvidia-cuda-runtime==$CUDA_RUNTIME --hash=sha256:7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
nvidia-cuda-cupti==$CUPTI --hash=sha256:4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8
EOF
echo "libtorch: downloading $TORCH (540 MB)"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir \
    --only-binary=:all: --require-hashes \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 \
    --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --implementation cp --python-version 3.11 --abi cp311 --abi none \
    --dest "$work" --requirement "$work/wheels.txt"

part="$dest.part"
rm -rf "$part"
mkdir -p "$part/lib"
python3 - "$work" "$part" <<'EOF'
import glob, os, shutil, sys, zipfile

work, dest = sys.argv[1:]
wanted = {"libtorch_cpu.so", "libc10.so", "libgomp.so.1", "libcudart.so.13", "libcupti.so.13"}
for wheel in glob.glob(os.path.join(work, "*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            name = member.filename
            if name.startswith("torch/include/") and not name.endswith("/"):
                out = os.path.join(dest, name[len("torch/"):])
            elif os.path.basename(name) in wanted:
                out = os.path.join(dest, "lib", os.path.basename(name))
            else:
                continue
            os.makedirs(os.path.dirname(out), exist_ok=True)
            with archive.open(member) as source, open(out, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
missing = wanted - set(os.listdir(os.path.join(dest, "lib")))
if missing:
    sys.exit(f"libtorch: the wheels lack {', '.join(sorted(missing))}")
EOF

# The wheel's libtorch.so pulls in libtorch_cuda.so; an empty one that needs only libtorch_cpu.so replaces it.
echo | cc -shared -x c - -o "$part/lib/libtorch.so" -Wl,-soname,libtorch.so -Wl,--no-as-needed \
    -L"$part/lib" -ltorch_cpu -Wl,-rpath,'$ORIGIN' -Wl,--unresolved-symbols=ignore-all
echo "$TORCH" >"$part/build-version"
rm -rf "$dest"
mv "$part" "$dest"
echo "libtorch: $TORCH is in $dest"
