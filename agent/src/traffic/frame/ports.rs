//! # Ports that tell what pktgen's own frames have no room for
//!
//! Trial, phase and stream, as frame.h reads them: 1 trial 15 | 1 trial 6, phase 2, stream 7.

use super::Phase;

/// Trials that the ports can tell are below this.
pub(crate) const PORT_TRIALS: u32 = 1 << 21;

/// Source and destination port of a stream's frames in a phase; `trial` is below [`PORT_TRIALS`].
pub(crate) fn telling_ports(trial: u32, phase: Phase, stream: u8) -> (u16, u16) {
    let source = 0x8000 | trial >> 6;
    let destination = 0x8000 | (trial & 0x3f) << 9 | (phase as u32) << 7 | u32::from(stream);
    (source as u16, destination as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_of_the_first_and_the_last_trial() {
        let ports = telling_ports(0, Phase::Warmup, 0);
        assert_eq!(ports, (0x8000, 0x8100));
        let ports = telling_ports(PORT_TRIALS - 1, Phase::Measure, 127);
        assert_eq!(ports, (0xffff, 0xffff));
        let ports = telling_ports(65, Phase::Measure, 5);
        assert_eq!(ports, (0x8001, 0x8385));
    }
}
