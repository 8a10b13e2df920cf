# shellcheck shell=bash
# Sourced behind stage.sh by the scripts for libostiary-pkcs11.so: the store has a passcode and is open, the module is built for this stage, and
# its door serves. Sets passcode and module.
for program in cc openssl; do
    command -v "$program" > /dev/null || lacks "$program is not installed (gcc, openssl)"
done
[ -e /usr/include/p11-kit-1/p11-kit/pkcs11.h ] || lacks "libp11-kit-dev is not installed"
[ -x "$stage/bin/ostiary-pkcs11d" ] || lacks "ostiary-pkcs11d is not built"
passcode="correct horse 9"
answered "$passcode" ostiary passcode set
answered "$passcode" ostiary unlock
Native/ostiary-pkcs11/build "$stage" "-DOSTIARY_PKCS11D=\"$stage/bin/ostiary-pkcs11d\"" '-DOSTIARY_USER_UNIT="/nonexistent"'
module="$stage/libostiary-pkcs11.so"

ostiary-pkcs11d < /dev/null 2>> "$stage/log" &
stage_door=$!
end_door() { kill "$stage_door" 2> /dev/null || true; }
trap 'end_door; [ -z "$stage_daemon" ] || kill "$stage_daemon" || true; rm -rf "$stage"' EXIT
for _ in $(seq 1200); do [ ! -S "$XDG_RUNTIME_DIR/ostiary/pkcs11.sock" ] || break; sleep 0.05; done
