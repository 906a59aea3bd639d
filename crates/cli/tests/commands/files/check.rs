//! `foreword check`.

use crate::support::Machine;

fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "Look at `src/gone.rs`.\n");
    machine.write("project/CLAUDE.md", "@AGENTS.md\n@gone.md\n");
    machine
}

#[test]
fn findings_a_table_and_an_exit_code() {
    let machine = machine();
    let said = machine.run("check --agent codex --agent claude-code");
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""));
    assert_eq!(
        said.out,
        "AGENTS.md\n  warning FW008: line 1: `src/gone.rs` does not exist\n\n\
         CLAUDE.md\n  error FW005: line 2: `@gone.md` leads nowhere: there is no `gone.md`\n\n\
         FILE       BYTES  READ BY             LOSES\n\
         AGENTS.md  23     codex, claude-code\n\
         CLAUDE.md  20     claude-code\n\n\
         1 error, 1 warning in 2 files, for 2 agents\n"
    );
    assert_eq!(machine.run("check --agent codex").code, Some(0));
    assert_eq!(machine.run("check --agent codex --strict").code, Some(1));
}

#[test]
fn programs_get_findings_and_a_summary() {
    let machine = machine();
    let said = machine.run("check --agent codex --format json");
    let object = said.object();
    assert_eq!(object["findings"][0]["rule"], "FW008");
    assert_eq!(object["findings"][0]["severity"], "warning");
    assert_eq!(object["findings"][0]["line"], 1);
    assert_eq!(object["findings"][0]["fixable"], false);
    assert!(object["findings"][0]["path"].as_str().unwrap().ends_with("project/AGENTS.md"));
    assert_eq!(object["summary"]["warnings"], 1);
    assert_eq!(object["summary"]["files"][0]["agents"][0]["agent"], "codex");
    let log = machine.run("check --agent codex --format sarif").object();
    assert_eq!(
        log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "AGENTS.md"
    );
    let lines = machine.run("check --agent codex --format github").done();
    assert_eq!(
        lines,
        "::warning file=AGENTS.md,line=1,title=FW008 missing-path::`src/gone.rs` does not exist\n"
    );
    // SARIF describes findings. Other commands have none, so they refuse the format instead of printing an
    // empty log.
    let refused = machine.run("show --format sarif");
    assert_eq!(refused.code, Some(2), "{}", refused.err);
}

#[test]
fn a_project_sets_what_it_wants_to_hear() {
    let machine = machine();
    machine
        .write("project/.foreword/config.toml", "[check]\noff = [\"missing-path\"]\nwarning = [\"FW005\"]\n");
    let said = machine.run("check --agent claude-code");
    assert_eq!(said.code, Some(0));
    assert!(said.out.contains("warning FW005") && !said.out.contains("FW008"), "{}", said.out);
    // A misspelled rule that was silently ignored would stay on, and its name in the file would look as if
    // it were off.
    machine.write("project/.foreword/config.toml", "[check]\noff = [\"missing-paths\"]\n");
    let said = machine.run("check");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("there is no rule `missing-paths` (in check.off), from "), "{}", said.err);
    assert!(said.err.contains("did you mean `missing-path`?"), "{}", said.err);
}

#[test]
fn what_can_be_mended_is() {
    let machine = machine();
    machine.write("project/AGENTS.md", "zero\u{200b}width\n");
    let said = machine.run("check --agent codex --strict");
    assert!(said.out.contains("`foreword check --fix` fixes 1"), "{}", said.out);
    let said = machine.run("check --agent codex --strict --fix");
    assert_eq!(said.code, Some(0), "{}", said.out);
    assert!(said.err.contains("fixed") && said.err.contains("FW014"), "{}", said.err);
    assert!(machine.run("show").done().contains("zerowidth"));
}

#[test]
fn what_was_named_wrongly_is_said() {
    let machine = machine();
    let said = machine.run("check --agent claude");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("did you mean `claude-code`?"), "{}", said.err);
    let said = machine.run("check AGENTS.md");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("is not a directory"), "{}", said.err);
    assert_eq!(machine.run("check nowhere").code, Some(2));
}
