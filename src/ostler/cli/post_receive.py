"""The hook that a plain git server runs after a push: it tells the control plane, signed and with the time.

It needs only what a git server has: a shell, perl for the signature (so that the secret is on no command line), curl.
A server that cannot be reached does not keep anybody from pushing.
"""

from typing import Final

POST_RECEIVE: Final = r"""#!/bin/sh
# Tells Ostler of pushes. Keep this file to its owner (chmod 700): it holds a secret.
url='@URL@'
OSTLER_HOOK_SECRET='@SECRET@'
export OSTLER_HOOK_SECRET
body=$(printf 'actor %s\n' "${GL_USERNAME:-${REMOTE_USER:-${USER:-git}}}" && cat)
timestamp=$(date +%s)
signature=$(printf '%s.%s' "$timestamp" "$body" | perl -MDigest::SHA -e '
  my $hash = do { local $/; <STDIN> };
  print Digest::SHA::hmac_sha256_hex($hash, $ENV{OSTLER_HOOK_SECRET});')
unset OSTLER_HOOK_SECRET
printf '%s' "$body" | curl --silent --show-error --fail --max-time 10 --output /dev/null \
  --header "X-Ostler-Timestamp: $timestamp" --header "X-Ostler-Signature: v1=$signature" \
  --header 'Content-Type: text/plain' --data-binary @- "$url" \
  || echo 'ostler: could not be told of this push; run `ostler repository sync` or push again' >&2
"""
