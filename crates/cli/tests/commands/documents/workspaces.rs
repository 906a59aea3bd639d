//! `foreword workspace`.

use crate::support::Machine;

#[test]
fn workspaces_are_made_listed_shown_and_changed() {
    let machine = Machine::new();
    let _server = machine.serve();
    machine.check(
        "workspace list",
        "NAME  ID  ROOT\n",
        "no workspace exists yet; create one with `foreword workspace create NAME`\n",
    );
    machine.check("workspace create demo --root .", "ID\n", "created workspace `demo`\n");
    machine.check(
        "workspace list",
        "NAME  ID                                    ROOT\ndemo  ID  ~/project\n",
        "",
    );
    let shown = "name     demo\nid       ID\nroot     ~/project\ncreated  TIME\nupdated  TIME\n";
    machine.check("workspace get", shown, "");
    machine.check("workspace show demo", shown, "");
    machine.write("other/file", "");
    machine.check(
        "workspace update demo --name team --root ../other",
        "",
        "workspace `team` now has the root ~/other\n",
    );
    let changed = shown.replace("demo", "team").replace("~/project", "~/other");
    machine.check("workspace get team", &changed, "");
}

#[test]
fn a_missing_workspace_lists_candidates() {
    let machine = Machine::new();
    let _server = machine.serve();
    machine.check_code(
        "doc get",
        2,
        "",
        "error: no workspace exists yet\nhint: create one with `foreword workspace create NAME`\n",
    );
    machine.run("workspace create docs").done();
    let site = machine.run("workspace create site").word();
    machine.check_code(
        "doc get",
        2,
        "",
        "error: there are several workspaces: docs, site\n\
         hint: add `-w docs`, set FOREWORD_WORKSPACE, or change to the directory of one\n",
    );
    machine.check_code(
        "doc get -w sight",
        2,
        "",
        "error: there is no workspace `sight`\nhint: did you mean `site`?\nhint: list workspaces with `foreword workspace list`\n",
    );
    machine.run_with("doc save --workspace site", "for the site").done();
    assert_eq!(machine.run(&format!("doc get -w {site}")).done(), "for the site\n");
    let mut command = machine.command("doc get");
    command.env("FOREWORD_WORKSPACE", "site");
    assert_eq!(crate::support::finish(command, b"").done(), "for the site\n");
    machine.write("home/config.toml", "[client]\nworkspace = 'docs'\n");
    machine.check_code("doc get", 1, "", "the workspace root has no document and inherits none\n");
}

#[test]
fn names_are_unique_until_a_workspace_is_archived() {
    let machine = Machine::new();
    let _server = machine.serve();
    let first = machine.run("workspace create demo").word();
    let taken = "error: there is already a workspace named `demo`\nhint: choose another name\n";
    machine.check_code("workspace create demo", 2, "", taken);
    machine.run("workspace create other").done();
    machine.check_code("workspace update other --name demo", 2, "", taken);
    let archived = machine.run("workspace archive demo");
    assert_eq!(
        archived.err,
        format!("archived workspace `demo`; `foreword workspace restore {first}` brings it back\n")
    );
    // An archived workspace frees its name, so restoring it can collide with a newer one. The user has to
    // rename one of them first.
    machine.run("workspace create demo").done();
    assert!(machine.run("workspace list --archived").done().contains(&first));
    assert!(!machine.run("workspace list").done().contains(&first));
    machine.check_code("workspace restore demo", 2, "", taken);
    machine.run("workspace update demo --name second").done();
    machine.check("workspace restore demo", "", "restored workspace `demo`\n");
    assert!(machine.run("workspace get demo").done().contains(&first));
    machine.check_code(
        "workspace restore dmeo",
        2,
        "",
        "error: there is no archived workspace `dmeo`\n\
         hint: list archived workspaces with `foreword workspace list --archived`\n",
    );
}

#[test]
fn archived_workspaces_with_one_name_are_distinguished() {
    let machine = Machine::new();
    let _server = machine.serve();
    machine.write("project/shop/x", "");
    machine.run("workspace create shop").done();
    machine.run("workspace archive shop").done();
    let second = machine.run("workspace create shop --root shop").word();
    machine.run("workspace archive shop").done();
    let several = machine.run("workspace restore shop").failed(2);
    let root = machine.project().join("shop").display().to_string();
    let line = several.lines().find(|line| line.contains(&second)).unwrap();
    assert!(line.contains("  shop  archived ") && line.ends_with(&format!(", of {root}")), "{several}");
    let hint = format!(
        "hint: `shop`, the workspace of this directory, is archived; restore it with `foreword workspace restore {second}`\n"
    );
    let in_shop = || {
        let mut command = machine.command("doc get");
        command.current_dir(machine.project().join("shop"));
        crate::support::finish(command, b"").failed(2)
    };
    assert!(in_shop().ends_with(&hint), "{}", in_shop());
    machine.run("workspace create one").done();
    machine.run("workspace create two").done();
    // Two active workspaces turn the error into one about ambiguity. The hint about the archived one must
    // not get lost there.
    assert!(in_shop().starts_with("error: there are several workspaces: ") && in_shop().ends_with(&hint));
    assert!(!machine.run("doc get").failed(2).contains("archived"), "it is of another directory");
}

#[test]
fn workspaces_are_selected_by_id_prefix_or_directory() {
    let machine = Machine::new();
    let _server = machine.serve();
    machine.write("project/inner/x", "");
    let outer = machine.run("workspace create outer --root .").word();
    let inner = machine.run("workspace create inner --root inner").word();
    // Ids made one after another share a long beginning.
    let shared = outer.bytes().zip(inner.bytes()).take_while(|(one, other)| one == other).count();
    assert!(machine.run(&format!("workspace get {}", &inner[..shared + 1])).done().contains(&inner));
    let err = machine.run(&format!("workspace get {}", &inner[..shared])).failed(2);
    assert_eq!(
        err,
        format!(
            "error: `{}` matches 2 workspaces; use an id\nhint: {outer}  outer\nhint: {inner}  inner\n",
            &inner[..shared]
        )
    );
    machine.check_code(
        "doc get -w inenr",
        2,
        "",
        "error: there is no workspace `inenr`\nhint: did you mean `inner`?\n\
         hint: list workspaces with `foreword workspace list`\n",
    );
    assert!(machine.run("workspace get").done().contains(&outer));
    let mut command = machine.command("workspace get");
    command.current_dir(machine.project().join("inner"));
    assert!(crate::support::finish(command, b"").done().contains(&inner));
}

#[test]
fn bad_names_and_directories_are_refused() {
    let (machine, _server) = Machine::with_workspace();
    machine.check_code("workspace create ' '", 2, "", "error: `name` must not be blank\n");
    machine.check_code(
        "workspace create here --root nowhere",
        2,
        "",
        "error: ~/project/nowhere is not a directory\n",
    );
    machine.check_code(
        "workspace update demo",
        2,
        "",
        "error: nothing to change\nhint: give --name or --root\n",
    );
}
