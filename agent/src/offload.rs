//! # What an interface does in the kernel's stead
//!
//! Its features by the names that `ethtool -k` gives them. The kernel numbers them anew in every version, so that they are
//! asked for by name.

use std::io;

use crate::netdevice::ethtool;

// linux/ethtool.h
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETH_SS_FEATURES: u32 = 4;
const NAME_BYTES: usize = 32;
/// Words of `struct ethtool_get_features_block`: available, requested, active, never changed.
const BLOCK_WORDS: usize = 4;
const ACTIVE: usize = 2;

/// Names of the features that are on.
pub(crate) fn active(interface: &str) -> io::Result<Vec<String>> {
    let names = names(interface)?;
    let blocks = names.len().div_ceil(32);
    let mut request = vec![0; 2 + blocks * BLOCK_WORDS];
    request[0] = ETHTOOL_GFEATURES;
    request[1] = blocks as u32;
    ethtool(interface, &mut request)?;
    let is_on = |feature: usize| {
        let block = &request[2 + feature / 32 * BLOCK_WORDS..];
        block[ACTIVE] >> (feature % 32) & 1 == 1
    };
    let features = names.into_iter().enumerate();
    Ok(features
        .filter(|&(feature, _)| is_on(feature))
        .map(|(_, name)| name)
        .collect())
}

/// Names of all features that the kernel knows, in its order.
fn names(interface: &str) -> io::Result<Vec<String>> {
    // struct ethtool_sset_info: command, reserved, a 64-bit mask of the sets, the length of each.
    let mut sets = [ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_FEATURES, 0, 0];
    ethtool(interface, &mut sets)?;
    let count = sets[4] as usize;
    let mut request = vec![0; 3 + count * NAME_BYTES / 4];
    request[..3].copy_from_slice(&[ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count as u32]);
    ethtool(interface, &mut request)?;
    let bytes: Vec<u8> = request[3..]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    Ok(bytes.chunks_exact(NAME_BYTES).map(name_of).collect())
}

fn name_of(field: &[u8]) -> String {
    let bytes = field.iter().take_while(|&&byte| byte != 0);
    bytes.map(|&byte| char::from(byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_the_features_it_cannot_lose() {
        // Fixed in every kernel: see `ethtool -k lo`.
        let active = active("lo").unwrap();
        for feature in ["loopback", "tx-checksum-ip-generic"] {
            assert!(active.iter().any(|name| name == feature), "{active:?}");
        }
    }

    #[test]
    fn an_absent_interface_is_an_error() {
        assert!(active("absent0").is_err());
    }
}
