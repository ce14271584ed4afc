//! Compiles every `bpf/*.bpf.c` and writes its Rust skeleton to `OUT_DIR/<name>.skel.rs`.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_cargo::SkeletonBuilder;

const PACKAGES: &str =
    "clang libc6-dev linux-libc-dev (Debian, Ubuntu), clang glibc-devel kernel-headers (Fedora)";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-env-changed=CLANG");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let mut arguments = vec![
        "-mcpu=v3".into(),
        "-Wall".into(),
        "-Wextra".into(),
        "-Werror".into(),
    ];
    for directory in system_include_directories(&clang)? {
        arguments.extend(["-idirafter".to_owned(), directory]);
    }
    let output = PathBuf::from(env::var("OUT_DIR")?);
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
