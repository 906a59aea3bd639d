//! `foreword folder`: by path and by id.

use crate::support::Machine;

#[test]
fn folders_are_made_listed_renamed_moved_and_deleted_by_path() {
    let (machine, _server) = Machine::with_workspace();
    machine.check("folder list", "PATH  ID\n", "");
    machine.check("folder create services", "ID\n", "created folder `services`\n");
    machine.check("folder create api --parent services", "ID\n", "created folder `api`\n");
    machine.check("folder create 'a b' --parent /services/api/", "ID\n", "created folder `a b`\n");
    let heading = "PATH              ID\n";
    machine.check(
        "folder list",
        &format!("{heading}services          ID\nservices/api      ID\nservices/api/a b  ID\n"),
        "",
    );
    let shown = |name: &str, parent: &str| {
        format!("name     {name}\nid       ID\nparent   {parent}\ncreated  TIME\nupdated  TIME\n")
    };
    machine.check("folder get services", &shown("services", "/"), "");
    machine.check("folder rename services/api core", "", "renamed folder `services/api` to `core`\n");
    machine.check("folder move 'services/core/a b' /", "", "moved folder `a b` to `/`\n");
    machine.check("folder move services 'a b'", "", "moved folder `services` to `a b`\n");
    machine.check("folder get 'a b/services'", &shown("services", "ID"), "");
    let paths = |machine: &Machine| -> Vec<String> {
        let listed = machine.run("folder list").done();
        listed.lines().skip(1).map(|line| line[..line.len() - 36].trim_end().to_owned()).collect()
    };
    assert_eq!(paths(&machine), ["a b", "a b/services", "a b/services/core"]);
    machine.check(
        "folder delete 'a b/services'",
        "",
        "deleted folder `a b/services`; what it held is now in its parent; \
         `foreword folder restore ID` brings it back\n",
    );
    assert_eq!(paths(&machine), ["a b", "a b/core"]);
}

#[test]
fn folders_with_one_path_are_distinguished_by_id() {
    let (machine, _server) = Machine::with_workspace();
    let first = machine.run("folder create api").word();
    let second = machine.run("folder create api").word();
    let inner = machine.run(&format!("folder create inner --parent {second}")).word();
    // Picking either folder would sometimes change the wrong one. All commands refuse with both ids,
    // including those that only name a parent.
    let ambiguous =
        format!("error: `api` matches 2 folders; use an id\nhint: {first}  api\nhint: {second}  api\n");
    for words in [
        "folder get api",
        "folder rename api x",
        "folder move api /",
        "folder move api/inner api",
        "folder delete api",
        "folder create x --parent api",
        "thread create x --folder api",
        "doc get --folder api",
    ] {
        assert_eq!(machine.run(words).failed(2), ambiguous, "{words}");
    }
    // Only one of the two has it, so the path is clear.
    assert!(machine.run("folder get api/inner").done().contains(&inner));
    machine.run(&format!("folder rename {second} web")).done();
    machine.run(&format!("folder move {inner} {first}")).done();
    assert!(machine.run("folder get api/inner").done().contains(&first));
    machine.run(&format!("folder delete {first}")).done();
    assert!(machine.run("folder get inner").done().contains(&inner));
}

#[test]
fn impossible_folder_changes_are_refused() {
    let (machine, _server) = Machine::with_workspace();
    machine.run("folder create a").done();
    machine.run("folder create b --parent a").done();
    let unknown = "error: there is no folder `x`\nhint: list folders with `foreword folder list`\n";
    for words in ["folder get x", "folder move a x", "folder create y --parent x"] {
        machine.check_code(words, 2, "", unknown);
    }
    assert_eq!(machine.run_with("doc save --folder x", "text").failed(2), unknown);
    machine.check_code(
        "folder move a a/b",
        2,
        "",
        "error: folder `ID` cannot be moved into `ID`, which is itself or is below it\n",
    );
    machine.check_code("folder rename a ''", 2, "", "error: `name` must not be blank\n");
    machine.check_code(
        "folder delete /",
        2,
        "",
        "error: there is no folder `/`\nhint: list folders with `foreword folder list`\n",
    );
}

