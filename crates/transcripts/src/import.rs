//! One importer for each agent.

pub(crate) mod claude_code;
pub(crate) mod codex;
pub(crate) mod copilot;
pub(crate) mod gemini_cli;
pub(crate) mod opencode;
pub(crate) mod pi;
pub(crate) mod qwen_code;

use serde_json::Value;

/// Returns the text of a content field: a string, or the texts of its blocks.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Returns a text field, or an empty text.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the sections `{open}{path} ---` to `--- End of {same}` that Gemini CLI and Qwen Code write, as path and text.
fn context_sections(text: &str) -> Vec<(String, String)> {
    const OPEN: &str = "--- Context from: ";
    const END: &str = " ---";
    let mut sections = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        let after = &rest[start + OPEN.len()..];
        let Some(line_end) = after.find('\n') else { break };
        let Some(path) = after[..line_end].trim_end().strip_suffix(END) else {
            rest = after;
            continue;
        };
        let close = format!("--- End of Context from: {path} ---");
        let body = &after[line_end + 1..];
        // A cut result has no end, but everything before the cut was in front of the model.
        let length = body.find(&close).unwrap_or(body.len());
        sections.push((path.to_owned(), body[..length].trim_end_matches('\n').to_owned()));
        rest = &body[length..];
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_sections_have_their_paths() {
        let text = "x\n--- Context from: /r/A.md ---\n# A\n\n- one\n--- End of Context from: /r/A.md ---\n\
                    --- Context from: /r/B.md ---\ncut";
        let expected = [("/r/A.md", "# A\n\n- one"), ("/r/B.md", "cut")];
        assert_eq!(context_sections(text), expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    }
}
