//! What libbpf makes of the BPF programs: their maps, and the types that they share with us.

use crate::traffic::bpf::MapValue;

mod generated {
    #![allow(clippy::all, dead_code)]
    include!(concat!(env!("OUT_DIR"), "/stages.skel.rs"));
}

pub(super) use generated::types::{
    cost as Cost, filed as Filed, packet as Packet, place as Place, point as Point, tally as Tally,
    trail as Trail, window as Window,
};
pub(super) use generated::{StagesSkel, StagesSkelBuilder};

// SAFETY: laid out by the skeleton after the BPF program's own types: integers, without padding.
unsafe impl MapValue for Cost {}
unsafe impl MapValue for Filed {}
unsafe impl MapValue for Packet {}
unsafe impl MapValue for Place {}
unsafe impl MapValue for Tally {}
unsafe impl MapValue for Window {}
