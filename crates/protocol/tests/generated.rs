//! The generated files match the types.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

const HINT: &str = "hint: run `cargo xtask generate` and commit the result";

fn root() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect()
}

#[test]
fn schemas_are_up_to_date() {
    let directory = root().join("schemas");
    let wanted = protocol::schema::files();
    for (name, text) in &wanted {
        let found = fs::read_to_string(directory.join(name)).unwrap_or_default();
        assert!(found == *text, "schemas/{name} does not match its type\n{HINT}");
    }
    let names: BTreeSet<String> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let stale: Vec<&String> = names.iter().filter(|name| !wanted.contains_key(*name)).collect();
    assert!(stale.is_empty(), "schemas/ contains files without a type: {stale:?}\n{HINT}");
}

#[test]
fn the_reference_is_up_to_date() {
    let found = fs::read_to_string(root().join("docs/protocol.md")).unwrap_or_default();
    assert!(found == protocol::reference::markdown(), "docs/protocol.md does not match the types\n{HINT}");
}
