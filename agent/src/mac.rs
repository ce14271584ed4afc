//! # Ethernet addresses

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// An EUI-48 address, written as six pairs of hexadecimal digits: `02:76:74:00:00:01`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct MacAddress(pub(crate) [u8; 6]);

impl JsonSchema for MacAddress {
    fn schema_name() -> Cow<'static, str> {
        "MacAddress".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "An EUI-48 address, written as six pairs of hexadecimal digits: `02:76:74:00:00:01`.",
            "pattern": "^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$",
        })
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not an Ethernet address; write six pairs of hexadecimal digits, as in 02:76:74:00:00:01"
)]
pub(crate) struct NotAMacAddress(String);

impl FromStr for MacAddress {
    type Err = NotAMacAddress;

    fn from_str(text: &str) -> Result<Self, NotAMacAddress> {
        let parse = || {
            let mut bytes = [0; 6];
            let mut pairs = text.split(':');
            for byte in &mut bytes {
                let pair = pairs.next().filter(|pair| pair.len() == 2)?;
                if !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                    return None;
                }
                *byte = u8::from_str_radix(pair, 16).ok()?;
            }
            pairs.next().is_none().then_some(Self(bytes))
        };
        parse().ok_or_else(|| NotAMacAddress(text.to_owned()))
    }
}

impl TryFrom<String> for MacAddress {
    type Error = NotAMacAddress;

    fn try_from(text: String) -> Result<Self, NotAMacAddress> {
        text.parse()
    }
}

impl From<MacAddress> for String {
    fn from(address: MacAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(formatter, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(bytes: [u8; 6]) {
            let text = MacAddress(bytes).to_string();
            prop_assert_eq!(text.parse::<MacAddress>().unwrap().0, bytes);
            prop_assert_eq!(text.to_uppercase().parse::<MacAddress>().unwrap().0, bytes);
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "02:76:74:00:00",
            "02:76:74:00:00:01:02",
            "2:76:74:0:0:1",
            "02-76-74-00-00-01",
            "+2:76:74:00:00:01",
            "0g:76:74:00:00:01",
        ] {
            let error = text.parse::<MacAddress>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
