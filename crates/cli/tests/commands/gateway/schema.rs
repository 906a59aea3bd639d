//! `foreword schema`.

use std::collections::BTreeMap;

use serde_json::Value;

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
fn programs_get_the_names_of_what_was_written() {
    let machine = Machine::new();
    let object = machine.run("schema made --format json").object();
    assert_eq!(object["directory"], "made");
    assert_eq!(object["files"].as_array().unwrap().len(), protocol::schema::files().len());
    assert!(machine.project().join("made/Document.json").is_file());
}

#[test]
fn schema_without_a_directory_prints_one_document() {
    let machine = Machine::new();
    let out = machine.run("schema").done();
    let document: Value = serde_json::from_str(&out).unwrap();
    assert!(out.starts_with("{\n  \"$"), "for people it has lines: {out:.40}");
    assert_eq!(machine.run("schema --format json").object(), document);
    assert_eq!(std::fs::read_dir(machine.project()).unwrap().count(), 0);
    assert_eq!(document["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let definitions = document["$defs"].as_object().unwrap();
    assert_eq!(definitions.len(), protocol::schema::all().len());
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 50, "{}", references.len());
    for reference in references {
        let name = reference.strip_prefix("#/$defs/").expect(reference);
        assert!(definitions.contains_key(name), "{reference} leads nowhere");
    }
}

fn collect_references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| collect_references(member, found));
        }
        Value::Array(elements) => elements.iter().for_each(|element| collect_references(element, found)),
        _ => {}
    }
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
