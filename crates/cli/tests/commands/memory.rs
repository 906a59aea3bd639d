//! `foreword memory`.

use serde_json::json;

use crate::support::Machine;

#[test]
fn items_are_added_found_and_forgotten() {
    let (machine, _server) = Machine::with_workspace();
    let id = machine.run("memory add 'Releases are cut on Mondays' --category decision").word();
    assert_eq!(
        machine.run("memory add 'Releases are cut on Mondays'").word(),
        id,
        "it is remembered already"
    );
    machine.run("memory add 'Ann prefers tabs' --scope user --category preference").done();
    machine.run("thread create Totals").done();
    machine.run("memory add 'The total is rounded' --thread Totals --expires '30 days'").done();
    let listed = machine.run("memory list").done();
    let rows: Vec<&str> = listed.lines().collect();
    assert_eq!(rows.len(), 4, "{listed}");
    for (row, scope, text) in [
        (1, "thread", "The total is rounded"),
        (2, "user", "Ann prefers tabs"),
        (3, "workspace", "Releases are cut on Mondays"),
    ] {
        assert!(rows[row].contains(scope) && rows[row].ends_with(text), "{listed}");
    }
    let found = machine.run("memory search MONDAYS release --format json").object();
    assert_eq!(found["items"].as_array().unwrap().len(), 1, "none has both words, so any counts: {found}");
    assert_eq!(found["items"][0]["id"], json!(id));
    machine.check("memory search nothing", "", "nothing remembered has these words\n");

    let said = machine.run(&format!("memory forget {id}"));
    let expected = "forgotten; nothing else carried it\n\
                    what stays: the messages of users, what models said in their own words, and backups made before\n";
    assert_eq!((said.code, said.err.as_str()), (Some(0), expected));
    assert!(machine.run("memory list --status deleted").done().contains("(forgotten)"));
    let audited = machine.run("audit").done();
    let entry = audited.lines().find(|line| line.contains("memory forgotten  owner")).unwrap_or_default();
    assert!(entry.contains(&format!("{id} of the scope workspace")), "{audited}");
    machine.check_code(
        "memory forget nowhere",
        2,
        "",
        "error: there is no memory_item `nowhere`\nhint: `foreword memory list` shows those there are\n",
    );
}

#[test]
fn what_is_exported_can_be_imported() {
    let (machine, _server) = Machine::with_workspace();
    machine.run("memory add 'One ✓'").done();
    machine.run("memory add Two --scope user").done();
    let exported = machine.run("memory export").done();
    machine.run("workspace create other").done();
    let said = machine.run_with("memory import -w other", &exported);
    assert_eq!((said.code, said.err.as_str()), (Some(0), "1 added, 1 remembered already\n"));
    let said = machine.run_with("memory import -w other", r#"{"items":[{"category":"c","text":""}]}"#);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("warning: item 0 was not taken: `text` must not be blank"), "{}", said.err);
    let said = machine.run_with("memory import", "no JSON");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("standard input is not what `foreword memory export` prints"), "{}", said.err);
}
