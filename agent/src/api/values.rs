//! # Values within bounds
//!
//! Each type checks its bounds where params are read, so that an error names the field, and gives them to the schema.

use std::borrow::Cow;
use std::fmt::Display;
use std::net::Ipv4Addr;
use std::ops::{Deref, RangeInclusive};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::Error;

/// A whole number from `LEAST` to `GREATEST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Whole<T, const LEAST: u64, const GREATEST: u64>(T);

impl<const LEAST: u64, const GREATEST: u64> Whole<u64, LEAST, GREATEST> {
    pub(crate) const LEAST: Self = Self(LEAST);
}

impl<const GREATEST: u64> Whole<u32, 1, GREATEST> {
    pub(crate) const ONE: Self = Self(1);
}

impl<T: Copy, const LEAST: u64, const GREATEST: u64> Whole<T, LEAST, GREATEST> {
    pub(crate) const fn get(self) -> T {
        self.0
    }
}

impl<'de, T, const LEAST: u64, const GREATEST: u64> Deserialize<'de> for Whole<T, LEAST, GREATEST>
where
    T: Copy + Deserialize<'de> + Display + TryInto<u64>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = T::deserialize(deserializer)?;
        match number.try_into() {
            Ok(value) if (LEAST..=GREATEST).contains(&value) => Ok(Self(number)),
            _ => Err(D::Error::custom(not_between(number, &(LEAST..=GREATEST)))),
        }
    }
}

impl<T: JsonSchema, const LEAST: u64, const GREATEST: u64> JsonSchema
    for Whole<T, LEAST, GREATEST>
{
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}From{LEAST}To{GREATEST}", T::schema_name()).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": LEAST, "maximum": GREATEST})
    }
}

/// A number above 0 and at most `GREATEST`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Positive<const GREATEST: u64>(f64);

impl<const GREATEST: u64> Positive<GREATEST> {
    pub(crate) const GREATEST: Self = Self(GREATEST as f64);

    /// A value that is known to lie within the bounds.
    pub(crate) const fn of(value: f64) -> Self {
        assert!(value > 0.0 && value <= GREATEST as f64);
        Self(value)
    }

    pub(crate) const fn get(self) -> f64 {
        self.0
    }
}

impl<'de, const GREATEST: u64> Deserialize<'de> for Positive<GREATEST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if value > 0.0 && value <= GREATEST as f64 {
            return Ok(Self(value));
        }
        let problem = format!("{value} is not above 0 and at most {GREATEST}");
        Err(D::Error::custom(problem))
    }
}

impl<const GREATEST: u64> JsonSchema for Positive<GREATEST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("PositiveTo{GREATEST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "exclusiveMinimum": 0, "maximum": GREATEST})
    }
}

/// A number from 0 to `GREATEST`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct UpTo<const GREATEST: u64>(f64);

impl<const GREATEST: u64> UpTo<GREATEST> {
    pub(crate) const fn get(self) -> f64 {
        self.0
    }
}

impl<'de, const GREATEST: u64> Deserialize<'de> for UpTo<GREATEST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if (0.0..=GREATEST as f64).contains(&value) {
            return Ok(Self(value));
        }
        Err(D::Error::custom(not_between(value, &(0..=GREATEST))))
    }
}

impl<const GREATEST: u64> JsonSchema for UpTo<GREATEST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("UpTo{GREATEST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "maximum": GREATEST})
    }
}

/// From `LEAST` to `MOST` entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List<T, const LEAST: u64, const MOST: u64>(Vec<T>);

impl<T, const LEAST: u64, const MOST: u64> List<T, LEAST, MOST> {
    /// Entries that are known to be as many as they may be.
    pub(crate) fn of<const COUNT: usize>(entries: [T; COUNT]) -> Self {
        const { assert!(COUNT as u64 >= LEAST && COUNT as u64 <= MOST) }
        Self(entries.into())
    }
}

impl<T, const LEAST: u64, const MOST: u64> Deref for List<T, LEAST, MOST> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>, const LEAST: u64, const MOST: u64> Deserialize<'de>
    for List<T, LEAST, MOST>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::deserialize(deserializer)?;
        let count = entries.len();
        if (LEAST..=MOST).contains(&(count as u64)) {
            return Ok(Self(entries));
        }
        Err(D::Error::custom(too_few_or_many(count, &(LEAST..=MOST))))
    }
}

impl<T: JsonSchema, const LEAST: u64, const MOST: u64> JsonSchema for List<T, LEAST, MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("ListOf{LEAST}To{MOST}{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": generator.subschema_for::<T>(),
            "minItems": LEAST,
            "maxItems": MOST,
        })
    }
}

