"""The way to an attached machine: what is asked and done there over SSH.

What runs there is a shell script that is given on ssh's command line; it puts back all that it changes, also when the
connection breaks.
"""

import hashlib
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from vtax.inputs import one_line
from vtax.machine.ssh import ssh_to
from vtax.platforms.contract import PlatformUnusable

ANSWER_LIMIT_S = 30.0
CHECK = """
fail() { echo "$1" >&2; exit 9; }
[ "$(id -u)" = 0 ] || fail "lets vtax in without the rights of root; name the user, as in attached:root@HOST"
[ "$(uname -m)" = x86_64 ] || fail "is a $(uname -m), not an x86_64"
for tool in ip head sed grep sha256sum mktemp; do
    command -v "$tool" >/dev/null || fail "has no command $tool; install it there"
done
used="; name interfaces that nothing else uses"
for nic in $nics; do
    nic=${nic%%=*}
    link=$(ip -o link show dev "$nic" 2>/dev/null) || fail "has no interface $nic; ip -br link shows those it has"
    case $link in *" master "*) fail "has $nic joined to another interface$used" ;; esac
    [ -z "$(ip -o addr show dev "$nic" scope global)" ] || fail "has addresses on $nic$used"
done
"""
LOOK = (
    CHECK
    + """
cpu=none
case $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1) in
QEMU*) grep -q kvm-clock /sys/devices/system/clocksource/clocksource0/available_clocksource || cpu=emulated ;;
esac
echo "$(uname -r) $cpu"
"""
)
SERVE = (
    CHECK
    + """
kept=
restore() {
    trap '' EXIT HUP INT TERM
    for was in $kept; do
        IFS=, read -r nic mac mtu state <<END
$was
END
        ip -n "$own" link set dev "$nic" down
        ip -n "$own" link set dev "$nic" address "$mac" mtu "$mtu"
        ip -n "$own" link set dev "$nic" netns $$
        [ "$state" = down ] || ip link set dev "$nic" up
    done
    ip netns delete "$own" 2>/dev/null
    rm -rf "$directory"
}
directory=$(mktemp -d "${TMPDIR:-/tmp}/vtax-XXXXXX") && own=${directory##*/} || fail "has no room for a directory"
trap restore EXIT
trap 'exit 1' HUP INT TERM
trap '' PIPE
agent=$directory/vtax-agent
head -c "$bytes" >"$agent" && chmod 700 "$agent" || fail "has no room for the agent in $directory"
echo "$sha256  $agent" | sha256sum -c --status 2>/dev/null || fail "received another agent than was sent"
ip netns add "$own" || fail "cannot make a network namespace"
netfilter=/proc/sys/net/bridge/bridge-nf-call
[ ! -e $netfilter-iptables ] || ip netns exec "$own" sh -c '
for table in iptables ip6tables arptables; do echo 0 >"$0-$table" || exit 1; done
' $netfilter || fail "cannot switch netfilter off for bridges of a network namespace"
for nic in $nics; do
    mac=${nic#*=} nic=${nic%%=*}
    state=down
    link=$(ip -o link show dev "$nic")
    case $link in *"<UP,"* | *,UP,* | *,UP\\>*) state=up ;; esac
    was=$nic,$(echo "$link" | sed 's|.*link/ether ||; s| .*||'),$(echo "$link" | sed 's|.* mtu ||; s| .*||'),$state
    ip link set dev "$nic" netns "$own" || fail "cannot take $nic into a namespace of its own"
    kept="$kept $was"
    ip -n "$own" link set dev "$nic" address "$mac" || fail "cannot give $nic another address"
done
"$agent" --netns "/run/netns/$own"
"""
)
"""Takes NICs into a namespace and serves there: no setting of the machine's own network is touched."""


def ssh(host: str, script: str, **variables: str) -> list[str]:
    """What runs a script on a host with some variables set."""
    given = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    return ssh_to(host, f"exec sh -c {shlex.quote(f'{given};{script}')}")


def look(host: str, nics: Sequence[str], questions: str = "") -> tuple[str, str]:
    """Kernel version and accelerator of a host that has these interfaces; raises PlatformUnusable.

    A CPU that is QEMU's, without KVM's clock, is `emulated`; of others nobody here knows, and it is `none`.

    `questions` are further shell commands, that fail where an answer is not as it must be.
    """
    try:
        done = subprocess.run(
            ssh(host, LOOK + questions, nics=" ".join(nics)),
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_LIMIT_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise PlatformUnusable(
            f"{host} did not answer over SSH within {ANSWER_LIMIT_S:g} s", f"needs ssh {host} to work"
        ) from None
    if done.returncode != 0:
        raise refusal(host, done.stderr)
    kernel, _, accelerator = done.stdout.strip().partition(" ")
    return kernel, accelerator


def refusal(host: str, errors: str) -> PlatformUnusable:
    """What ssh or the script complained about, in a sentence with the next step."""
    lines = [one_line(line.strip()) for line in errors.splitlines() if line.strip()]
    if "REMOTE HOST IDENTIFICATION HAS CHANGED" in errors:
        return PlatformUnusable(
            f"the SSH host key of {host} has changed: it is another machine, or somebody is between",
            f"needs to know which; if the new key is right: ssh-keygen -R {host}, then ssh {host} once",
        )
    if "Host key verification failed" in errors:
        return PlatformUnusable(
            f"the SSH host key of {host} is not known", f"needs it accepted: ssh {host} once"
        )
    said = lines[-1] if lines else "it ended without a word"
    return PlatformUnusable(f"{host} {said}", f"needs ssh {host} to work without a password")


def agent_variables(binary: Path) -> dict[str, str]:
    """What the script has to know of the agent that is sent: its length and its hash."""
    content = binary.read_bytes()
    return {"bytes": str(len(content)), "sha256": hashlib.sha256(content).hexdigest()}
