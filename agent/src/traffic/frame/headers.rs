//! # Headers: what stands before a frame's test fields
//!
//! Ethernet 14 | 802.1Q tag 4, if any | IPv4 20 or IPv6 40 | UDP 8.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::checksum::{folded, internet_checksum, sum};
use crate::api::bounds;
use crate::mac::MacAddress;

const ETHERNET_BYTES: usize = 14;
const TAG_BYTES: usize = 4;
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
pub(crate) const UDP_BYTES: usize = 8;
const HOPS: u8 = 64;
/// What stands for the type in a tagged frame.
const TAGGED: [u8; 2] = (libc::ETH_P_8021Q as u16).to_be_bytes();

/// Of the longest headers.
pub(crate) const MOST_HEADER_BYTES: usize = ETHERNET_BYTES + TAG_BYTES + IPV6_BYTES + UDP_BYTES;
/// A jumbo frame of MTU 9000, tagged.
pub(crate) const GREATEST_FRAME_BYTES: usize = bounds::GREATEST_FRAME_BYTES as usize;
/// Where the checksum is in a UDP header.
pub(crate) const UDP_CHECKSUM_OFFSET: usize = 6;

/// Both ends of a stream, as its frames name them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoints {
    pub(crate) source_mac: MacAddress,
    /// Of the first hop.
    pub(crate) destination_mac: MacAddress,
    pub(crate) vlan: Option<u16>,
    pub(crate) addresses: Addresses,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
}

/// Of one version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addresses {
    V4 {
        source: Ipv4Addr,
        destination: Ipv4Addr,
    },
    V6 {
        source: Ipv6Addr,
        destination: Ipv6Addr,
    },
}

impl Addresses {
    /// None where the two are of different versions.
    pub(crate) fn of(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Self::V4 {
                source,
                destination,
            }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Self::V6 {
                source,
                destination,
            }),
            _ => None,
        }
    }
}

impl Endpoints {
    /// Bytes of a frame that its interface's MTU does not count.
    pub(crate) fn beyond_mtu_bytes(&self) -> usize {
        ETHERNET_BYTES + self.vlan.map_or(0, |_| TAG_BYTES)
    }

    /// Bytes of a frame before its test fields.
    pub(crate) fn header_bytes(&self) -> usize {
        let ip_bytes = match self.addresses {
            Addresses::V4 { .. } => IPV4_BYTES,
            Addresses::V6 { .. } => IPV6_BYTES,
        };
        self.beyond_mtu_bytes() + ip_bytes + UDP_BYTES
    }

    /// Whether its frames have a UDP checksum: over IPv4 they need none (RFC 768), over IPv6 they do (RFC 8200, 8.1).
    pub(crate) fn has_checksum(&self) -> bool {
        matches!(self.addresses, Addresses::V6 { .. })
    }

    /// The headers of a frame of `frame_bytes`, without a UDP checksum.
    pub(crate) fn headers(&self, frame_bytes: usize) -> Vec<u8> {
        let mut headers = Vec::with_capacity(self.header_bytes());
        headers.extend(self.destination_mac.0);
        headers.extend(self.source_mac.0);
        if let Some(vlan) = self.vlan {
            // Priority 0.
            headers.extend(TAGGED);
            headers.extend(vlan.to_be_bytes());
        }
        match self.addresses {
            Addresses::V4 {
                source,
                destination,
            } => {
                headers.extend((libc::ETH_P_IP as u16).to_be_bytes());
                // No identification, don't fragment; lengths and checksum below.
                headers.extend([0x45, 0, 0, 0, 0, 0, 0x40, 0]);
                headers.extend([HOPS, libc::IPPROTO_UDP as u8, 0, 0]);
                headers.extend(source.octets());
                headers.extend(destination.octets());
            }
            Addresses::V6 {
                source,
                destination,
            } => {
                headers.extend((libc::ETH_P_IPV6 as u16).to_be_bytes());
                // No traffic class, no flow label; length below.
                headers.extend([0x60, 0, 0, 0, 0, 0]);
                headers.extend([libc::IPPROTO_UDP as u8, HOPS]);
                headers.extend(source.octets());
                headers.extend(destination.octets());
            }
        }
        headers.extend(self.source_port.to_be_bytes());
        headers.extend(self.destination_port.to_be_bytes());
        headers.extend([0; 4]);
        set_payload_bytes(&mut headers, frame_bytes - self.header_bytes());
        udp_header(&mut headers)[UDP_CHECKSUM_OFFSET..].fill(0);
        headers
    }
}

/// Makes the headers those of a datagram with so much payload, whose UDP checksum is yet to be completed: its field holds the
/// sum of the pseudo header, as the kernel wants it.
pub(crate) fn set_payload_bytes(headers: &mut [u8], payload_bytes: usize) {
    let udp_bytes = (UDP_BYTES + payload_bytes) as u16;
    let (ip, udp) = network_header(headers);
    if ip[0] >> 4 == 4 {
        ip[2..4].copy_from_slice(&(udp_bytes + IPV4_BYTES as u16).to_be_bytes());
        ip[10..12].fill(0);
        let checksum = internet_checksum(ip);
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        ip[4..6].copy_from_slice(&udp_bytes.to_be_bytes());
    }
    udp[4..6].copy_from_slice(&udp_bytes.to_be_bytes());
    let pseudo_header = folded(pseudo_header_sum(ip, udp_bytes));
    udp[UDP_CHECKSUM_OFFSET..].copy_from_slice(&pseudo_header.to_be_bytes());
}

/// What RFC 768 and RFC 8200 add to a datagram before they sum it; the same words, which lie in another order.
pub(super) fn pseudo_header_sum(ip: &[u8], udp_bytes: u16) -> u32 {
    let addresses_at = if ip[0] >> 4 == 4 { 12 } else { 8 };
    sum(&ip[addresses_at..]) + libc::IPPROTO_UDP as u32 + u32::from(udp_bytes)
}

/// The UDP header, which is the last.
pub(crate) fn udp_header(headers: &mut [u8]) -> &mut [u8] {
    let at = headers.len() - UDP_BYTES;
    &mut headers[at..]
}

/// The IP header and the UDP header of what is headers only.
pub(super) fn network_header(headers: &mut [u8]) -> (&mut [u8], &mut [u8]) {
    let ip_at = ip_at(headers);
    let udp_at = headers.len() - UDP_BYTES;
    headers[ip_at..].split_at_mut(udp_at - ip_at)
}

/// Bytes before what would be the test fields of `frame`, be it tagged or not; None where no IP follows.
pub(super) fn header_bytes_of(frame: &[u8]) -> Option<usize> {
    let ip_at = (frame.len() > ETHERNET_BYTES).then(|| ip_at(frame))?;
    let ip_bytes = match frame.get(ip_at)? >> 4 {
        4 => IPV4_BYTES,
        6 => IPV6_BYTES,
        _ => return None,
    };
    Some(ip_at + ip_bytes + UDP_BYTES)
}

fn ip_at(frame: &[u8]) -> usize {
    match frame[ETHERNET_BYTES - 2..ETHERNET_BYTES] == TAGGED {
        true => ETHERNET_BYTES + TAG_BYTES,
        false => ETHERNET_BYTES,
    }
}
