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
        "AGENTS.md:1: warning FW008 missing-path: `src/gone.rs` does not exist\n\
         CLAUDE.md:2: error FW005 broken-import: `@gone.md` leads nowhere: there is no `gone.md`\n\n\
         Rules:\n  FW005 broken-import  https://example.com/foreword/blob/main/docs/rules/FW005.md\n  \
         FW008 missing-path  https://example.com/foreword/blob/main/docs/rules/FW008.md\n\n\
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
        "::warning file=AGENTS.md,line=1,title=FW008 missing-path::`src/gone.rs` does not exist \
         (https://example.com/foreword/blob/main/docs/rules/FW008.md)\n"
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
fn fixable_findings_are_fixed() {
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
fn wrong_names_are_reported() {
    let machine = machine();
    let said = machine.run("check --agent cluade");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("did you mean `claude-code`?"), "{}", said.err);
    let said = machine.run("check AGENTS.md");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("is not a directory"), "{}", said.err);
    assert_eq!(machine.run("check nowhere").code, Some(2));
}

#[test]
fn agents_in_use_are_checked_by_default() {
    let machine = machine();
    let agents = |said: crate::support::Said| said.object()["summary"]["agents"].clone();
    assert_eq!(agents(machine.run("check --format json")), serde_json::json!(["claude-code"]), "CLAUDE.md");
    std::fs::remove_file(machine.project().join("CLAUDE.md")).unwrap();
    let verified = agents(machine.run("check --format json"));
    let verified = verified.as_array().unwrap();
    assert!(verified.len() > 3 && !verified.iter().any(|name| name == "foreword"), "{verified:?}");
    let said = machine.run("check --profile claude");
    assert_eq!(said.code, Some(0), "an alias of the flag and of the agent: {}", said.err);
}

#[test]
fn known_findings_are_kept_in_a_file() {
    let machine = machine();
    let said = machine.run("check --agent claude-code --write-baseline known.json");
    assert_eq!((said.code, said.err.as_str()), (Some(0), "wrote 2 findings to known.json\n"));
    let said = machine.run("check --agent claude-code --baseline known.json");
    assert_eq!(said.code, Some(0), "{}", said.out);
    assert!(said.err.contains("2 findings in the baseline not shown"), "{}", said.err);
    let missing = machine.run("check --baseline gone.json");
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("create it with --write-baseline"), "{}", missing.err);
    let before = std::fs::read(machine.project().join("AGENTS.md")).unwrap();
    assert_eq!(machine.run("check --write-baseline AGENTS.md").code, Some(2), "it is not a baseline");
    assert_eq!(std::fs::read(machine.project().join("AGENTS.md")).unwrap(), before);
    let said = machine.run("check --agent claude-code --select FW008 --strict");
    assert!(said.out.contains("FW008") && !said.out.contains("FW005"), "{}", said.out);
    assert_eq!(machine.run("check --agent claude-code --ignore FW005,missing-path").code, Some(0));
    assert_eq!(machine.run("check --select FW0O8").code, Some(2));
}
