#!/bin/sh
# Fails a build where level B of a factor is worse than level A (docs/ab.md); arguments are further ones of vtax ab.
#
# SCENARIO, FACTOR, RULES: as vtax ab takes them. BUDGET: time, 30m by default; FIXED: a number of quads in its place.
# OUT: directory of what is kept, ab by default. UNDECIDED: "fail" (by default) or "pass", for a build that cannot be
# decided so.
set -eu

out=${OUT:-ab}
mkdir -p "$out"
rm -f "$out/junit.xml" "$out/summary.md"

if [ -n "${FIXED:-}" ]; then
    set -- --fixed "$FIXED" "$@"
    within="$FIXED quads"
else
    set -- --budget "${BUDGET:-30m}" "$@"
    within=${BUDGET:-30m}
fi

status=0
vtax ab "$SCENARIO" --factor "$FACTOR" --fail-on "$RULES" "$@" \
    --out "$out/$(date -u +%Y%m%dT%H%M%SZ)" --junit "$out/junit.xml" --markdown >"$out/summary.md" || status=$?
cat "$out/summary.md"

case $status in
    0) echo "no worse" ;;
    3) echo "a level has no usable trial" >&2 ;;
    4) echo "worse: see $out/summary.md" >&2 ;;
    5)
        echo "undecided within $within: see the smallest changes that would have been seen" >&2
        [ "${UNDECIDED:-fail}" = fail ] || status=0
        ;;
    *) echo "vtax ended with $status" >&2 ;;
esac
exit "$status"
