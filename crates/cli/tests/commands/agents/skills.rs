//! `foreword skill`, `trust` and `untrust`.

use serde_json::json;

use crate::support::Machine;

fn skill(machine: &Machine, folder: &str, name: &str, more: &str) {
    let text = format!("---\nname: {name}\ndescription: Does {name}\n{more}---\nDo {name}.\n");
    machine.write(format!("{folder}/SKILL.md"), text);
}

fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine
}

#[test]
fn skills_are_listed_with_what_became_of_them() {
    let machine = machine();
    machine.check("skill list", "", "no skills found; create one in ~/home/skills or in .agents/skills\n");
    assert_eq!(machine.run("skill list --format json").object(), json!({ "skills": [] }));
    skill(&machine, "home/skills/own", "own", "");
    skill(&machine, "home/skills/rust", "rust", "paths: src/**\n");
    skill(&machine, "project/.agents/skills/lend", "lend", "");
    machine.write("home/skills/broken/SKILL.md", "no front matter\n");
    machine.check(
        "skill list",
        "! lend  untrusted\n\
         \x20   Does lend\n\
         \x20   look at it and trust it with `foreword trust ~/project/.agents/skills/lend`\n\
         \x20   .agents/skills/lend/SKILL.md\n\
         ! broken  invalid\n\
         \x20   it does not begin with a block between two lines `---`; begin it with `---`, `name:`, `description:` and `---`\n\
         \x20   ~/home/skills/broken/SKILL.md\n\
         + own  active (implicit)\n\
         \x20   Does own\n\
         \x20   ~/home/skills/own/SKILL.md\n\
         - rust  disabled (no path matched)\n\
         \x20   Does rust\n\
         \x20   it applies to src/**\n\
         \x20   ~/home/skills/rust/SKILL.md\n",
        "",
    );
    let object = machine.run("skill list --format json").object();
    assert_eq!(
        object["skills"][2],
        json!({
            "slug": "own", "description": "Does own", "outcome": "active", "reason": "implicit",
            "path": machine.home().join("skills/own/SKILL.md"),
        })
    );
    std::fs::create_dir(machine.project().join("src")).unwrap();
    assert!(machine.run("skill list src").done().contains("+ rust  active (path matched)"));
}

#[test]
fn settings_decide_which_are_used() {
    let machine = machine();
    skill(&machine, "home/skills/own", "own", "");
    skill(&machine, "more/other", "other", "");
    machine.write("home/config.toml", "[skills]\nimplicit = false\nfolders = [\"../more\"]\n");
    let listed = machine.run("skill list").done();
    assert!(listed.contains("- other  disabled (not implicit)"), "{listed}");
    machine.write("home/config.toml", "skills.enabled = false\n");
    let said = machine.run("skill list");
    assert!(said.err.starts_with("warning: skills are switched off"), "{said:?}");
    // A project may not switch skills on for its user: cloning a repository must not be enough to put its
    // skills into prompts.
    machine.write("project/.foreword/config.toml", "skills.enabled = true\n");
    let err = machine.run("skill list").failed(2);
    assert!(err.contains("skills.enabled"), "{err}");
}

#[test]
fn a_skill_is_shown_whole() {
    let machine = machine();
    skill(
        &machine,
        "home/skills/own",
        "own",
        "license: MIT\nallowed-tools: Bash\nowner: ada\nrequires: other\n",
    );
    skill(&machine, "home/skills/other", "other", "");
    // Hidden and control characters could make the shown text differ from the text that a model reads. They
    // must be visible as escapes, because trust is decided on this output.
    machine.write("home/skills/other/more.md", "more\u{202e}\n");
    machine.write(
        "home/skills/other/SKILL.md",
        "---\nname: other\ndescription: a\u{202e}b\n---\nHid\u{200b}den\u{1b}[2J\n",
    );
    let text = machine.run("skill show own").done();
    for line in [
        "+ own  active",
        "    license: MIT",
        "    allowed-tools: Bash (grants nothing)",
        "    requires: other",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.contains("    owner: \"ada\"\n") && text.ends_with("\nDo own.\n"), "{text}");
    let text = machine.run("skill show other").done();
    assert!(text.contains("a\\u{202e}b") && text.ends_with("\nHid\\u{200b}den\\u{1b}[2J\n"), "{text}");
    assert!(text.contains("    more.md  8 bytes  "), "{text}");
    let object = machine.run("skill show own --format json").object();
    assert_eq!(
        (&object["slug"], &object["license"], &object["body"]),
        (&"own".into(), &"MIT".into(), &"Do own.\n".into())
    );
    assert_eq!(object["other_keys"], json!({ "owner": "ada" }));
    let err = machine.run("skill show ohter").failed(2);
    assert!(err.contains("there is no skill `ohter` here") && err.contains("did you mean `other`?"), "{err}");
}

