# Sourced by every finding, which then says `use PACKAGE==VERSION ...` once, and runs its programs with `observe`.
#
# The packages lie in a virtual environment of their own, which findings with the same packages share, in the folder $FINDINGS. `make findings`
# makes this folder; a finding that runs alone makes one and removes it at its end. $PYTHON is the Python to begin with, by default python3.
set -euo pipefail

# Makes the environment, puts it first in PATH, goes to its folder (so that no module of this repository is found), prints the versions.
use() {
  if [ -z "${FINDINGS:-}" ]; then
    FINDINGS=$(mktemp -d)
    trap 'rm -rf "$FINDINGS"' EXIT
  fi
  environment=$FINDINGS/$(printf '%s\n' "$@" | sort | sha256sum | cut -c 1-16)
  if [ ! -e "$environment/complete" ]; then
    "${PYTHON:-python3}" -m venv --clear "$environment"
    # The status 3 says that nothing was found out about the packages.
    "$environment/bin/python" -m pip install --quiet "$@" >"$environment/log" 2>&1 || { tail -n 5 "$environment/log"; echo "not installed: $*"; exit 3; }
    touch "$environment/complete"
  fi
  PATH=$environment/bin:$PATH
  cd "$environment"
  python - "$@" <<'PYTHON'
import sys
from importlib.metadata import version

names = [requirement.partition("==")[0] for requirement in sys.argv[1:]]
print("packages:", ", ".join(f"{name} {version(name)}" for name in names))
PYTHON
}

# Runs the Python program on standard input. The logs of libraries are shown only if it fails; its last line then says what changed.
observe() {
  python - 2>"$environment/errors" || { status=$?; tail -n 10 "$environment/errors"; exit "$status"; }
}
