//! Renders files as the text that an agent gets.

use std::path::Path;

use serde::Serialize;

use crate::fs::path;
use crate::profile::{
    BlockForm, BlockRole, NewlineRuns, PartOf, PathForm, Piece, Profile, Rendering, SectionForm,
};
use crate::text::safety::{make_harmless, neutralise};
use crate::text::transform::WaitingRule;

/// Maximum number of headings in the mark of a cut file. Further ones are counted.
const MAX_HEADINGS: usize = 30;

/// A piece of text with its part of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Block {
    /// Part of the request.
    pub role: BlockRole,
    /// The text.
    pub text: String,
}

/// One file's part of the text.
pub(crate) struct Part<'a> {
    pub(crate) path: &'a Path,
    pub(crate) home: bool,
    /// Decoded text, neutralized if the profile does so.
    pub(crate) text: &'a str,
    /// Mark of a cut file.
    pub(crate) mark: Option<String>,
    /// It is from a folder of rules.
    pub(crate) is_rule: bool,
    /// It belongs to one user alone.
    pub(crate) is_private: bool,
    /// Its title, for agents that name one.
    pub(crate) title: &'a str,
}

impl<'a> Part<'a> {
    pub(crate) fn of_project(path: &'a Path, text: &'a str, mark: Option<String>) -> Self {
        Self { path, home: false, text, mark, is_rule: false, is_private: false, title: "" }
    }
}

/// Location of an agent.
#[derive(Clone, Copy)]
pub(crate) struct AgentLocation<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) root: &'a Path,
    pub(crate) user_home: Option<&'a Path>,
}

/// Renders the blocks of a chain. Empty if nothing applies.
pub(crate) fn render(
    profile: &Profile,
    place: AgentLocation<'_>,
    parts: &[Part<'_>],
    waiting: &[WaitingRule],
) -> Vec<Block> {
    if parts.is_empty() && waiting.is_empty() {
        return Vec::new();
    }
    let text = match profile.render.form {
        Rendering::AgentsContext => {
            // The estimate leaves space for the heading and the mark of each file, so that the text is allocated once.
            let room: usize = parts.iter().map(|part| part.text.len() + 512).sum();
            let mut text = String::with_capacity(room);
            text.push_str("<agents_context scope=\"initial\">\n");
            for (index, part) in parts.iter().enumerate() {
                if index > 0 {
                    text.push_str("\n\n");
                }
                write_block(&mut text, part);
            }
            text.push_str("\n</agents_context>");
            text
        }
        Rendering::Instructions => instructions(place.cwd, parts),
        Rendering::Forms(forms) => {
            return forms.iter().filter_map(|form| formed(form, place, parts, waiting)).collect();
        }
    };
    vec![Block { role: profile.render.role, text }]
}

/// Renders one file under a line with its path.
pub(crate) fn block(part: &Part<'_>) -> String {
    let mut text = String::new();
    write_block(&mut text, part);
    text
}

/// Returns the line with a file's path that precedes its text.
pub(crate) fn heading(path: &Path) -> String {
    format!("Instructions from: {}\n", shown(path))
}

fn write_block(text: &mut String, part: &Part<'_>) {
    text.push_str(&heading(part.path));
    text.push_str(part.text.trim_end());
    if let Some(mark) = &part.mark {
        // A mark must begin on its own line, or it would continue the last line of the file.
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(mark);
    }
}

fn instructions(cwd: &Path, parts: &[Part<'_>]) -> String {
    let texts = |home: bool| -> Vec<&str> {
        parts.iter().filter(|part| part.home == home).map(|part| part.text).collect()
    };
    let (home, project) = (texts(true).join("\n\n"), texts(false));
    let place = if project.is_empty() { String::new() } else { format!(" for {}", cwd.display()) };
    // The separator appears only between the user's own text and the project's, as in the recorded prompts.
    let separator = if home.is_empty() || project.is_empty() { "" } else { "\n\n--- project-doc ---\n\n" };
    let body = format!("{home}{separator}{}", project.join("\n\n"));
    format!("# AGENTS.md instructions{place}\n\n<INSTRUCTIONS>\n{body}\n</INSTRUCTIONS>")
}

/// Renders a block. `None` if it has no files.
fn formed(
    form: &BlockForm,
    place: AgentLocation<'_>,
    parts: &[Part<'_>],
    waiting: &[WaitingRule],
) -> Option<Block> {
    // A section without files is left out together with its separator, so empty ones are dropped before joining.
    let mut sections: Vec<String> = Vec::new();
    for section in form.sections {
        if let Some(mut text) = section_text(section, place, parts, waiting) {
            if !sections.is_empty() {
                text.push_str(section.end);
            }
            sections.push(text);
        }
    }
    if sections.is_empty() {
        return None;
    }
    let mut text = format!("{}{}{}", form.start, sections.join(form.between), form.end);
    if form.newlines == NewlineRuns::AtMostTwo {
        while text.contains("\n\n\n") {
            text = text.replace("\n\n\n", "\n\n");
        }
    }
    Some(Block { role: form.role, text })
}

fn section_text(
    section: &SectionForm,
    place: AgentLocation<'_>,
    parts: &[Part<'_>],
    waiting: &[WaitingRule],
) -> Option<String> {
    let is_in = |part: &&Part<'_>| match section.of {
        PartOf::Everything => true,
        PartOf::Home => part.home,
        PartOf::Project => !part.home,
        PartOf::Files => !part.is_rule,
        PartOf::Rules => part.is_rule,
    };
    let mut text = String::new();
    let mut count = 0;
    for part in parts.iter().filter(is_in) {
        text.push_str(if count > 0 { section.between } else { section.start });
        count += 1;
        let path = match section.path {
            PathForm::Absolute => part.path.to_string_lossy().into_owned(),
            PathForm::FromCwd => path::relative(place.cwd, part.path).to_string_lossy().into_owned(),
            PathForm::FromRoot => path::relative(place.root, part.path).to_string_lossy().into_owned(),
            PathForm::FromUserHome => {
                match place.user_home.and_then(|home| part.path.strip_prefix(home).ok()) {
                    Some(below) => format!("~/{}", below.display()),
                    None => part.path.to_string_lossy().into_owned(),
                }
            }
        };
        // The user's own files are private as well, but the agents label them by their location first.
        let kind = match (part.home, part.is_private) {
            (true, _) => section.kinds.home,
            (false, true) => section.kinds.private,
            (false, false) => section.kinds.project,
        };
        let words = PieceValues { path: &path, kind, title: part.title, ..PieceValues::default() };
        write_pieces(&mut text, section.before, &words);
        text.push_str(part.text);
        write_pieces(&mut text, section.after, &words);
    }
    if let Some(form) = section.waiting.filter(|_| !waiting.is_empty()) {
        if count > 0 {
            text.push_str(section.between);
        }
        text.push_str(form.start);
        for (index, rule) in waiting.iter().enumerate() {
            if index > 0 {
                text.push_str(form.between);
            }
            let (path, globs, description) = (&rule.path, &rule.globs, &rule.description);
            write_pieces(
                &mut text,
                form.row,
                &PieceValues { path, globs, description, ..PieceValues::default() },
            );
        }
        count += 1;
    }
    // A section may consist of one empty file, which leaves no trace.
    (count > 0 && !text.is_empty()).then_some(text)
}

/// Values of the pieces of a form.
#[derive(Default)]
pub(crate) struct PieceValues<'a> {
    pub(crate) path: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) title: &'a str,
    pub(crate) reference: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) globs: &'a str,
    pub(crate) description: &'a str,
}

