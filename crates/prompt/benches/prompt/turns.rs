//! Simulates a thousand turns with fifty edits of the document, and measures how much of a request a provider can reuse.

use std::collections::HashMap;
use std::sync::Arc;

use measure::{Effort, Table, show_count};
use prompt::{
    AgentsContext, CompiledPrompt, Compiler, ContentHash, PromptCompileInput, PromptRole, Stability, blame,
};
use tokens::Counter;

use crate::fixture::{section, text};

/// The edit before a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Before {
    Nothing,
    EditAtTheEnd,
    EditAtTheBeginning,
}

impl Before {
    fn of(turn: usize, turns: usize, edits: usize) -> Self {
        let every = turns / edits;
        match (turn.is_multiple_of(every), (turn / every).is_multiple_of(2)) {
            (false, _) => Before::Nothing,
            (true, true) => Before::EditAtTheEnd,
            (true, false) => Before::EditAtTheBeginning,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Before::Nothing => "nothing was edited",
            Before::EditAtTheEnd => "an edit at the document's end",
            Before::EditAtTheBeginning => "an edit at its beginning",
        }
    }
}

#[derive(Default)]
struct Sum {
    turns: u64,
    before: u64,
    kept: u64,
    prefix: u64,
    prefix_kept: u64,
    least: Option<f64>,
}

pub(crate) fn simulate(effort: Effort) {
    let (turns, edits) = effort.choose((100, 5), (1_000, 50));
    let mut compiler = Compiler::new(Arc::new(Counter::default()));
    let mut document: Vec<String> = text(7, 8_000).lines().map(str::to_owned).collect();
    let mut previous: Option<CompiledPrompt> = None;
    let mut sums: HashMap<Before, Sum> = HashMap::new();
    for turn in 1..=turns {
        let before = Before::of(turn, turns, edits);
        match before {
            Before::Nothing => {}
            Before::EditAtTheEnd => document.push(format!("- Rule of turn {turn}.")),
            Before::EditAtTheBeginning => document.insert(0, format!("- Rule of turn {turn}.")),
        }
        let compiled = compiler.compile(&input(turn, &document.join("\n")));
        if let Some(previous) = previous.replace(compiled.clone()) {
            add(sums.entry(before).or_default(), &previous, &compiled);
        }
    }
    println!("## {} turns with {edits} edits of the document\n", show_count(turns as u64));
    let mut table = Table::new(["before the turn", "turns", "reused", "of stable and session", "least"]);
    let mut rows: Vec<(Before, Sum)> = sums.into_iter().collect();
    rows.sort_by_key(|(before, _)| *before);
    for (before, sum) in rows {
        table.row([
            before.name().to_owned(),
            sum.turns.to_string(),
            percent(sum.kept as f64 / sum.before as f64),
            percent(sum.prefix_kept as f64 / sum.prefix as f64),
            percent(sum.least.unwrap_or(0.0)),
        ]);
    }
    println!("{table}");
}

/// Returns an input whose turn part changes every time, as in real use.
fn input(turn: usize, document: &str) -> PromptCompileInput {
    PromptCompileInput {
        agents_context: Some(AgentsContext {
            text: text(3, 12_000),
            sources: Vec::new(),
            truncated: false,
            role: PromptRole::System,
        }),
        // The three sections differ in how often they change: the document with an edit, the skills never, and the
        // recalled memories every turn.
        contributed: vec![
            section("agents_md", document.to_owned()),
            section("skills_runtime", text(5, 2_000)),
            section("memory_recall", format!("- What was said in turn {}.", turn.saturating_sub(1))),
        ],
        extra_system: Some(format!("Date: 2026-11-{:02} (UTC)", 1 + turn / 40)),
        ..PromptCompileInput::default()
    }
}

fn add(sum: &mut Sum, previous: &CompiledPrompt, compiled: &CompiledPrompt) {
    let texts: HashMap<&str, &str> = previous
        .sections
        .iter()
        .chain(&compiled.sections)
        .map(|section| (section.sha256.as_str(), &*section.text))
        .collect();
    let find = |sha256: &ContentHash| texts.get(sha256.as_str()).map(|text| (*text).to_owned());
    let found = blame(&previous.manifest, &compiled.manifest, find);
    let sections = previous.manifest.sections.iter();
    let prefix: u64 =
        sections.filter(|section| section.stability != Stability::Turn).map(|section| section.tokens).sum();
    let kept = prefix - found.lost_prefix_tokens;
    sum.turns += 1;
    sum.before += found.tokens_before;
    sum.kept += found.kept_tokens;
    sum.prefix += prefix;
    sum.prefix_kept += kept;
    let share = kept as f64 / prefix as f64;
    sum.least = Some(sum.least.map_or(share, |least| least.min(share)));
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