#[test]
fn a_deleted_folder_is_listed_read_and_restored() {
    let (machine, _server) = Machine::with_workspace();
    machine.check("folder deleted", "PATH  DELETED  DOCUMENT  ID\n", "");
    machine.run("folder create services").done();
    let api = machine.run("folder create api --parent services").word();
    machine.run_with("doc save --folder services/api", "one\n").done();
    machine.run_with("doc save --force --folder services/api", "two\n").done();
    machine.run("thread create Talk --folder services/api").done();
    // The inner folder is deleted first and its parent afterwards, so that restoring the inner one finds no
    // parent and has to fall back to the root.
    machine.run("folder delete services/api").done();
    machine.run("folder delete services").done();
    let listed = machine.run("folder deleted").done();
    let rows: Vec<Vec<&str>> = listed.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((rows[0][0], rows[0][2]), ("services", "-"), "{listed}");
    assert_eq!((rows[1][0], rows[1][2], rows[1][3]), ("services/api", "4", "characters"), "{listed}");
    assert_eq!(rows[1][4], api);

    // Its past can be read by path and by id.
    for named in ["services/api", &api] {
        let history = machine.run(&format!("doc history --folder {named}")).done();
        assert_eq!(history.lines().count(), 4, "{history}");
        assert!(machine.run(&format!("doc diff 1 2 --folder {named}")).done().contains("-one\n+two\n"));
        let text = machine.run(&format!("doc get --folder {named}"));
        assert!(text.err.contains("was deleted") && text.err.contains("version 3"), "{}", text.err);
        assert_eq!(text.done(), "two\n");
    }
    let never = machine.run("doc get --folder services");
    assert!(never.err.contains("and never had a document"), "{}", never.err);
    // Nothing else can be done with it, and another folder's name is no help.
    machine.run("folder create service").done();
    let deleted = |named: &str| {
        format!(
            "error: folder `{named}` is deleted\nhint: restore it with `foreword folder restore {named}`\n"
        )
    };
    machine.check_code("doc archive --folder services/api", 2, "", &deleted("services/api"));
    machine.check_code("folder delete services", 2, "", &deleted("services"));
    assert_eq!(machine.run_with("doc save --folder services", "text").failed(2), deleted("services"));

    let restored = machine.run("folder restore services/api");
    assert!(restored.err.starts_with("restored folder `services/api` with its document, now version 4\n"));
    let moved = "what was in it when it was deleted stays where it is now: 1 thread (`Talk`)\n";
    assert!(restored.err.contains(moved), "{}", restored.err);
    assert!(restored.err.contains("it is now in the workspace root\n"), "{}", restored.err);
    assert_eq!(restored.done(), "");
    assert_eq!(machine.run("doc get --folder api").done(), "two\n");
    machine.check_code(
        "folder restore api",
        2,
        "",
        "error: folder `api` is not deleted\nhint: list deleted folders with `foreword folder deleted`\n",
    );
    machine.check_code(
        "folder restore nothing",
        2,
        "",
        "error: deleted folder `nothing` not found\nhint: list deleted folders with `foreword folder deleted`\n",
    );
    machine.run("folder create services").done();
    let restored = machine.run("folder restore services");
    assert!(restored.err.contains("another folder there is also called `services`"), "{}", restored.err);
    // Deleting two folders of one path in turn makes the path ambiguous even among deleted folders.
    machine.run("folder delete api").done();
    machine.run("folder create api").done();
    machine.run("folder delete api").done();
    let several = machine.run("folder rename api web").failed(2);
    assert!(several.starts_with("error: folder `api` is deleted\nhint: use one of the ids: "), "{several}");
    let ambiguous = machine.run("folder restore api").failed(2);
    assert!(
        ambiguous
            .starts_with("error: several deleted folders have the path `api`\nhint: use one of the ids: ")
    );
}
