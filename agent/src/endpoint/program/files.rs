//! # The files that programs find in their directory

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::bounds::{LONGEST_FILE_NAME, MOST_FILE_BYTES};
use crate::error::Error;

/// `program.file`: a piece of a file, behind those that came before.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProgramFileParams {
    /// The name of the file in the directory of the program.
    #[schemars(length(min = 1, max = LONGEST_FILE_NAME))]
    name: String,
    /// Whether the file can be executed.
    executable: bool,
    /// Whether the file begins with this piece.
    first: bool,
    /// The piece, base64.
    base64: String,
}

/// A file, its content in base64 where it is written down.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct File {
    name: String,
    executable: bool,
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    content: Vec<u8>,
}

/// All files that this agent was given.
#[derive(Debug, Default)]
pub(crate) struct Files(Vec<File>);

impl Files {
    pub(crate) fn add(&mut self, piece: &ProgramFileParams) -> Result<(), Error> {
        let name = &piece.name;
        if name.is_empty()
            || name.len() as u64 > LONGEST_FILE_NAME
            || name.starts_with('.')
            || name.contains(['/', '\0'])
        {
            let problem = format!("{name:?} is not the plain name of a file");
            return Err(Error::params("name", problem));
        }
        let decoded = STANDARD.decode(&piece.base64);
        let bytes = decoded.map_err(|error| Error::params("base64", error.to_string()))?;
        let held: usize = self.0.iter().map(|file| file.content.len()).sum();
        if (held + bytes.len()) as u64 > MOST_FILE_BYTES {
            let problem = format!("all files together have more than {MOST_FILE_BYTES} bytes");
            return Err(Error::params("base64", problem));
        }
        if piece.first {
            self.0.retain(|file| file.name != *name);
            self.0.push(File {
                name: name.clone(),
                executable: piece.executable,
                content: bytes,
            });
            return Ok(());
        }
        let file = self.0.iter_mut().find(|file| file.name == *name);
        let file = file.ok_or_else(|| Error::params("first", format!("{name} was not begun")))?;
        file.content.extend(bytes);
        Ok(())
    }

    pub(super) fn all(&self) -> Vec<File> {
        self.0.clone()
    }
}

/// Makes `directory` with these files, for the caller's user alone.
pub(super) fn write_files(directory: &Path, files: &[File]) -> anyhow::Result<()> {
    let make = || {
        fs::DirBuilder::new().mode(0o700).create(directory)?;
        for file in files {
            let mode = if file.executable { 0o700 } else { 0o600 };
            let mut options = fs::OpenOptions::new();
            let mut made = options
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(directory.join(&file.name))?;
            made.write_all(&file.content)?;
        }
        anyhow::Ok(())
    };
    make().with_context(|| {
        format!(
            "cannot make the program's directory {}",
            directory.display()
        )
    })
}

fn to_base64<S: serde::Serializer>(content: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(content))
}

fn from_base64<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(name: &str, first: bool, content: &str) -> ProgramFileParams {
        ProgramFileParams {
            name: name.to_owned(),
            executable: false,
            first,
            base64: STANDARD.encode(content),
        }
    }

    #[test]
    fn pieces_make_a_file_and_a_new_first_one_begins_it_anew() {
        let mut files = Files::default();
        files.add(&piece("a", true, "old")).unwrap();
        files.add(&piece("a", true, "ne")).unwrap();
        files.add(&piece("a", false, "w")).unwrap();
        let all = files.all();
        assert_eq!((all.len(), all[0].content.as_slice()), (1, &b"new"[..]));
        let told = serde_json::to_string(&all[0]).unwrap();
        let read: File = serde_json::from_str(&told).unwrap();
        assert_eq!(read.content, b"new");
    }

    #[test]
    fn what_is_no_plain_name_is_refused() {
        let mut files = Files::default();
        for name in ["", ".", "..", ".hidden", "a/b", "/etc/passwd", "a\0"] {
            assert!(files.add(&piece(name, true, "")).is_err(), "{name:?}");
        }
        assert!(files.add(&piece("a", false, "")).is_err());
        let mut wrong = piece("a", true, "");
        wrong.base64 = "*".to_owned();
        assert!(files.add(&wrong).is_err());
    }
}
