//! `foreword memory`.

use serde_json::json;

use crate::support::Machine;

#[test]
fn items_are_added_found_and_forgotten() {
    let (machine, _server) = Machine::with_workspace();
    let id = machine.run("memory add 'Releases are cut on Mondays' --category decision").word();
    // Adding the same text again returns the first id. Agents repeat what they remember, and duplicates
    // would fill the memory section of every prompt.
    let again = machine.run("memory add 'Releases are cut on Mondays'");
    assert_eq!(
        (again.out.trim_end(), again.err.as_str()),
        (id.as_str(), "remembered already in workspace `demo`\n")
    );
    let own = machine.run("memory add 'Ann prefers tabs' --scope user --category preference");
    assert_eq!(own.err, "remembered for you, in all workspaces\n");
    machine.run("thread create Totals").done();
    let piped = machine.run_with(
        "memory add - --scope thread --thread Totals --expires '30 days'",
        "The total is rounded\n",
    );
    assert_eq!((piped.code, piped.err.as_str()), (Some(0), "remembered in thread `Totals`\n"));
    machine.check_code(
        "memory add x --scope thread",
        2,
        "",
        "error: the scope `thread` needs a thread\nhint: name it with --thread THREAD\n",
    );
    machine.check_code(
        "memory add x --scope user --thread Totals",
        2,
        "",
        "error: --thread requires the scope `thread`, but the scope is `user`\nhint: omit one of them\n",
    );
    machine.check("memory list --status expired", "", "no memories match\n");
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
    machine.check("memory search nothing", "", "no memories contain these words\n");

    let said = machine.run(&format!("memory forget {id}"));
    // Forgetting cannot reach everything, and a user who forgets a secret must know it. The message lists
    // the remaining places explicitly.
    let expected = "forgotten; no other text contained it\n\
                    what stays: the messages of users, what models said in their own words, and backups made before\n";
    assert_eq!((said.code, said.err.as_str()), (Some(0), expected));
    assert!(machine.run("memory list --status deleted").done().contains("(forgotten)"));
    assert!(machine.run(&format!("memory forget {id}")).err.starts_with("it had already been forgotten\n"));
    let audited = machine.run("audit").done();
    let entry = audited.lines().find(|line| line.contains("memory forgotten  owner")).unwrap_or_default();
    assert!(entry.contains(&format!("{id} of the scope workspace")), "{audited}");
    machine.check_code(
        "memory forget nowhere",
        2,
        "",
        "error: there is no item of memory `nowhere`\nhint: list memories with `foreword memory list`\n",
    );
}

#[test]
fn exports_can_be_imported() {
    let (machine, _server) = Machine::with_workspace();
    machine.run("memory add 'One ✓'").done();
    machine.run("memory add Two --scope user").done();
    let exported = machine.run("memory export").done();
    machine.run("workspace create other").done();
    // The item of the scope `user` belongs to all workspaces, so the second one knows it already and only
    // one is added.
    let said = machine.run_with("memory import -w other", &exported);
    assert_eq!((said.code, said.err.as_str()), (Some(0), "1 added, 1 already known\n"));
    let said = machine.run_with("memory import -w other", r#"{"items":[{"category":"c","text":""}]}"#);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("warning: item 0 was rejected: `text` must not be blank"), "{}", said.err);
    let said = machine.run_with("memory import", "no JSON");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("standard input is not an export of `foreword memory export`"), "{}", said.err);
}

#[test]
fn a_replaced_memory_keeps_its_category() {
    let (machine, _server) = Machine::with_workspace();
    let long = "A sentence that goes on. ".repeat(20);
    let id = machine.run(&format!("memory add '{long}' --category decision")).word();
    let shown = machine.run(&format!("memory show {id}")).done();
    assert!(shown.contains("category  decision\n") && shown.contains(long.trim_end()), "{shown}");
    assert!(machine.run("memory list").done().contains(long.trim_end()), "a pipe has it whole");
    let newer = machine.run(&format!("memory add Shorter. --supersedes {id}")).word();
    let shown = machine.run(&format!("memory show {newer} --format json")).object();
    assert_eq!(
        (&shown["item"]["category"], &shown["item"]["text"]),
        (&json!("decision"), &json!("Shorter."))
    );
}
