//! Which frames are followed, and what is said of those that are lost.

use std::os::fd::AsRawFd;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

use super::tap::{TAP, read, tap};
use super::*;
use crate::api::params::read_value;

/// A trail that no frame goes to its end.
fn nowhere() -> Value {
    trail(
        "nowhere",
        &[point("queue", SOURCE), point("arrive", "lo")],
        &["away"],
    )
}

#[test]
#[ignore = "needs root"]
fn one_in_so_many_is_followed_at_all_points() {
    in_namespace(|| {
        let mut params = params(&[there()], "stamp");
        params.sample_every = 16;
        let (sender, (stages, _)) = (Sender::new(), Stages::open(&params).unwrap());
        send(&sender, 0..4096);
        // The last ones have passed when one of another kind has.
        let followed = || collect(&stages).frames.followed;
        wait_until(|| followed() == collect(&stages).frames.attributed && followed() > 0);
        // 256 expected; by chance within 6 of its standard deviations of 15.5.
        assert!((163..350).contains(&followed()), "{}", followed());
        let found = collect(&stages);
        assert!(
            found
                .points
                .iter()
                .all(|point| point.frames == found.frames.followed)
        );
        let queue = found
            .hooks
            .iter()
            .find(|cost| cost.hook == hook::Hook::Queue)
            .unwrap();
        assert!(queue.hits >= 4096 && queue.ns.unwrap() > 0.0, "{queue:?}");
    });
}

#[test]
#[ignore = "needs root"]
fn other_traffic_has_no_stamp() {
    in_namespace(|| {
        let (sender, stages) = (Sender::new(), opened(&[there()], "stamp"));
        sender.send(&[0xff; 64]);
        let mut warmup = test_frame(1);
        warmup[50] = 2;
        sender.send(&warmup);
        send(&sender, [2]);
        await_attributed(&stages, 1);
        assert_eq!(collect(&stages).frames.followed, 1);
    });
}

#[test]
#[ignore = "needs root"]
fn frames_that_go_another_way_are_unattributed() {
    in_namespace(|| {
        let (sender, stages) = (Sender::new(), opened(&[nowhere()], "stamp"));
        send(&sender, 0..10);
        let frames = collect(&stages).frames;
        assert_eq!((frames.followed, frames.attributed), (10, 0));
        assert_eq!((frames.unattributed, frames.lost_events), (10, 0));
    });
}

#[test]
#[ignore = "needs root"]
fn frames_whose_place_is_taken_are_counted_as_lost() {
    in_namespace(|| {
        let params = params(&[nowhere()], "stamp");
        let (sender, (stages, _)) = (Sender::new(), Stages::with_marks(&params, 1).unwrap());
        send(&sender, 0..10);
        let frames = collect(&stages).frames;
        assert_eq!((frames.followed, frames.attributed), (10, 0));
        assert_eq!(frames.unattributed + frames.lost_events, 10);
        // All but the last, if none of them stood for a second.
        assert!((1..10).contains(&frames.lost_events), "{frames:?}");
    });
}

#[test]
#[ignore = "needs root"]
fn two_frames_at_once_that_look_the_same_are_told_of_neither() {
    in_namespace(|| {
        let mut tap = tap();
        let points = ["queue", "transmit", "copy"].map(|hook| point(hook, TAP));
        let trail = trail("rx", &points, &["qdisc", "backend"]);
        let (sender, stages) = (Sender::on(TAP), opened(&[trail], "stamp"));
        // All wait in the tap at once.
        let sequences = (0..40).chain([40, 40, 41]);
        send(&sender, sequences.clone());
        read(&mut tap, sequences);
        await_attributed(&stages, 41);
        let frames = collect(&stages).frames;
        assert_eq!((frames.followed, frames.unattributed), (43, 2));
        // One after the other they are two frames.
        let again = |times: u64| {
            send(&sender, [7]);
            read(&mut tap, [7]);
            await_attributed(&stages, 41 + times);
        };
        (1..3).for_each(again);
    });
}

#[test]
#[ignore = "needs root"]
fn only_a_windows_frames_are_followed() {
    in_namespace(|| {
        let (sender, stages) = (Sender::new(), opened(&[there()], "stamp"));
        let arm = |delay_s, duration_s| {
            let params = json!({"delay_s": delay_s, "duration_s": duration_s});
            stages.arm(&read_value(params).unwrap()).unwrap();
        };
        send(&sender, 0..10);
        await_attributed(&stages, 10);
        arm(1000.0, 1.0);
        send(&sender, 10..20);
        let found = collect(&stages);
        assert_eq!((found.frames.followed, found.total.durations.count), (0, 0));
        assert!(packets(&stages).is_empty());
        arm(0.0, 1000.0);
        send(&sender, 20..25);
        await_attributed(&stages, 5);
        assert_eq!(collect(&stages).total.durations.count, 5);
        assert_eq!(packets(&stages).len(), 5);
    });
}

#[test]
#[ignore = "needs root"]
fn an_interface_that_is_gone_is_named() {
    in_namespace(|| {
        let (sender, stages) = (Sender::new(), opened(&[there()], "stamp"));
        send(&sender, 0..10);
        await_attributed(&stages, 10);
        assert!(collect(&stages).gone.is_empty());
        ip(&["link", "set", SINK, "name", "other0"]);
        assert!(collect(&stages).gone.is_empty());
        ip(&["link", "del", SOURCE]);
        let found = collect(&stages);
        assert_eq!(found.gone, [SOURCE, SINK]);
        assert_eq!(found.frames.attributed, 10);
    });
}

/// What a socket has taken has no interface when the kernel is done with it.
#[test]
#[ignore = "needs root"]
fn a_packet_of_no_interface_is_at_no_point() {
    in_namespace(|| {
        let ends = trail(
            "ends",
            &[point("queue", SOURCE), point("free", SINK)],
            &["all"],
        );
        let (sender, stages) = (Sender::new(), opened(&[ends], "stamp"));
        let socket = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::empty(),
            SockProtocol::EthAll,
        )
        .unwrap();
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(10)).unwrap();
        send(&sender, 0..10);
        // On their way out and on their way in.
        for _ in 0..20 {
            recv(socket.as_raw_fd(), &mut [0; 100], MsgFlags::empty()).unwrap();
        }
        let found = collect(&stages);
        assert_eq!((found.frames.followed, found.points[0].frames), (10, 10));
    });
}

/// Two places for each frame: with one, a handful of these would take another's.
#[test]
#[ignore = "needs root"]
fn many_frames_under_way_keep_their_places() {
    in_namespace(|| {
        let (sender, stages) = (Sender::new(), opened(&[nowhere()], "stamp"));
        send(&sender, 0..400);
        let frames = collect(&stages).frames;
        assert_eq!(frames.followed, 400);
        assert!(frames.lost_events <= 2, "{frames:?}");
    });
}
