//! `foreword doc diff`, and diffs in other commands.

use anstyle::{AnsiColor, Style};
use client::Client;
use diff::LineDiff;
use protocol::Version;
use protocol::method::{DocumentHistory, DocumentHistoryParams, DocumentRevision, DocumentRevisionParams};
use serde_json::json;

use crate::arguments::InScope;
use crate::context::{Context, PastScope};
use crate::failure::{Exit, Failure};
use crate::output::{is_coloured, shown};

pub(super) async fn run(
    context: &Context,
    client: &Client,
    from: Option<Version>,
    to: Option<Version>,
    scope: &InScope,
) -> Result<Exit, Failure> {
    let PastScope { workspace_id, folder_id, .. } = context.past_scope(client, scope).await?;
    let to = match to {
        Some(to) => to,
        None => {
            let params = DocumentHistoryParams {
                workspace_id: workspace_id.clone(),
                folder_id: folder_id.clone(),
                limit: Some(1),
                before: None,
            };
            let newest = client.call::<DocumentHistory>(&params).await?.revisions;
            let Some(newest) = newest.first() else {
                return Err(Failure::usage(format!("{} never had a document", super::scope_name(scope))));
            };
            newest.version
        }
    };
    let from = from.unwrap_or(Version(to.0.saturating_sub(1)));
    let text = async |version: Version| {
        // The first version is compared with an empty text.
        if version == Version(0) {
            return Ok(String::new());
        }
        let params = DocumentRevisionParams {
            workspace_id: workspace_id.clone(),
            folder_id: folder_id.clone(),
            version,
        };
        client.call::<DocumentRevision>(&params).await.map(|result| result.revision.content)
    };
    let older = text(from).await?;
    let newer = text(to).await?;
    let names = (format!("version {from}"), format!("version {to}"));
    let names = (names.0.as_str(), names.1.as_str());
    // JSON gets the plain diff, because programs must see neither color codes nor escaped characters.
    let plain = unified(&older, &newer, names, Paint::No);
    context
        .output
        .data(&json!({ "from": from, "to": to, "diff": plain }), || shown_unified(&older, &newer, names))?;
    if older == newer {
        context.output.note(format!("versions {from} and {to} have the same text"));
    }
    Ok(Exit::Done)
}

/// Formats a unified diff for people.
pub(super) fn shown_unified(older: &str, newer: &str, names: (&str, &str)) -> String {
    let paint = if is_coloured() { Paint::Yes } else { Paint::No };
    unified(&shown(older), &shown(newer), names, paint)
}

/// Selects colored or plain diffs.
#[derive(Debug, Clone, Copy)]
enum Paint {
    Yes,
    No,
}

/// Returns a unified diff; empty if the texts are equal.
fn unified(older: &str, newer: &str, names: (&str, &str), paint: Paint) -> String {
    let text = LineDiff::new(older, newer).unified(names.0, names.1);
    let Paint::Yes = paint else { return text };
    let mut painted = String::with_capacity(text.len());
    // The first two lines are the file names.
    for (index, line) in text.lines().enumerate() {
        let style = match line.as_bytes().first() {
            Some(b'@') => AnsiColor::Cyan.on_default(),
            Some(b'-') if index > 1 => AnsiColor::Red.on_default(),
            Some(b'+') if index > 1 => AnsiColor::Green.on_default(),
            _ => Style::new(),
        };
        painted.push_str(&format!("{style}{line}{style:#}\n"));
    }
    painted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_marks_lines_with_signs() {
        assert_eq!(
            unified("a\nb\n", "a\nc", ("old", "new"), Paint::No),
            "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"
        );
        assert_eq!(unified("a", "a", ("old", "new"), Paint::Yes), "");
    }
}
