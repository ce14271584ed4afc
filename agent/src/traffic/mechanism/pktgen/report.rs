//! # What pktgen's files tell

/// How far a device came, as its file shows it. Times are CLOCK_MONOTONIC, cut to microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::traffic) struct Report {
    /// Frames that the driver took, since it last began.
    pub(in crate::traffic) sent: u64,
    /// Frames that it did not: pktgen makes another with the same sequence.
    pub(in crate::traffic) errors: u64,
    pub(in crate::traffic) started_us: u64,
    /// Now, while it runs.
    pub(in crate::traffic) stopped_us: u64,
}

impl Report {
    /// None where the text is not what a device's file reads.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (_, current) = text.split_once("Current:")?;
        let number = |name: &str| {
            let (_, rest) = current.split_once(name)?;
            let rest = rest.trim_start();
            let end = rest.find(|letter: char| !letter.is_ascii_digit());
            rest[..end.unwrap_or(rest.len())].parse().ok()
        };
        Some(Self {
            sent: number("pkts-sofar:")?,
            errors: number("errors:")?,
            started_us: number("started:")?,
            stopped_us: number("stopped:")?,
        })
    }
}

/// What a file says of the last thing that was asked of it.
pub(super) fn result(text: &str) -> &str {
    text.rsplit_once("Result:")
        .map_or("", |(_, result)| result.trim())
}

/// The devices that a thread's file lists as running.
pub(super) fn running(text: &str) -> impl Iterator<Item = &str> {
    listed(text, "Running:")
}

/// Those, and the others that it lists.
pub(super) fn devices(text: &str) -> impl Iterator<Item = &str> {
    running(text).chain(listed(text, "Stopped:"))
}

fn listed<'a>(text: &'a str, list: &str) -> impl Iterator<Item = &'a str> {
    let lines = text.lines().filter_map(move |line| line.strip_prefix(list));
    lines.flat_map(str::split_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn device(report: &Report, result: &str) -> String {
        let Report {
            sent,
            errors,
            started_us,
            stopped_us,
        } = report;
        format!(
            "Params: count 4294967296  min_pkt_size: 64  max_pkt_size: 64\n     \
             frags: 0  delay: 0  clone_skb: 0  ifname: eth1@0\n     Flags: NO_TIMESTAMP  \n\
             Current:\n     pkts-sofar: {sent}  errors: {errors}\n     \
             started: {started_us}us  stopped: {stopped_us}us idle: 0us\n     \
             seq_num: 10001  cur_dst_mac_offset: 0  cur_src_mac_offset: 0\n     flows: 0\nResult: {result}\n"
        )
    }

    #[test]
    fn a_thread_names_its_devices() {
        let text = "Running: eth1@0 eth2@1 \nStopped: eth3 \n\nResult: OK: add_device=eth3\n";
        let all = ["eth1@0", "eth2@1", "eth3"];
        assert_eq!(devices(text).collect::<Vec<_>>(), all);
        assert_eq!(running(text).collect::<Vec<_>>(), all[..2]);
        assert_eq!(result(text), "OK: add_device=eth3");
        let idle = "Running: \nStopped: \nResult: NA\n";
        assert_eq!((devices(idle).count(), result(idle)), (0, "NA"));
    }

    #[test]
    fn a_run_s_own_errors_are_not_those_of_its_result() {
        let report = Report {
            sent: 10_000,
            errors: 3,
            started_us: 5_000_001,
            stopped_us: 5_250_000,
        };
        let last = "OK: 249999(c249000+d999) usec, 10000 (64byte,0frags)\n  40000pps errors: 7";
        let text = device(&report, last);
        assert_eq!(Report::parse(&text), Some(report));
        assert_eq!(result(&text), last);
    }

    proptest! {
        #[test]
        fn every_report_is_read_as_it_was_written(sent: u64, errors: u64, started_us: u64, stopped_us: u64) {
            let report = Report { sent, errors, started_us, stopped_us };
            prop_assert_eq!(Report::parse(&device(&report, "Idle")), Some(report));
        }

        #[test]
        fn other_text_is_read_as_nothing(
            before in ".{0,40}",
            part in prop::sample::select(vec!["", "Current:", "Current: pkts-sofar:", "Current: pkts-sofar: 7 errors: \u{663}"]),
            after in "[^0-9]{0,40}",
        ) {
            let text = format!("{before}{part}{after}");
            prop_assert_eq!(Report::parse(&text), None);
            let _ = (devices(&text).count(), result(&text));
        }

        #[test]
        fn a_report_that_is_cut_is_none_or_begins_as_the_whole(at in any::<prop::sample::Index>()) {
            let report = Report { sent: 123_456, errors: 0, started_us: 77_001, stopped_us: 88_002 };
            let text = device(&report, "Idle");
            let cut = Report::parse(&text[..at.index(text.len())]);
            prop_assert!(cut.is_none_or(|cut| cut.sent == report.sent && cut.started_us == report.started_us));
        }
    }
}
