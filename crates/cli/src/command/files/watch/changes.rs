//! Formats the differences between two explanations.

use compare::{Absent, tokens};
use instructions::{Decision, Outcome, Resolution};
use protocol::Timestamp;

use crate::command::files::explain::{Columns, INDENT, appearance, describe_diagnostic, explain, line};
use crate::output::count;
use crate::output::relative_path::Viewpoint;
use crate::output::terminal::{self, moment, wrap};

/// Outcome of a removed candidate.
const GONE: &str = "gone";

/// Formats the time and each candidate with another outcome or text than before.
pub(super) fn describe(last: &Resolution, now: &Resolution, at: Timestamp) -> String {
    let moment = moment(at);
    // With another root, all paths are relative to another directory, so print everything.
    if last.root != now.root || last.switched_off != now.switched_off {
        return format!("\n{moment}\n{}", explain(now, Absent::LeftOut));
    }
    let changed: Vec<(String, Option<&Decision>)> = changed(last, now);
    let names = changed.iter().map(|(name, _)| name.chars().count());
    let outcomes = changed.iter().filter_map(|(_, decision)| Some(appearance((*decision)?.outcome).1.len()));
    let screen = terminal::columns();
    let columns = Columns::new(names.max().unwrap_or(0), outcomes.max().unwrap_or(0)).on(screen);
    let mut text = format!("\n{moment}  {}\n", describe_size(last, now));
    for (name, decision) in &changed {
        let line = match decision {
            Some(decision) => line(now, decision, name, columns),
            None => columns.row(name, GONE),
        };
        text.push_str(&format!("{}\n", wrap(&line, screen, columns.indent(screen))));
    }
    for diagnostic in now.diagnostics.iter().filter(|diagnostic| !last.diagnostics.contains(diagnostic)) {
        text.push_str(&format!("{}\n", wrap(&describe_diagnostic(now, diagnostic), screen, INDENT)));
    }
    text
}

fn describe_size(last: &Resolution, now: &Resolution) -> String {
    let of = |resolution: &Resolution| resolution.text.as_deref().map_or(0, tokens) as u64;
    let before = of(last);
    let after = of(now);
    let after_words = count(after, "token");
    if before == after {
        format!("text about {after_words}")
    } else {
        format!("text about {after_words}, before {before}")
    }
}

/// Returns the changed candidates in the order of the explanation, with their decisions if they still exist.
fn changed<'a>(last: &'a Resolution, now: &'a Resolution) -> Vec<(String, Option<&'a Decision>)> {
    // A candidate that was absent before and still is has not changed.
    let there = |decision: &&Decision| decision.outcome != Outcome::Absent;
    let before =
        |decision: &Decision| last.decisions.iter().filter(there).find(|before| before.path == decision.path);
    let text = |resolution: &'a Resolution, decision: &Decision| {
        let file = resolution.files.iter().find(|file| file.path == decision.path);
        file.map(|file| (&file.sha256, file.kept_bytes))
    };
    let is_other = |decision: &&Decision| {
        before(decision) != Some(*decision) || text(last, decision) != text(now, decision)
    };
    let news = now.decisions.iter().filter(there).filter(is_other);
    let news = news.map(|decision| (Viewpoint::of(now).path(&decision.path), Some(decision)));
    let is_gone =
        |decision: &&Decision| !now.decisions.iter().filter(there).any(|after| after.path == decision.path);
    let gone = last.decisions.iter().filter(there).filter(is_gone);
    news.chain(gone.map(|decision| (Viewpoint::of(last).path(&decision.path), None))).collect()
}
