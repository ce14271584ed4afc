//! The clock of BPF programs: CLOCK_MONOTONIC without what a time namespace adds to it.

use std::fs;

/// What processes read beyond what BPF programs read, ns (time_namespaces(7)).
pub(super) fn namespace_offset_ns() -> i64 {
    fs::read_to_string("/proc/self/timens_offsets")
        .ok()
        .and_then(|offsets| monotonic_ns(&offsets))
        .unwrap_or_default()
}

/// Lines are a clock's name, seconds, and nanoseconds.
fn monotonic_ns(offsets: &str) -> Option<i64> {
    offsets
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find_map(|words| match words[..] {
            ["monotonic", seconds, ns] => {
                let seconds: i64 = seconds.parse().ok()?;
                seconds
                    .checked_mul(1_000_000_000)?
                    .checked_add(ns.parse().ok()?)
            }
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::monotonic_ns;

    #[test]
    fn the_offset_of_monotonic_is_read() {
        let offsets = "monotonic           86400         5\nboottime                0         0\n";
        assert_eq!(monotonic_ns(offsets), Some(86_400_000_000_005));
        assert_eq!(
            monotonic_ns("monotonic  -1  500000000\n"),
            Some(-500_000_000)
        );
    }

    #[test]
    fn what_is_no_offset_is_none() {
        for offsets in [
            "",
            "boottime 1 0\n",
            "monotonic x 0\n",
            "monotonic 1\n",
            "monotonic 99999999999 0",
        ] {
            assert_eq!(monotonic_ns(offsets), None, "{offsets:?}");
        }
    }
}
