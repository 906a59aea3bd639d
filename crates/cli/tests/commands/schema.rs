//! `foreword schema`.

use std::collections::BTreeMap;

use crate::support::Machine;

#[test]
fn the_schemas_of_the_protocol_are_written_to_a_directory() {
    let machine = Machine::new();
    let out = machine.run("schema made/here").done();
    let written: BTreeMap<String, String> = std::fs::read_dir(machine.project().join("made/here"))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    assert_eq!(written, protocol::schema::files());
    let names: Vec<String> = written.keys().map(|name| format!("made/here/{name}")).collect();
    assert_eq!(out.lines().collect::<Vec<_>>(), names);
}

#[test]
fn programs_get_the_names_and_the_default_directory_is_schemas() {
    let machine = Machine::new();
    let object = machine.run("schema --format json").object();
    assert_eq!(object["directory"], "schemas");
    assert_eq!(object["files"].as_array().unwrap().len(), protocol::schema::files().len());
    assert!(machine.project().join("schemas/Document.json").is_file());
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let machine = Machine::new();
    machine.write("project/file", "");
    machine.check_code(
        "schema file/below",
        3,
        "",
        "error: could not create file/below: Not a directory (os error 20)\n",
    );
}
