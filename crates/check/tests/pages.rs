//! The pages `docs/rules.md` and `docs/rules/FW….md`, generated from the table of rules.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use check::RULES;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

const INTRODUCTION: &str = "\
# Rules of `foreword check`

<!-- Written from the table in crates/check/src/rule.rs; regenerate: UPDATE_DOCS=1 cargo test -p foreword-check --test pages -->

Rules of [`foreword check`](check.md). Codes and names are stable, and settings accept either.

| rule | name | severity | finding | `--fix` |
| --- | --- | --- | --- | --- |
";

/// Every page by its path below `docs`.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let mut index = INTRODUCTION.to_owned();
    for rule in RULES {
        let code = rule.code;
        let name = rule.name;
        let severity = rule.severity.as_str();
        let fix = rule.fix.unwrap_or("");
        let _ =
            writeln!(index, "| [{code}](rules/{code}.md) | {name} | {severity} | {} | {fix} |", rule.summary);
        let fix = rule.fix.map_or_else(String::new, |fix| format!("\n`foreword check --fix` {fix}.\n"));
        let page = format!(
            "# {code}: {name}\n\n*Severity: {severity}.* {}\n\n## Why it matters\n\n{}\n\n## What to do\n\n{}\n{fix}\n\
             `check.off = [\"{code}\"]` disables the rule; `check.error`, `check.warning` and `check.info` change its \
             severity, and\n`check.ignore` excludes paths ([configuration](../configuration.md)). All rules: \
             [rules](../rules.md).\n",
            rule.summary, rule.rationale, rule.advice
        );
        pages.insert(format!("rules/{code}.md"), page);
    }
    pages.insert("rules.md".to_owned(), index);
    pages
}

#[test]
fn the_pages_are_up_to_date() {
    let docs = Path::new(DOCS);
    let hint = "is out of date; run: UPDATE_DOCS=1 cargo test -p foreword-check --test pages";
    for (path, page) in pages() {
        let file = docs.join(&path);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, &page).unwrap();
        }
        assert!(std::fs::read_to_string(&file).is_ok_and(|written| written == page), "docs/{path} {hint}");
    }
}

#[test]
fn the_summary_lists_exactly_the_pages() {
    let summary = std::fs::read_to_string(Path::new(DOCS).join("SUMMARY.md")).unwrap();
    for path in pages().keys() {
        assert!(summary.contains(&format!("({path})")), "docs/SUMMARY.md does not name {path}");
    }
    let written = std::fs::read_dir(Path::new(DOCS).join("rules")).unwrap();
    assert_eq!(written.count(), RULES.len(), "a page of a rule that is not there");
}
