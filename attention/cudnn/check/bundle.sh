#!/bin/sh
# Packs gpu_check, the shared libraries that it needs, but for the C library's,
# and further files into one file that runs on a machine without Bazel and without
# a network:
#
#   bundle.sh gpu_check.run path/to/gpu_check path/to/pytorch_speed.py ...
#
# The file is a shell script followed by a compressed archive.
set -eu
output=$1
program=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/pack"
cp -L "$program" "$folder/pack/gpu_check"
chmod u+w "$folder/pack/gpu_check"
cp -L "$@" "$folder/pack/"
ldd "$folder/pack/gpu_check" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' |
  while read -r library; do
    case "$library" in
      */libc.so.* | */libm.so.* | */libdl.so.* | */libpthread.so.* | */librt.so.*) ;;
      *) cp -L "$library" "$folder/pack/" ;;
    esac
  done
# Equal inputs give equal bytes.
tar -C "$folder/pack" --sort=name --mtime=@0 --owner=0 --group=0 \
  --numeric-owner -cf "$folder/pack.tar" .
gzip -9 -n "$folder/pack.tar"
cat > "$output" <<'HEADER'
#!/bin/sh
# gpu_check, packed by attention/cudnn/check/bundle.sh. Takes its flags; --help lists
# them. Exit codes: 0 all is well; 1 a check failed; 2 bad usage; 3 no GPU.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
sed '1,/^ARCHIVE$/d' "$0" | gzip -dc | tar -C "$folder" -xf - || exit 1
# cuDNN where Python's wheels put it, if the system's loader does not know it.
wheels=$(python3 - <<'PYTHON' 2>/dev/null
import glob, site, sys
roots = site.getsitepackages() + [site.getusersitepackages()] + sys.path
print(":".join(dict.fromkeys(
    folder for root in roots if root
    for folder in glob.glob(root + "/nvidia/*/lib"))))
PYTHON
)
LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}${wheels:+:$wheels}" \
  "$folder/gpu_check" "$@"
code=$?
case "$*" in *--help*) exit "$code" ;; esac
[ "$code" -le 1 ] || exit "$code"
# PyTorch after it, alone on the card and with its own libraries.
python=${SOFTLOOKUP_PYTORCH_PYTHON:-python3}
"$python" "$folder/pytorch_speed.py" "$@" ||
  echo "PyTorch is not compared: $python fails"
exit "$code"
ARCHIVE
HEADER
cat "$folder/pack.tar.gz" >> "$output"
chmod a+x "$output"
size=$(wc -c < "$output")
if [ "$size" -gt $((40 * 1024 * 1024)) ]; then
  echo "bundle.sh: $output has $size bytes; allowed: 40 MiB" >&2
  exit 1
fi
