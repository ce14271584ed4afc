//! What the disciplines have in common: refusals by field, and netlink attributes.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::error::Error;

/// Refuses the discipline's field `name` where what is `allowed` does not hold.
pub(super) fn require(name: &str, holds: bool, allowed: &str) -> Result<(), Error> {
    match holds {
        true => Ok(()),
        false => Err(Error::params(
            format!("qdisc.{name}"),
            format!("allowed: {allowed}"),
        )),
    }
}

/// Refuses the discipline's field `name` where it is not within `allowed`.
pub(super) fn require_within<T: PartialOrd + Display>(
    name: &str,
    value: T,
    allowed: RangeInclusive<T>,
) -> Result<(), Error> {
    let words = format!("{} to {}", allowed.start(), allowed.end());
    require(name, allowed.contains(&value), &words)
}

pub(super) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A netlink attribute of whole words.
pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes
}
