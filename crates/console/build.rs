//! Lists the files in `assets/` as a Rust table, so that the command contains them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("assets");
    println!("cargo::rerun-if-changed=assets");
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    // Sorted, so that the same files give the same program on every machine.
    files.sort();
    let mut table = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let _ = writeln!(table, "    Asset {{ path: {name:?}, bytes: include_bytes!({file:?}) }},");
    }
    table.push_str("]\n");
    let output = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("assets.rs");
    fs::write(output, table)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
