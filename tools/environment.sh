# Sourced by the scripts beside it: sets `python` and `uv`, and tells uv what the user has told pip.
#
# uv does the work; when it is not on PATH it goes into .uv/. People behind a mirror or a private certificate have
# configured pip, not uv, so what pip knows is handed on.
# shellcheck shell=bash

export PIP_DISABLE_PIP_VERSION_CHECK=1

die() { echo "setup: $*" >&2; exit 1; }

find_python() {
  local candidate
  for candidate in .venv/bin/python ${PYTHON:-} python3.11 python3 python python3.12 python3.13 python3.14; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  die "needs Python 3.11 or newer; set PYTHON=/path/to/python"
}

find_uv() {
  if command -v uv >/dev/null; then
    command -v uv
  else
    [ -x .uv/bin/uv ] || install_uv >&2
    echo "$PWD/.uv/bin/uv"
  fi
}

install_uv() {
  echo "setup: installing uv into .uv/"
  rm -rf .uv
  # Debian's Python may lack venv: pip alone can do it too.
  if "$python" -m venv .uv 2>/dev/null && .uv/bin/python -m pip --version >/dev/null 2>&1; then
    .uv/bin/python -m pip install --quiet uv
  else
    rm -rf .uv
    "$python" -m pip install --quiet --root-user-action=ignore --target .uv uv
  fi
}

# Prints one setting of pip, wherever the user made it: PIP_* variables, pip.conf, a virtual environment's own.
pip_setting() {
  sed -n "s/^\(global\|install\|:env:\)\.$1=['\"]\(.*\)['\"]$/\2/p" <<<"$pip_settings" | tail -n 1
}

hand_pip_settings_to_uv() {
  local pip_settings index extra links certificate bundle candidate
  for candidate in ${PYTHON:-} python3 python3.11 python .uv/bin/python; do
    if pip_settings=$("$candidate" -m pip config list 2>/dev/null); then break; fi
  done
  index=$(pip_setting index-url) extra=$(pip_setting extra-index-url)
  links=$(pip_setting find-links) certificate=$(pip_setting cert)
  [ -z "$index" ] || export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-${UV_INDEX_URL:-$index}}
  [ -z "$extra" ] || export UV_INDEX=${UV_INDEX:-${UV_EXTRA_INDEX_URL:-$extra}}
  [ -z "$links" ] || export UV_FIND_LINKS=${UV_FIND_LINKS:-${links// /,}}
  [ -z "$certificate" ] || export SSL_CERT_FILE=${SSL_CERT_FILE:-$certificate}
  # pip trusts what the system trusts; uv only when it is told, and only where there is something to trust.
  for bundle in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
    if [ -e "$bundle" ]; then export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-true}; fi
  done
}

python=$(find_python)
hand_pip_settings_to_uv
uv=$(find_uv)
