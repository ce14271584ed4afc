//! # Echo requests and replies (RFC 792)
//!
//! The payload begins with trial and sequence in full; ICMP's own fields hold 16 bits of each.

use crate::api::bounds::LEAST_ECHO_BYTES;
use crate::endpoint::message::{ID_BYTES, Id};
use crate::traffic::frame::internet_checksum;

// The least payload holds the id.
const _: () = assert!(LEAST_ECHO_BYTES == ID_BYTES as u64);

pub(super) const HEADER_BYTES: usize = 8;
/// The longest packet with its IP header.
pub(super) const GREATEST_PACKET_BYTES: usize = 65_535;

pub(super) const REPLY: u8 = 0;
const REQUEST: u8 = 8;
const ECHO: [u8; 4] = *b"vtxE";

/// Makes `packet`, ICMP's header and payload, this request; what follows the id in it is zeros, and so none of the checksum.
pub(super) fn write_request(id: Id, packet: &mut [u8]) {
    packet[..HEADER_BYTES].fill(0);
    packet[0] = REQUEST;
    packet[4..6].copy_from_slice(&(id.trial as u16).to_be_bytes());
    packet[6..8].copy_from_slice(&(id.sequence as u16).to_be_bytes());
    packet[HEADER_BYTES..HEADER_BYTES + ID_BYTES].copy_from_slice(&id.bytes(ECHO));
    let checksum = internet_checksum(&packet[..HEADER_BYTES + ID_BYTES]);
    packet[2..4].copy_from_slice(&checksum.to_be_bytes());
}

/// The sequence that a received IP packet answers to; None where it is no whole answer to one of `trial`.
///
/// The kernel has checked the checksums of IP and ICMP.
pub(super) fn answered(packet: &[u8], trial: u32, payload_bytes: usize) -> Option<u64> {
    let ip_header_bytes = usize::from(packet.first()? & 0x0f) * 4;
    let icmp = packet.get(ip_header_bytes..)?;
    let (header, payload) = icmp.split_at_checked(HEADER_BYTES)?;
    let sequence = u64::from_le_bytes(*payload.first_chunk()?);
    let is_answer = header[..2] == [REPLY, 0]
        && payload.len() == payload_bytes
        && payload.get(..ID_BYTES)? == Id { trial, sequence }.bytes(ECHO);
    is_answer.then_some(sequence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a kernel answers, behind an IP header of `options` words more than the least.
    fn reply(id: Id, payload_bytes: usize, options: u8) -> Vec<u8> {
        let mut packet = vec![0; HEADER_BYTES + payload_bytes];
        write_request(id, &mut packet);
        packet[0] = REPLY;
        let ip_header_bytes = 20 + 4 * usize::from(options);
        let mut whole = vec![0; ip_header_bytes];
        whole[0] = 0x45 + options;
        whole.extend(packet);
        whole
    }

    #[test]
    fn a_request_has_a_valid_checksum() {
        let id = Id {
            trial: 0x0102_0304,
            sequence: 0x1_0005,
        };
        let mut packet = vec![0; HEADER_BYTES + 18];
        packet[..HEADER_BYTES + ID_BYTES].fill(0xee);
        write_request(id, &mut packet);
        assert_eq!(internet_checksum(&packet), 0);
        assert_eq!(packet[..2], [8, 0]);
        assert_eq!(packet[4..8], [3, 4, 0, 5]);
    }

    proptest! {
        #[test]
        fn a_request_is_answered_by_its_answer_only(
            trial in any::<u32>(),
            sequence in any::<u64>(),
            payload_bytes in ID_BYTES..2000,
            options in 0_u8..=10,
        ) {
            let reply = reply(Id { trial, sequence }, payload_bytes, options);
            prop_assert_eq!(answered(&reply, trial, payload_bytes), Some(sequence));
            prop_assert_eq!(answered(&reply, trial.wrapping_add(1), payload_bytes), None);
            prop_assert_eq!(answered(&reply, trial, payload_bytes + 1), None);
            prop_assert_eq!(answered(&reply[..reply.len() - 1], trial, payload_bytes), None);
        }

        #[test]
        fn noise_is_no_answer(noise in prop::collection::vec(any::<u8>(), 0..100), trial in any::<u32>()) {
            prop_assert_eq!(answered(&noise, trial, noise.len().saturating_sub(28)), None);
        }
    }
}
