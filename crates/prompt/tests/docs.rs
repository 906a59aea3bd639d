//! Writes the tables of `docs/prompts.md` from the tables that the compiler reads.
//!
//! Update with `UPDATE_DOCS=1 cargo test -p foreword-prompt --test docs`.

use prompt::{
    BOOTSTRAP_FILES, BUDGET_SETTINGS, FilledBy, PromptBudgets, PromptProfile, SECTIONS, SectionKind,
};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/prompts.md");

fn sections() -> String {
    let mut table =
        "| section | heading | part | filled by | in `minimal` |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for section in SECTIONS {
        let SectionKind { id, title, stability, profile, .. } = section;
        let minimal = if *profile == PromptProfile::Minimal { "yes" } else { "" };
        let filled_by = filled_by(section);
        table += &format!("| `{id}` | {title} | {} | {filled_by} | {minimal} |\n", stability.name());
    }
    table
}

/// Wording for sections whose domain has a page of its own.
const ELSEWHERE: &[(&str, &str)] = &[
    ("task_orchestration", "a text of ours, with [delegation](delegation.md)"),
    ("hidden_tool_domains", "the tools that a model has to [ask for](turns.md#hidden-tools)"),
    ("skills_runtime", "[skills](skills.md)"),
    ("memory_recall", "[memory](memory.md)"),
    ("dynamic_context", "the caller ([`turn start --context`](turns.md)), or a hook"),
    ("selected_skills", "the skills that a turn [selects](skills.md#in-a-turn)"),
];

fn filled_by(section: &SectionKind) -> String {
    if let Some((_, words)) = ELSEWHERE.iter().find(|(id, _)| *id == section.id) {
        return (*words).to_owned();
    }
    match section.filled_by {
        FilledBy::BuiltIn => "a text of ours".to_owned(),
        FilledBy::Bootstrap => {
            let file = BOOTSTRAP_FILES.iter().find(|file| file.section_id == section.id);
            file.map_or_else(String::new, |file| format!("`{}` in the home directory", file.name))
        }
        FilledBy::Session => "AGENTS.md files on disk".to_owned(),
        FilledBy::HiddenTools => "the tools that a model has to ask for".to_owned(),
        FilledBy::Hook(Some(_)) => "a hook, between tags of ours".to_owned(),
        FilledBy::Hook(None) => "a hook".to_owned(),
        FilledBy::Caller => "the caller, or a hook".to_owned(),
        FilledBy::Note => "a text of ours, at the end of the message that caused it".to_owned(),
    }
}

fn budgets() -> String {
    let mut defaults = PromptBudgets::default();
    let mut table = "| setting | most | default |\n| --- | --- | --- |\n".to_owned();
    for budget in BUDGET_SETTINGS {
        table +=
            &format!("| `prompt.{}` | {} | {} |\n", budget.name, budget.about, (budget.field)(&mut defaults));
    }
    table
}

#[test]
fn docs_page_is_up_to_date() -> anyhow::Result<()> {
    let mut page = std::fs::read_to_string(PAGE)?.replace("\r\n", "\n");
    // Each table is between two HTML comments, so that the prose around it is edited by hand.
    for (name, table) in [("sections", sections()), ("budgets", budgets())] {
        let begin = format!("<!-- {name} -->\n");
        let end = format!("<!-- end of {name} -->\n");
        let parts =
            page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
        let (before, after) = parts.ok_or_else(|| anyhow::anyhow!("{PAGE} has no place for its {name}"))?;
        page = format!("{before}{begin}\n{table}\n{end}{after}");
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &page)?;
    }
    let is_up_to_date = std::fs::read_to_string(PAGE)?.replace("\r\n", "\n") == page;
    assert!(
        is_up_to_date,
        "docs/prompts.md is out of date; run: UPDATE_DOCS=1 cargo test -p foreword-prompt --test docs"
    );
    Ok(())
}
