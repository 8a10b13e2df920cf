# shellcheck shell=bash
# Sourced behind stage.sh: git's own test of credential helpers, with the git of this machine.
command -v git > /dev/null || lacks "git is not installed"
[ -e /usr/include/zlib.h ] || lacks "zlib1g-dev is not installed, which the test's own tools need"
command -v dpkg-source > /dev/null || lacks "dpkg-dev is not installed"

# play_t0303 HELPER: all cases have to pass.
play_t0303() {
    local sources
    sources="$(source_package git)"
    if [ ! -x "$sources/t/helper/test-tool" ]; then
        make -C "$sources" -j"$(nproc)" NO_CURL=1 NO_EXPAT=1 NO_OPENSSL=1 NO_GETTEXT=1 NO_PERL=1 NO_PYTHON=1 NO_TCLTK=1 \
            GIT-BUILD-OPTIONS t/helper/test-tool > "$stage/make" 2>&1 || {
            tail -n 20 "$stage/make" >&2
            lacks "git's tools for tests cannot be built"
        }
    fi
    # Its tests make repositories with its own templates.
    make -C "$sources/templates" > "$stage/make" 2>&1 || lacks "git's templates cannot be made: $(tail -n 1 "$stage/make")"
    # The files of the test lie in a folder of this run.
    (cd "$sources/t" && GIT_TEST_INSTALLED="$(dirname "$(command -v git)")" GIT_TEST_CREDENTIAL_HELPER="$1" \
        ./t0303-credential-external.sh --root="$stage/trash") | tee "$stage/said"
    # The script says, too, that it leaves out a case for helpers that forget after a second, which ours cannot be told to do.
    if grep -E '^not ok|^ok .*# skip' "$stage/said" >&2; then
        echo "$(basename "$0"): a case failed or was skipped" >&2
        exit 1
    fi
    echo "git's t0303 with git-credential-$1: $(grep -c '^ok ' "$stage/said") cases passed"
}
