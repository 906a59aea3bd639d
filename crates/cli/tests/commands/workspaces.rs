//! `foreword workspace`.

use crate::support::Machine;

#[test]
fn workspaces_are_made_listed_shown_and_changed() {
    let machine = Machine::new();
    let _server = machine.serve();
    machine.check(
        "workspace list",
        "NAME  ID  ROOT\n",
        "there is no workspace yet; make one with `foreword workspace create NAME`\n",
    );
    machine.check("workspace create demo --root .", "ID\n", "made workspace `demo`\n");
    machine.check(
        "workspace list",
        "NAME  ID                                    ROOT\ndemo  ID  ~/project\n",
        "",
    );
    let shown = "name     demo\nid       ID\nroot     ~/project\ncreated  TIME\nupdated  TIME\n";
    machine.check("workspace get", shown, "");
    machine.check("workspace show demo", shown, "");
    let changed = shown.replace("demo", "team").replace("~/project", "~/other");
    machine.write("other/file", "");
    machine.check("workspace update demo --name team --root ../other", &changed, "");
}

#[test]
fn a_command_that_needs_a_workspace_says_which_there_are() {
    let machine = Machine::new();
    let _server = machine.serve();
    machine.check_code(
        "doc get",
        2,
        "",
        "error: there is no workspace yet\nhint: make one with `foreword workspace create NAME`\n",
    );
    machine.run("workspace create docs").done();
    let site = machine.run("workspace create site").word();
    machine.check_code(
        "doc get",
        2,
        "",
        "error: there are several workspaces: docs, site\n\
         hint: name one with --workspace, or set FOREWORD_WORKSPACE\n",
    );
    machine.check_code(
        "doc get -w sight",
        2,
        "",
        "error: there is no workspace `sight`\nhint: `foreword workspace list` shows those there are\n",
    );
    machine.run_with("doc save --workspace site", "for the site").done();
    assert_eq!(machine.run(&format!("doc get -w {site}")).done(), "for the site\n");
    let mut command = machine.command("doc get");
    command.env("FOREWORD_WORKSPACE", "site");
    assert_eq!(crate::support::finish(command, b"").done(), "for the site\n");
    machine.write("home/config.toml", "[client]\nworkspace = 'docs'\n");
    machine.check_code("doc get", 1, "", "the workspace root has no document, and inherits none\n");
}

#[test]
fn workspaces_of_the_same_name_are_told_apart_by_id() {
    let machine = Machine::new();
    let _server = machine.serve();
    let first = machine.run("workspace create demo").word();
    let second = machine.run("workspace create demo").word();
    let err = machine.run("doc get -w demo").failed(2);
    assert_eq!(
        err,
        format!("error: several workspaces are called `demo`\nhint: name one by its id: {first}, {second}\n")
    );
    machine.run_with(&format!("doc save -w {second}"), "second").done();
    assert_eq!(machine.run(&format!("doc get -w {second}")).done(), "second\n");
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
        "error: there is nothing to change\nhint: give --name or --root\n",
    );
}