/// A TCP, UDP or SCTP port that an endpoint can be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Port(u16);

impl Port {
    pub(crate) const fn get(self) -> u16 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Port {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u16::deserialize(deserializer)? {
            0 => Err(D::Error::custom("must not be 0")),
            port => Ok(Self(port)),
        }
    }
}

impl JsonSchema for Port {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Port".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 1, "maximum": u16::MAX})
    }
}

/// The address of a measured interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndpointAddress(Ipv4Addr);

impl EndpointAddress {
    /// Refuses addresses that no measured interface has.
    pub(crate) fn check(address: Ipv4Addr) -> Result<Self, String> {
        if address.is_unspecified()
            || address.is_loopback()
            || address.is_multicast()
            || address.is_broadcast()
        {
            return Err(format!(
                "{address} is not the address of a measured interface"
            ));
        }
        Ok(Self(address))
    }

    pub(crate) const fn get(self) -> Ipv4Addr {
        self.0
    }
}

impl<'de> Deserialize<'de> for EndpointAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::check(Ipv4Addr::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for EndpointAddress {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "EndpointAddress".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Ipv4Addr::json_schema(generator)
    }
}

/// Refuses a number in `field` that is not `allowed`, where its type does not.
pub(crate) fn check_whole(
    field: &str,
    number: impl Copy + Display + Into<u64>,
    allowed: RangeInclusive<u64>,
) -> Result<(), Error> {
    if allowed.contains(&number.into()) {
        return Ok(());
    }
    Err(Error::params(field, not_between(number, &allowed)))
}

/// Refuses a number of entries in `field` that is not `allowed`, where its type does not.
pub(crate) fn check_count(
    field: &str,
    count: usize,
    allowed: RangeInclusive<u64>,
) -> Result<(), Error> {
    if allowed.contains(&(count as u64)) {
        return Ok(());
    }
    Err(Error::params(field, too_few_or_many(count, &allowed)))
}

fn not_between(number: impl Display, allowed: &RangeInclusive<u64>) -> String {
    let (least, greatest) = (allowed.start(), allowed.end());
    format!("{number} is not between {least} and {greatest}")
}

fn too_few_or_many(count: usize, allowed: &RangeInclusive<u64>) -> String {
    let (least, most) = (allowed.start(), allowed.end());
    if least == most {
        format!("{count} of them; {most} are needed")
    } else {
        format!("{count} of them; {least} to {most} are allowed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    fn problem<T: DeserializeOwned>(value: Value) -> String {
        let read: Result<T, _> = serde_json::from_value(value);
        read.map_or_else(|error| error.to_string(), |_| "none".to_owned())
    }

    #[test]
    fn values_within_their_bounds_are_read() {
        for value in [json!(1), json!(8)] {
            assert_eq!(problem::<Whole<u32, 1, 8>>(value), "none");
        }
        assert_eq!(problem::<Whole<usize, 0, 1>>(json!(0)), "none");
        assert_eq!(problem::<Positive<5>>(json!(5)), "none");
        assert_eq!(problem::<UpTo<5>>(json!(0.0)), "none");
        assert_eq!(problem::<List<u8, 1, 2>>(json!([1, 2])), "none");
        assert_eq!(problem::<Port>(json!(65_535)), "none");
        assert_eq!(problem::<EndpointAddress>(json!("198.18.0.2")), "none");
    }

    #[test]
    fn values_beyond_their_bounds_are_refused_in_words() {
        for value in [0, 9] {
            let expected = format!("{value} is not between 1 and 8");
            assert_eq!(problem::<Whole<u32, 1, 8>>(json!(value)), expected);
        }
        for value in [json!(-1), json!(1.5), json!("1"), json!(null)] {
            let problem = problem::<Whole<u32, 0, 8>>(value);
            assert!(problem.starts_with("invalid"), "{problem}");
        }
        for value in [0.0, -1.0, 5.5] {
            let expected = format!("{value} is not above 0 and at most 5");
            assert_eq!(problem::<Positive<5>>(json!(value)), expected);
        }
        let expected = "5.5 is not between 0 and 5";
        assert_eq!(problem::<UpTo<5>>(json!(5.5)), expected);
        let expected = "0 of them; 1 to 2 are allowed";
        assert_eq!(problem::<List<u8, 1, 2>>(json!([])), expected);
        assert_eq!(problem::<Port>(json!(0)), "must not be 0");
        for address in ["0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255"] {
            let expected = format!("{address} is not the address of a measured interface");
            assert_eq!(problem::<EndpointAddress>(json!(address)), expected);
        }
    }
}
