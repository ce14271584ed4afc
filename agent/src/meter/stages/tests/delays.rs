//! What the stages say of delay.

use super::*;

#[test]
#[ignore = "needs root"]
fn stages_add_up() {
    in_namespace(|| {
        let (sender, stages) = (Sender::new(), opened(&[there()], "stamp"));
        send(&sender, 0..300);
        await_attributed(&stages, 300);
        let found = collect(&stages);
        for stage in &found.stages {
            assert_eq!(stage.delays.durations.count, 300, "{}", stage.name);
        }
        let sums = found.stages.iter().map(|stage| stage.delays.sum_ns);
        assert_eq!(sums.sum::<u64>(), found.total.sum_ns);
        assert!(found.total.sum_ns > 0);

        let packets = packets(&stages);
        assert_eq!(packets.len(), 200);
        let passed =
            |packet: &wire::FollowedPacket| packet.at_ns.len() == 4 && packet.at_ns.is_sorted();
        assert!(packets.iter().all(passed));
        let begun = |packet: &wire::FollowedPacket| packet.at_ns[0];
        assert!(packets.is_sorted_by_key(begun));
    });
}

#[test]
#[ignore = "needs root"]
fn a_delay_is_found_in_its_stage() {
    in_namespace(|| {
        let (sender, stages) = (Sender::new(), opened(&[there()], "stamp"));
        // 25 test frames pass at once, and then one a millisecond.
        let bucket = "tbf rate 512kbit burst 1600 limit 1000000";
        let add = ["qdisc", "add", "dev", SOURCE, "root"];
        tc(&add.into_iter().chain(bucket.split(' ')).collect::<Vec<_>>());
        send(&sender, 0..125);
        wait_until(|| tc(&["-s", "qdisc", "show", "dev", SOURCE]).contains("125 pkt"));
        let found = collect(&stages);
        assert_eq!((found.frames.followed, found.frames.lost_events), (125, 0));
        // A timer has them sent, whoever has the CPU by then, and some kernels run no programs on top of init.
        assert!(found.frames.attributed > 100, "{:?}", found.frames);
        let [qdisc, link, stack] = &found.stages[..] else {
            panic!("{found:?}");
        };
        // The 100 frames behind the burst wait a millisecond more each; the last is sent long before its time.
        let longest_ns = qdisc.delays.durations.max_ns.unwrap();
        assert!(longest_ns > 50_000_000, "{longest_ns}");
        let elsewhere_ns = link.delays.sum_ns + stack.delays.sum_ns;
        assert!(qdisc.delays.sum_ns > 2 * elsewhere_ns, "{elsewhere_ns}");
    });
}

#[test]
#[ignore = "needs root"]
fn a_long_trail_is_collected_in_parts() {
    in_namespace(|| {
        let mut points = Vec::new();
        for interface in [SOURCE, SINK] {
            points.extend(
                ["arrive", "receive", "queue", "transmit", "free"]
                    .map(|hook| point(hook, interface)),
            );
        }
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let stages = opened(&[trail("long", &points, &names)], "stamp");
        let collect = |first| {
            stages
                .collect(&StagesCollectParams { trail: 0, first })
                .unwrap()
        };
        let parts = [collect(0), collect(7), collect(9)].map(|reply| reply.stages);
        assert_eq!(parts.each_ref().map(Vec::len), [7, 2, 0]);
        let told = parts.iter().flatten().map(|stage| stage.name.as_str());
        assert_eq!(told.collect::<Vec<_>>(), names);
    });
}

/// One frame may go several trails, and trails may begin at one point.
#[test]
#[ignore = "needs root"]
fn trails_share_points() {
    in_namespace(|| {
        let beginning = trail(
            "beginning",
            &[point("queue", SOURCE), point("transmit", SOURCE)],
            &["qdisc"],
        );
        let elsewhere = trail(
            "elsewhere",
            &[point("queue", SOURCE), point("arrive", "lo")],
            &["away"],
        );
        let (sender, stages) = (
            Sender::new(),
            opened(&[there(), beginning, elsewhere], "stamp"),
        );
        send(&sender, 0..50);
        await_attributed(&stages, 50);
        let counts = [0, 1, 2].map(|trail| {
            let reply = stages
                .collect(&StagesCollectParams { trail, first: 0 })
                .unwrap();
            reply.total.durations.count
        });
        assert_eq!(counts, [50, 50, 0]);
        assert_eq!(collect(&stages).frames.followed, 50);
    });
}