#[test]
fn a_check_fails_when_something_is_wrong() {
    let machine = machine();
    skill(&machine, "project/.agents/skills/lend", "lend", "");
    machine.check("skill check", "", "1 skill: no problems\n");
    machine.write("project/.agents/skills/broken/SKILL.md", "---\nname: Broken One\n---\n");
    let said = machine.run("skill check");
    assert_eq!((said.code, said.err.as_str()), (Some(1), "2 skills: 1 problem\n"), "{said:?}");
    assert!(said.out.contains("`Broken One` is not a valid name"), "{said:?}");
    let object = machine.run("skill check --format json");
    assert_eq!(object.code, Some(1));
    let object = object.object();
    assert_eq!((&object["checked"], &object["findings"][0]["reason"]), (&2.into(), &"bad_name".into()));
    // A skill is found by its folder or file, trusted or not.
    assert_eq!(machine.run("skill check .agents/skills/broken").code, Some(1));
    machine.run("skill check .agents/skills/lend/SKILL.md").done();
    assert!(machine.run("skill check nowhere").failed(2).contains("nowhere"));
}

#[test]
fn trust_shows_what_it_trusts_and_asks() {
    let machine = machine();
    skill(&machine, "project/.agents/skills/lend", "lend", "");
    // A skill is more than its SKILL.md. Scripts beside it could be run later, so they are shown too, and a
    // binary file is at least mentioned.
    machine.write("project/.agents/skills/lend/run.sh", "echo \u{202e}hidden\n");
    machine.write("project/.agents/skills/lend/data", b"\0");
    // There is no terminal to ask on.
    let said = machine.run("trust .");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.err.contains("no terminal to ask on") && said.err.contains("foreword trust --yes"),
        "{said:?}"
    );
    assert!(said.out.starts_with("lend: not trusted yet\n"), "{said:?}");
    assert!(
        said.out.contains("  │ Do lend.\n") && said.out.contains("  │ echo \\u{202e}hidden\n"),
        "{said:?}"
    );
    assert!(said.out.contains("binary or too long to show"), "{said:?}");
    assert!(machine.run("skill list").done().contains("! lend  untrusted"));
    let said = machine.run("trust --list");
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{said:?}");

    let said = machine.run("trust --yes .");
    assert_eq!((said.code, said.err.as_str()), (Some(0), "trusted 1 skill\n"), "{said:?}");
    assert!(machine.run("skill list").done().contains("+ lend  active"));
    let said = machine.run("trust .");
    assert_eq!((said.code, said.err.as_str()), (Some(0), "there is nothing new to trust\n"), "{said:?}");
    let object = machine.run("trust --list --format json").object();
    assert_eq!((&object["skills"][0]["slug"], &object["skills"][0]["files"]), (&"lend".into(), &3.into()));
}

#[test]
fn a_changed_skill_is_unused_until_trusted() {
    let machine = machine();
    skill(&machine, "project/.agents/skills/lend", "lend", "");
    machine.run("trust --yes .").done();
    // Trust covers contents and not a path. Otherwise a later `git pull` could replace a reviewed skill
    // with anything.
    skill(&machine, "project/.agents/skills/lend", "lend", "license: \u{202e}\n");
    let listed = machine.run("skill list").done();
    assert!(listed.contains("! lend  changed since trusted"), "{listed}");
    assert!(listed.contains("SKILL.md has changed; see it with `foreword trust --diff "), "{listed}");
    assert_eq!(machine.run("skill check").code, Some(1));
    let shown = machine.run("trust --diff .").done();
    assert!(shown.starts_with("lend: changed since it was trusted\n"), "{shown}");
    assert!(shown.contains("  │ +license: \\u{202e}\n"), "{shown}");
    let object = machine.run("trust --diff . --format json").object();
    assert_eq!((&object["skills"][0]["state"], &object["trusted"]), (&"changed".into(), &false.into()));
    assert!(object["skills"][0]["diff"].as_str().unwrap().contains("+license: "), "{object}");
    assert!(machine.run("skill list").done().contains("! lend"), "a look changes nothing");
    let object = machine.run("trust --yes . --format json").object();
    assert_eq!(object["trusted"], true);
    assert!(machine.run("skill list").done().contains("+ lend  active"));
    machine.check("untrust .", "no longer trusted: ~/project/.agents/skills/lend\n", "");
    assert!(machine.run("skill list").done().contains("! lend  untrusted"));
    let err = machine.run("untrust .").failed(2);
    assert!(err.contains("nothing is trusted in"), "{err}");
}

#[test]
fn untrustable_paths_are_reported() {
    let machine = machine();
    let err = machine.run("trust .").failed(2);
    assert!(err.contains("no project skills found in") && err.contains(".agents/skills"), "{err}");
    assert!(machine.run("trust nowhere").failed(3).contains("nowhere"));
    machine.run("trust").failed(2);
    machine.write("project/.agents/skills/broken/SKILL.md", "broken");
    let said = machine.run("trust --yes .");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("broken: cannot be trusted\n"), "{said:?}");
    // A damaged list must not count as an empty one that is overwritten, nor as permission. `trust` refuses
    // to write and listed skills stay untrusted.
    machine.write("home/trusted-skills.json", "{");
    let err = machine.run("trust .").failed(3);
    assert!(err.contains("trusted-skills.json") && err.contains("hint: fix the file"), "{err}");
    skill(&machine, "project/.agents/skills/lend", "lend", "");
    let said = machine.run("skill list");
    assert!(said.err.contains("trusted-skills.json") && said.out.contains("! lend  untrusted"), "{said:?}");
}
