//! # The Internet checksum (RFC 1071)

/// Over an even number of bytes.
pub(crate) fn internet_checksum(bytes: &[u8]) -> u16 {
    !folded(sum(bytes))
}

/// An odd last byte is left out.
#[inline]
pub(super) fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum()
}

#[inline]
pub(super) fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_a_known_header() {
        // The worked example of Wikipedia's article "Internet checksum", its checksum field zero.
        let header = [
            0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0,
            0xc7,
        ];
        assert_eq!(internet_checksum(&header), 0xb861);
    }
}
