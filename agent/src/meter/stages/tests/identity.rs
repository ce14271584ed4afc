//! Who is taken for the same frame, and who is not.

use super::*;

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;

/// A frame of IPv4 or IPv6 with 40 bytes behind its IP header.
#[derive(Clone)]
struct Frame {
    link: Vec<u8>,
    network: Vec<u8>,
    transport: Vec<u8>,
}

impl Frame {
    fn of(v6: bool, protocol: u8) -> Self {
        let kind = if v6 { [0x86, 0xdd] } else { [8, 0] };
        let network = if v6 {
            let start = [0x60, 1, 2, 3, 0, 40, protocol, 64];
            [start.as_slice(), &[0x20; 16], &[0x30; 16]].concat()
        } else {
            let start = [0x45, 0, 0, 60, 1, 2, 0x40, 0, 64, protocol, 9, 9];
            [start.as_slice(), &[198, 18, 0, 2], &[198, 18, 1, 2]].concat()
        };
        let mut transport: Vec<u8> = (1..=40).collect();
        match protocol {
            UDP => transport[4..6].copy_from_slice(&[0, 40]),
            TCP => transport[12] = 0x50,
            _ => (),
        }
        Self {
            link: [[2; 12].as_slice(), &kind].concat(),
            network,
            transport,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        [&self.link[..], &self.network, &self.transport].concat()
    }

    /// Changes one byte of a part.
    fn with(&self, part: fn(&mut Self) -> &mut Vec<u8>, at: usize) -> Vec<u8> {
        let mut other = self.clone();
        part(&mut other)[at] ^= 1;
        other.bytes()
    }
}

/// The identity of each frame, sent when the one before has gone its way.
fn identities(frames: &[Vec<u8>]) -> Vec<String> {
    let stages = opened(&[there()], "headers");
    let sender = Sender::new();
    for (at, frame) in frames.iter().enumerate() {
        sender.send(frame);
        await_attributed(&stages, at as u64 + 1);
    }
    packets(&stages)
        .into_iter()
        .map(|packet| packet.identity)
        .collect()
}

/// Of an IP header that any hop may change: TTL and checksum, hop limit.
fn changed_by_hops(v6: bool) -> &'static [usize] {
    if v6 { &[7] } else { &[8, 10, 11] }
}

/// Of an IP header: of the IPv4 identification, of both addresses; of the flow label, of both addresses.
fn own(v6: bool) -> &'static [usize] {
    if v6 {
        &[3, 8, 23, 24, 39]
    } else {
        &[4, 5, 12, 15, 16, 19]
    }
}

/// Of each protocol's header, what a hop or a change of a train changes, and what is its own.
const TRANSPORTS: [(u8, &[usize], &[usize]); 3] = [
    // Flags, checksum, urgent pointer; ports, sequence, acknowledged, window.
    (TCP, &[13, 16, 17, 18], &[0, 3, 4, 7, 8, 11, 14, 15]),
    // Checksum; ports, the first eight bytes carried.
    (UDP, &[6, 7], &[0, 3, 8, 15]),
    // Checksum; ports, verification tag, the first chunk's head and TSN.
    (SCTP, &[8, 11], &[0, 3, 4, 7, 12, 15, 16, 19]),
];

#[test]
#[ignore = "needs root"]
fn a_frame_is_the_same_behind_a_hop_and_another_is_another() {
    in_namespace(|| {
        for v6 in [false, true] {
            for (protocol, unsteady, steady) in TRANSPORTS {
                let frame = Frame::of(v6, protocol);
                let link = |at: &usize| frame.with(|frame| &mut frame.link, *at);
                let network = |at: &usize| frame.with(|frame| &mut frame.network, *at);
                let transport = |at: &usize| frame.with(|frame| &mut frame.transport, *at);
                let mut same = vec![frame.bytes()];
                same.extend([0, 5, 6, 11].iter().map(link));
                same.extend(changed_by_hops(v6).iter().map(network));
                same.extend(unsteady.iter().map(transport));
                let found = identities(&same);
                assert!(
                    found.iter().all(|identity| *identity == found[0]),
                    "{protocol} {found:?}"
                );

                let mut others = vec![frame.bytes()];
                others.extend(own(v6).iter().map(network));
                others.extend(steady.iter().map(transport));
                let mut distinct = identities(&others);
                distinct.sort();
                distinct.dedup();
                assert_eq!(distinct.len(), others.len(), "{protocol} v6: {v6}");
            }
        }
    });
}

/// An acknowledgement alone has the sequence number of the data that follow it.
#[test]
#[ignore = "needs root"]
fn data_are_told_from_the_acknowledgement_before_them() {
    in_namespace(|| {
        let data = Frame::of(true, TCP);
        let mut alone = data.clone();
        alone.transport.truncate(20);
        alone.network[5] = 20;
        let found = identities(&[data.bytes(), alone.bytes()]);
        assert_ne!(found[0], found[1]);
    });
}

/// A train's frames are told by its first segment, however long the train is.
#[test]
#[ignore = "needs root"]
fn a_train_is_its_first_segment() {
    in_namespace(|| {
        let train = Frame::of(false, TCP);
        let mut segment = train.clone();
        segment.transport.truncate(30);
        segment.network[3] = 50;
        let found = identities(&[train.bytes(), segment.bytes()]);
        assert_eq!(found[0], found[1]);
    });
}

#[test]
#[ignore = "needs root"]
fn a_tag_changes_nobody() {
    in_namespace(|| {
        let plain = Frame::of(false, UDP);
        let mut tagged = plain.clone();
        tagged.link.splice(12..12, [0x81, 0, 0, 5]);
        let found = identities(&[plain.bytes(), tagged.bytes()]);
        assert_eq!(found[0], found[1]);
    });
}

#[test]
#[ignore = "needs root"]
fn what_is_not_told_apart_is_not_followed() {
    in_namespace(|| {
        let stages = opened(&[there()], "headers");
        let sender = Sender::new();
        let plain = Frame::of(false, UDP);
        let mut fragment = plain.clone();
        fragment.network[7] = 3;
        let mut optioned = plain.clone();
        optioned.network[0] = 0x46;
        let mut foreign = plain.clone();
        foreign.link[12..].copy_from_slice(&[8, 6]);
        for frame in [&fragment, &optioned, &foreign, &plain] {
            sender.send(&frame.bytes());
        }
        await_attributed(&stages, 1);
        assert_eq!(collect(&stages).frames.followed, 1);
    });
}