pub(crate) fn write_pieces(text: &mut String, pieces: &[Piece], words: &PieceValues<'_>) {
    for piece in pieces {
        text.push_str(match piece {
            Piece::Text(text) => text,
            Piece::Path => words.path,
            // The ampersand is replaced first, or the entities of the other replacements would be escaped again.
            Piece::AttributePath => {
                let attribute = words.path.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                text.push_str(&attribute.replace('"', "&quot;"));
                continue;
            }
            Piece::Kind => words.kind,
            Piece::Title => words.title,
            Piece::Reference => words.reference,
            Piece::Reason => words.reason,
            Piece::Globs => words.globs,
            Piece::Description => words.description,
        });
    }
}

/// Returns the mark of a cut: the omitted headings, and the bytes that were not read.
pub(crate) fn mark(path: &Path, kept: usize, size: u64, omitted: &[String], unread: u64) -> String {
    let mut headings: Vec<String> =
        // Headings come from the file and are untrusted, so they are neutralized like its text.
        omitted.iter().take(MAX_HEADINGS).map(|heading| neutralise(heading).into_owned()).collect();
    if omitted.len() > MAX_HEADINGS {
        headings.push(format!("and {} more", omitted.len() - MAX_HEADINGS));
    }
    if headings.is_empty() {
        headings.push(if unread == 0 { "none" } else { "none in what was read" }.to_owned());
    }
    if unread > 0 {
        headings.push(format!("the last {unread} bytes were not looked at"));
    }
    format!(
        "[foreword: {kept} of {size} bytes shown; omitted headings: {}. Read {} for the rest.]",
        headings.join("; "),
        shown(path)
    )
}

/// Returns a path for use in a text. Directory names are untrusted: control characters are escaped and tags of ours
/// are neutralized, so that a path stays on one line.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    // Nearly all paths are plain ASCII. The check avoids a scan for tags and hidden characters on every heading.
    if text.is_ascii() && !text.contains(|character: char| character == '<' || character.is_control()) {
        return text.into_owned();
    }
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
        }
    }
    make_harmless(&plain).0.into_owned()
}
