//! Writes the bounds of the API to `OUT_DIR/bounds.h` and the layout of frames and delays to `OUT_DIR/layout.h`, compiles
//! every `bpf/*.bpf.c` with them, and writes its Rust skeleton to `OUT_DIR/<name>.skel.rs`.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_cargo::SkeletonBuilder;

#[path = "src/api/bounds.rs"]
mod bounds;
#[path = "src/traffic/layout.rs"]
mod layout;

const BOUNDS: &str = "src/api/bounds.rs";
const LAYOUT: &str = "src/traffic/layout.rs";
const PACKAGES: &str =
    "clang libc6-dev linux-libc-dev (Debian, Ubuntu), clang glibc-devel kernel-headers (Fedora)";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed={BOUNDS}");
    println!("cargo:rerun-if-changed={LAYOUT}");
    println!("cargo:rerun-if-env-changed=CLANG");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let output = PathBuf::from(env::var("OUT_DIR")?);
    let bounds = bounds::ALL
        .iter()
        .map(|bound| (bound.name, bound.value, bound.doc));
    fs::write(output.join("bounds.h"), header(BOUNDS, bounds))?;
    fs::write(
        output.join("layout.h"),
        header(LAYOUT, layout::ALL.iter().copied()),
    )?;
    let mut arguments = vec![
        format!("-I{}", output.display()),
        "-mcpu=v3".into(),
        "-Wall".into(),
        "-Wextra".into(),
        "-Werror".into(),
    ];
    for directory in system_include_directories(&clang)? {
        arguments.extend(["-idirafter".to_owned(), directory]);
    }
    for entry in Path::new("bpf").read_dir()? {
        let source = entry?.path();
        let Some(name) = source
            .to_str()
            .and_then(|path| path.strip_prefix("bpf/")?.strip_suffix(".bpf.c"))
        else {
            continue;
        };
        SkeletonBuilder::new()
            .source(&source)
            .clang(&clang)
            .clang_args(&arguments)
            .build_and_generate(output.join(format!("{name}.skel.rs")))
            .map_err(|error| {
                format!(
                    "{}: {error:#}\nThe BPF programs need: {PACKAGES}",
                    source.display()
                )
            })?;
    }
    Ok(())
}

/// Constants for the BPF programs, each with its name, value and comment, made of `source`.
fn header<'a>(source: &str, constants: impl Iterator<Item = (&'a str, u64, &'a str)>) -> String {
    let defines: String = constants
        .map(|(name, value, doc)| format!("#define {name} {value} /* {} */\n", doc.trim()))
        .collect();
    format!("/* Made by build.rs of {source}. */\n#pragma once\n\n{defines}")
}

/// Where clang finds the kernel's UAPI headers for this machine.
///
/// For `-target bpf` clang leaves out the directory of the architecture's headers (`asm/types.h`),
/// so we ask it where it looks when it compiles for the machine itself.
fn system_include_directories(clang: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let answer = Command::new(clang)
        .args(["-v", "-E", "-x", "c", "/dev/null"])
        .output()
        .map_err(|error| {
            format!(
                "cannot run `{clang}`, which compiles the BPF programs: {error}. \
                 Install {PACKAGES}, or set CLANG."
            )
        })?;
    let text = String::from_utf8_lossy(&answer.stderr);
    let directories: Vec<String> = text
        .lines()
        .skip_while(|line| !line.starts_with("#include <...> search starts here"))
        .skip(1)
        .take_while(|line| !line.starts_with("End of search list"))
        .map(|line| line.trim().to_owned())
        .collect();
    if directories.is_empty() {
        return Err(format!("`{clang} -v` names no include directories:\n{text}").into());
    }
    Ok(directories)
}
