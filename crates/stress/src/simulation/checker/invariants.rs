//! The invariants, one function each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use super::{ThreadRecord, TurnRecord, Violation, violated};
use crate::simulation::call::answered_calls;
use crate::simulation::file_mentions::{FileMentions, file_mentions};
use crate::simulation::request::{Request, elements};
use crate::simulation::world::{World, numbers};

/// Every applicable instruction is in the request or announced, no version is sent twice, and the last mention is
/// current.
pub(super) fn instructions(
    turn: &TurnRecord,
    mentions: &BTreeMap<PathBuf, FileMentions>,
    new: usize,
) -> Result<(), Violation> {
    for (path, story) in mentions {
        if let Some(rule) = story.repeated(new) {
            let detail = format!("{} has RULE-{rule} twice: {:?}", path.display(), story.0);
            return violated("no version of an instruction file is sent twice", detail);
        }
    }
    for (path, state) in &turn.obligations {
        let story = mentions.get(path).cloned().unwrap_or_default();
        let expected = state.map(|version| version.rule);
        let last = story.last();
        if expected != last {
            let detail = format!(
                "{} holds {expected:?}, and the last mention is {last:?}: {:?}",
                path.display(),
                story.0
            );
            return violated(
                "applicable instructions are in the request or announced, and the last mention is current",
                detail,
            );
        }
    }
    Ok(())
}

/// Nothing is written before the model has the text of everything that applies to the path.
pub(super) fn writes(request: &Request, turn: &TurnRecord, world: &World) -> Result<(), Violation> {
    // The calls in this request were made in answer to the previous one, so only that one counts as known.
    let Some(last) = &turn.last else { return Ok(()) };
    let had = file_mentions(last, world);
    for call in answered_calls(request).filter(|call| call.is_write() && !call.has_failed) {
        for directory in call.directories(&turn.cwd, &world.project) {
            for path in world.chain(&directory) {
                let Some(version) = turn.observed_files[&path] else { continue };
                if !had.get(&path).is_some_and(|story| story.has_text(version.rule)) {
                    let detail =
                        format!("{} ran without RULE-{} of {}", call.name, version.rule, path.display());
                    return violated("nothing is written before its instructions are in the request", detail);
                }
            }
        }
    }
    Ok(())
}

/// Calls and results are paired.
pub(super) fn pairs(request: &Request) -> Result<(), Violation> {
    const INVARIANT: &str = "calls and results are paired";
    let ids = |message: &Value, kind: &str, field: &str| -> Vec<String> {
        let blocks = elements(&message["content"]).filter(|block| block["type"] == kind);
        blocks.filter_map(|block| block[field].as_str().map(str::to_owned)).collect()
    };
    let mut open: Vec<String> = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        if elements(&message["content"]).next().is_none() {
            return violated(INVARIANT, format!("message {index} is empty"));
        }
        let results = ids(message, "tool_result", "tool_use_id");
        // Providers reject requests with unpaired calls, and the whole thread would be unusable from then on.
        if results != open {
            return violated(INVARIANT, format!("message {index} answers {results:?}, called were {open:?}"));
        }
        open = ids(message, "tool_use", "id");
    }
    if open.is_empty() { Ok(()) } else { violated(INVARIANT, format!("{open:?} are not answered")) }
}

/// The system text is unchanged unless one of its inputs changed, and contains the effective document.
pub(super) fn system(request: &Request, turn: &TurnRecord, thread: &ThreadRecord) -> Result<(), Violation> {
    const INVARIANT: &str = "the system text is the same unless something in it changed";
    if let Some((before, inputs)) = &thread.last {
        let may_differ = turn.inputs.may_differ(inputs);
        let fixed = |request: &Request| -> Vec<String> {
            let sections = request.sections().into_iter().filter(|(title, _)| !may_differ.contains(title));
            sections.map(|(title, text)| format!("{title}\n{text}")).collect()
        };
        let then = fixed(before);
        let now = fixed(request);
        if let Some((then, now)) = then.iter().zip(&now).find(|(then, now)| then != now) {
            return violated(INVARIANT, format!("before: {then}\nnow: {now}"));
        }
        if then.len() != now.len() || before.tools != request.tools {
            return violated(INVARIANT, "a section or a tool came or went");
        }
    }
    let documents = numbers(&request.system, "DOC-");
    if documents != turn.inputs.document.into_iter().collect::<Vec<_>>() {
        let detail = format!("effective is {:?}, in the request are {documents:?}", turn.inputs.document);
        return violated("the effective document is in the request", detail);
    }
    if numbers(&request.system, "PERSONA-") != [turn.inputs.persona] {
        return violated("USER.md is in the request", format!("it says PERSONA-{}", turn.inputs.persona));
    }
    Ok(())
}

/// Every fact of a user's message is in the history or was in the input of the summary that replaced it.
pub(super) fn facts(
    request: &Request,
    turn: &TurnRecord,
    thread: &ThreadRecord,
    covered: &BTreeMap<u64, BTreeSet<u64>>,
) -> Result<(), Violation> {
    const INVARIANT: &str = "every fact is in the history or was in its summary's input";
    let text = request.message_texts();
    let present = numbers(&text, "FACT-");
    if present.iter().filter(|fact| **fact == turn.fact).count() != 1 {
        return violated("a request asks once what the user asks", format!("FACT-{}", turn.fact));
    }
    let mut known: BTreeSet<u64> = present.into_iter().collect();
    for summary in numbers(&text, "SUMMARY-") {
        known.extend(covered.get(&summary).into_iter().flatten());
    }
    // Turns that could not be summarized may be missing in this turn only, and the request must state that.
    let may_miss = turn.summary_failed && text.contains("could not be summarised and are left out");
    match thread.facts.iter().find(|fact| !known.contains(fact)) {
        Some(_) if may_miss => Ok(()),
        Some(fact) => violated(INVARIANT, format!("FACT-{fact} is nowhere")),
        None => Ok(()),
    }
}

/// The last date in a request is today's, and no date is repeated while it is still the latest.
pub(super) fn dates(request: &Request, today: &str, new: usize) -> Result<(), Violation> {
    let mut last = None;
    for (index, message) in request.messages.iter().enumerate() {
        let message = message.to_string();
        for date in message.split("Date: ").skip(1).filter_map(|rest| rest.get(..10)) {
            if index >= new && last.as_deref() == Some(date) {
                return violated("the date appears once", date);
            }
            last = Some(date.to_owned());
        }
    }
    if last.as_deref() == Some(today) {
        return Ok(());
    }
    violated("the date is in the request", format!("it is {today}, text last is {last:?}"))
}

/// A turn that follows one without an answer contains a note about that.
pub(super) fn unanswered(request: &Request, fact: u64) -> Result<(), Violation> {
    let opening =
        request.messages.iter().find(|message| message.to_string().contains(&format!("FACT-{fact}.")));
    let is_told = opening.is_some_and(|message| message.to_string().contains("Turns Without an Answer"));
    if is_told {
        Ok(())
    } else {
        violated("a turn without an answer is told of in the next one", "it is not")
    }
}

/// Messages sent before are repeated unchanged.
pub(super) fn replay(before: &Request, now: &Request) -> Result<(), Violation> {
    let differing =
        before.messages.iter().enumerate().find(|(index, message)| now.messages.get(*index) != Some(message));
    match differing {
        Some((index, message)) => {
            let now = now.messages.get(index).map_or_else(|| "nothing".to_owned(), Value::to_string);
            violated(
                "earlier messages are replayed byte for byte",
                format!("message {index}\nwas: {message}\nis: {now}"),
            )
        }
        None => Ok(()),
    }
}
