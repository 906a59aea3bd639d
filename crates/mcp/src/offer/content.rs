//! Converts a server's result to text.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use tools::ToolOutput;

use crate::secrets::Secrets;

/// Returns the text of a result. Images and other content are described, because models receive only text from us.
pub(crate) fn output(result: &CallToolResult, secrets: &Secrets) -> ToolOutput {
    let mut parts: Vec<String> = result.content.iter().map(described).collect();
    if parts.is_empty()
        && let Some(structured) = &result.structured_content
    {
        // Masked before serialising: a line break or quote inside a secret would be escaped in JSON and not be found.
        let masked = secrets.mask_values(structured.clone());
        parts.push(serde_json::to_string_pretty(&masked).unwrap_or_default());
    }
    let text = parts.join("\n");
    let output = if text.trim().is_empty() {
        ToolOutput::text(text).with_note("the server answered with nothing")
    } else {
        ToolOutput::text(text)
    };
    ToolOutput { is_error: result.is_error == Some(true), ..output }
        .with_remedy("Ask the tool for less at once.")
}

fn described(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[image: {}, {}]", image.mime_type, size(&image.data)),
        ContentBlock::Audio(audio) => format!("[audio: {}, {}]", audio.mime_type, size(&audio.data)),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[resource {uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                format!("[resource {uri}: {}, {}]", mime_type.as_deref().unwrap_or("binary"), size(blob))
            }
            _ => "[a resource of an unknown kind]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => {
            let about = link.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
            format!("[link to the resource {} ({}){about}]", link.uri, link.name)
        }
        _ => "[something that is no text]".to_owned(),
    }
}

/// Returns the approximate size of base64 data.
fn size(base64: &str) -> String {
    format!("{} bytes", base64.trim_end_matches('=').len() * 3 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(result: serde_json::Value) -> ToolOutput {
        let secrets = Secrets::read(["KEY"], |_| Some("-----BEGIN\n\"key\"\\".to_owned()));
        output(&serde_json::from_value(result).unwrap(), &secrets)
    }

    #[test]
    fn other_content_is_described() {
        let result = text(serde_json::json!({ "content": [
            { "type": "text", "text": "seen" },
            { "type": "image", "data": "AAAAAAAA", "mimeType": "image/png" },
            { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "note:1", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "note:2", "blob": "AAA=", "mimeType": "x/y" } },
            { "type": "resource_link", "uri": "note:3", "name": "third", "description": "more" },
        ]}));
        assert_eq!(
            result.text,
            "seen\n[image: image/png, 6 bytes]\n[audio: audio/wav, 3 bytes]\n[resource note:1]\ninside\n\
             [resource note:2: x/y, 2 bytes]\n[link to the resource note:3 (third): more]"
        );
        let structured =
            text(serde_json::json!({ "content": [], "structuredContent": { "a": 1 }, "isError": true }));
        assert!(structured.is_error && structured.text.contains("\"a\": 1"), "{structured:?}");
        let secret = serde_json::json!({ "key": ["it is -----BEGIN\n\"key\"\\", 1] });
        let masked = text(serde_json::json!({ "content": [], "structuredContent": secret }));
        assert!(masked.text.contains("\"it is [secret]\"") && !masked.text.contains("BEGIN"), "{masked:?}");
        assert_eq!(text(serde_json::json!({ "content": [] })).notes, ["the server answered with nothing"]);
    }
}
